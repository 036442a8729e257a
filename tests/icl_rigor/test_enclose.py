"""The fast risk lies in its enclosure, and so do known ends."""

import math
import sys

import numpy as np
import pytest

from icl.risk import population_risk
from icl.tasks import Affine, Cosine, Linear, Quadratic, ReLU, Spectrum
from icl_rigor import enclose_risk
from oracles import risk as oracle


def settings(count, seed, w_max):
    rng = np.random.default_rng(seed)
    for i in range(count):
        task = (Affine, ReLU, Cosine)[i % 3]((2, 3, 5)[i // 3 % 3], float(10 ** rng.uniform(-1, 1)))
        w = float(10 ** rng.uniform(-2, math.log10(w_max)))
        yield task, w, int(10 ** rng.uniform(0, 6)), float(10 ** rng.uniform(-2, 1))


@pytest.mark.parametrize(
    "count, seed, w_max", [(9, 1, 10), pytest.param(18, 0, 100, marks=pytest.mark.slow)]
)
def test_the_fast_risk_lies_in_its_enclosure(count, seed, w_max):
    for setting in settings(count, seed, w_max):
        fast, sure = population_risk(*setting), enclose_risk(*setting)
        assert sure.bias[1] - sure.bias[0] <= 1e-10 * sure.bias[1]
        for part, (low, high) in vars(sure).items():
            assert low <= getattr(fast, part) <= high, (part, setting)


KNOWN = [Affine(5), Linear(2, 3.0), Quadratic(4), ReLU(8, 0.1), Cosine(2, 10.0)]


@pytest.mark.parametrize("task", KNOWN, ids=str)
@pytest.mark.parametrize("rtol", [1e-13, 1e-3])
def test_ends_that_are_known(task, rtol):
    """At w = 0 all weights are 1/n, and a single token has weight one."""
    variance = math.fsum(task.spectrum(4000)[0]) + task.spectrum(4000)[1]
    for n in (1, 2, 1000):
        sure = enclose_risk(task, 0.0, n, 2.0, rtol)
        for (low, high), truth in ((sure.noise, 4 / n), (sure.bias, variance * (1 + 1 / n))):
            assert low <= truth * (1 + 1e-12) and truth * (1 - 1e-12) <= high
            assert high - low <= rtol * high
    assert enclose_risk(task, 1.0, 5, 0.0).noise == (0.0, 0.0)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "flint", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"^python-flint is missing: pip install python-flint$"
    ):
        enclose_risk(ReLU(3), 1.0, 5, 1.0)


REFERENCE = [(Affine(2), 3.0, 20), (Linear(3), 0.1, 10**6), (Quadratic(16, 3.0), 8.0, 10**9)]
REFERENCE += [(Cosine(3, 6.0), 6.0, 10**4), (ReLU(8, 0.3), 3.0, 10**8)]


@pytest.mark.parametrize("task, w, n", REFERENCE, ids=str)
def test_the_reference_lies_in_the_enclosure(task, w, n):
    sure = enclose_risk(task, w, n, 1.0, 1e-13)
    both = zip(oracle.population_risk(task, w, n, 1.0), (sure.bias, sure.noise), strict=True)
    for value, (low, high) in both:
        assert low * (1 - 1e-13) <= float(value) <= high * (1 + 1e-13)


@pytest.mark.parametrize(
    "changed, words",
    [
        ({"w": 301.0}, "w=301.0"),
        ({"n": 0}, "n=0"),
        ({"noise_std": -1.0}, "noise_std=-1.0"),
        ({"rtol": 1e-20}, "rtol=1e-20"),
        ({"task": Spectrum(3)}, "allowed are Affine"),
    ],
)
def test_settings_that_cannot_be_enclosed_are_refused_in_one_line(changed, words):
    good = {"task": Affine(3), "w": 1.0, "n": 5, "noise_std": 1.0}
    with pytest.raises(ValueError, match=words) as caught:
        enclose_risk(**good | changed)
    assert "\n" not in str(caught.value)
