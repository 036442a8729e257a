"""The exact risk against the independent reference, the reference against its enclosure, and planted bugs."""

import math
from functools import lru_cache
from itertools import islice

import numpy as np
import pytest

from icl.risk import enclose_risk, population_risk
from icl.tasks import CLASSES, Affine, Cosine, Linear, Quadratic, ReLU, make_task
from oracles import risk as oracle
from planted import planted

pytestmark = pytest.mark.filterwarnings("error")


DIMS = (2, 3, 4, 5, 8, 32, 256)


def settings(w_max, seed):
    """(task, w, 40 context lengths, noise_std): each class in each dimension, w stratified; zero w, too.

    One call of the oracle serves all context lengths, and its cost is that of the test.
    """
    rng = np.random.default_rng(seed)
    pairs = [(name, dim) for name in CLASSES for dim in DIMS]
    strata = (rng.permutation(len(pairs)) + rng.uniform(0, 1, len(pairs))) / len(pairs)
    for i, ((name, dim), stratum) in enumerate(zip(pairs, strata, strict=True)):
        w = 0.0 if i % 25 == 0 else float(10 ** (-2 + stratum * (math.log10(w_max) + 2)))
        task = make_task(name, dim, float(10 ** rng.uniform(-1, 1)))
        yield task, w, np.floor(10 ** rng.uniform(0, 12, 40)), float(10 ** rng.uniform(-2, 1))


@pytest.mark.slow
@pytest.mark.parametrize("w_max, tolerance, seed, part", [(1e3, 1e-10, 0, 1), (1e5, 1e-8, 1, 7)])
def test_many_settings(w_max, tolerance, seed, part):
    """1,600 settings: d to 256, n to 1e12; the reported error, too, has to cover what is seen."""
    for task, w, n, noise_std in islice(settings(w_max, seed), 0, None, part):
        bias, noise = oracle.population_risk(task, w, n, noise_std)
        r = population_risk(task, w, n, noise_std)
        worst = np.maximum(np.abs(r.bias / bias - 1), np.abs(r.noise / noise - 1))
        assert np.all(worst <= (1e-10 if w <= 1e3 else tolerance)), (task, w, n, worst)
        assert np.all(worst <= np.maximum(r.error, 3e-11)), (task, w, n, worst, r.error)


@pytest.mark.slow
@pytest.mark.parametrize("task, w", [(Affine(3), 1e5), (Quadratic(256), 1e5), (Cosine(2, 3.0), 1e4)], ids=str)
def test_few_tokens_and_narrow_windows(task, w):
    n = np.arange(1.0, 9.0)
    bias, noise = oracle.population_risk(task, w, n, 1.0)
    r = population_risk(task, w, n, 1.0)
    assert np.allclose(r.bias, bias, rtol=1e-8, atol=0) and np.allclose(r.noise, noise, rtol=1e-8, atol=0)


@pytest.mark.parametrize(
    "task, w, n",
    [
        (Affine(2), 3.0, 20),
        (Linear(3), 0.1, 10**6),
        (Quadratic(16, 3.0), 8.0, 10**9),
        (Cosine(3, 6.0), 6.0, 10**4),
        (ReLU(8, 0.3), 3.0, 10**8),
    ],
    ids=str,
)
def test_the_reference_lies_in_the_enclosure(task, w, n):
    sure = enclose_risk(task, w, n, 1.0, 1e-13)
    for value, (low, high) in zip(
        oracle.population_risk(task, w, n, 1.0), (sure.bias, sure.noise), strict=True
    ):
        assert low * (1 - 1e-13) <= float(value) <= high * (1 + 1e-13)


# ------------------------------------------------------------------------------------ planted bugs
#: Modules that together compute the risk, those that others use first.
MODULES = [
    "tasks.gegenbauer",
    "tasks.base",
    "tasks.classes",
    "tasks",
    "risk.quadrature",
    "risk.integrals",
    "risk.exact",
]
BUGS = {
    "exponent d - 1 in the density": ("constant + (dim - 2) * np.log", "constant + (dim - 1) * np.log"),
    "factor 2 in the kernel": (
        "\n    z = np.exp(np.minimum(mesh.u[..., None] - (w * gap)",
        "\n    z = np.exp(np.minimum(mesh.u[..., None] - (2 * w * gap)",
    ),
    "query in the denominator": (
        "one = weight * count *",
        "one = weight * count * np.exp(-np.exp(mesh.u.ravel())) *",
    ),
    "n for n - 1": ("np.exp(np.maximum((count - 1) * log_phi", "np.exp(np.maximum(count * log_phi"),
    "n - 1 for n - 2": ("np.exp(np.maximum((count - 2) * log_phi", "np.exp(np.maximum((count - 1) * log_phi"),
    "n^2 pairs": ("two = weight * count * (count - 1) *", "two = weight * count * count *"),
    "no diagonal term": ("bias = one @ single + two @ pair", "bias = two @ pair"),
    "half the variogram": ("single, noise = 2 * _mean(", "single, noise = _mean("),
    "sigma for sigma^2": ("noise_std.ravel() ** 2\n    for", "noise_std.ravel()\n    for"),
    "no tail of the spectrum": ("total + 2 * product(flat, left) - rest * product(flat, flat)", "total"),
    "half the tail of the spectrum": ("total + 2 * product(flat,", "total + product(flat,"),
    "recurrence of P_l": ("gap = np.sin(theta) ** 2 if even", "gap = np.sin(theta) if even"),
    "degrees of P_l": ("self._next += many *", "self._next += many // 2 *"),
    "z for z^2": ("second = z * first", "second = first"),
    "first absolute moment of the ReLU": (
        "gammaln(d / 2) - gammaln((d + 1) / 2)",
        "gammaln(d / 2) - gammaln((d - 1) / 2)",
    ),
    "sign in the ReLU variogram": ("** 2 - turn / np.pi", "** 2 + turn / np.pi"),
    "series of the ReLU variogram": ("(180, 130, 88, 54, 28, 10)", "(180, 130, 88, 54, 10)"),
    "slope without its factor": ("second_w = (z - 2) * second", "second_w = (z - 1) * second"),
    "weights of the panel in s": ("np.where(first, weight / (1 + x), half", "np.where(first, weight, half"),
    "nearer angles forgotten": ("missed = mesh.below - ", "missed = -"),
}


CHEAP = 12.0, np.array([2.0, 15.0]), 0.3


@lru_cache
def truth():
    """Bias, noise and slope of one cheap setting by the reference."""
    w, *more = CHEAP
    low, middle, high = (oracle.population_risk(ReLU(4), w + h, *more) for h in (-1e-4, 0, 1e-4))
    return *middle, (sum(high) - sum(low)) / 2e-4


def misfit(monkeypatch, old="", new=""):
    """Largest relative error of bias, noise and slope; infinite if refused."""
    *_, tasks, _, _, risk = planted(monkeypatch, MODULES, old, new)
    try:
        r = risk.population_risk(tasks.ReLU(4), *CHEAP)
    except ValueError as error:
        assert "two quadrature rules differ" in str(error) or "falls too slowly" in str(error)
        return math.inf
    return np.abs(np.array([r.bias, r.noise, r.slope]) / truth() - 1).max()


def test_nothing_planted_nothing_found(monkeypatch):
    assert misfit(monkeypatch) < 5e-9  # rounding in the difference quotient


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS)
def test_planted_bug_is_found(bug, monkeypatch):
    assert misfit(monkeypatch, *BUGS[bug]) > 1e-7
