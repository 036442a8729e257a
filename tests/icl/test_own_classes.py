"""Results that are cached between calls never give a user-defined class the numbers of another one."""

import inspect
import json
import math
import subprocess
import sys
from dataclasses import dataclass, fields

import numpy as np
import pytest
import torch

import every_risk
import icl
from icl import tasks
from icl.covariates import Sphere
from icl.pretrain import UnitConfig, draw_contexts, pretrain, train_grid
from icl.pretrain.metrics import evaluation_error
from icl.risk import (
    asymptotics,
    matrix_risk,
    monte_carlo_risk,
    nearest_neighbor_risk,
    optimal_window,
    population_risk,
)
from icl.tasks import Affine, Projected, ReLU, Spectrum, Zonal, check_class
from icl.tasks.gegenbauer import Polynomials, angle_quadrature, multiplicity

POWER = 1


@dataclass(frozen=True)
class ByGlobal(Zonal):
    def covariance(self, cosine):
        return np.asarray(cosine) ** POWER


@dataclass(frozen=True)
class ByClassAttribute(Zonal):
    power = 1

    def covariance(self, cosine):
        return np.asarray(cosine) ** self.power


@dataclass(frozen=True)
class ByInstanceAttribute(ByClassAttribute):
    def with_power(self, power):
        object.__setattr__(self, "power", power)
        return self


def by_global(power, dim):
    global POWER
    POWER = power
    return ByGlobal(dim)


def by_class_attribute(power, dim):
    ByClassAttribute.power = power
    return ByClassAttribute(dim)


def by_instance_attribute(power, dim):
    return ByInstanceAttribute(dim).with_power(power)


def numbers(task):
    """Return one number from each function that caches what it computes from a class."""
    return [
        float(population_risk(task, 5.0, 20, 0.5).bias),
        float(optimal_window(task, 20, 0.1).w),
        float(matrix_risk(task, 3.0 * np.eye(task.dim), 20, 0.5).total),
        float(nearest_neighbor_risk(task, 20, 0.5).bias),
    ]


def right(power, dim):
    class Own(Zonal):
        def covariance(self, cosine):
            return np.asarray(cosine) ** power

    return numbers(Own(dim))


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("make", [by_global, by_class_attribute, by_instance_attribute])
def test_equal_classes_with_other_numbers_do_not_share_results(make, dim):
    assert make(1, dim) == make(1, dim)
    for power in (1, 3, 1):
        assert numbers(make(power, dim)) == pytest.approx(right(power, dim), rel=1e-12)


def test_the_bias_and_the_window_of_the_second_degree():
    by_global(1, 5), population_risk(ByGlobal(5), 5.0, 20, 0.5)
    second = population_risk(by_global(2, 5), 5.0, 20, 0.5)
    by_global(1, 5)
    assert float(second.bias) > 1.5 * float(population_risk(ByGlobal(5), 5.0, 20, 0.5).bias)


RANDOM = """
import os, json, sys
import numpy as np
from icl.risk import matrix_risk, optimal_window, population_risk
from icl.tasks import Affine, Zonal
from dataclasses import dataclass
population_risk(Affine(3), 1.0, 5, 0.1)  # loads the compiled loops, and caches no user-defined class
@dataclass(frozen=True)
class Own(Zonal):
    def covariance(self, cosine):
        return np.polynomial.polynomial.polyval(np.asarray(cosine), coefficients)
def numbers():
    task = Own(4)
    return [float(population_risk(task, 4.0, 30, 0.3).total), float(optimal_window(task, 30, 0.3).w),
            float(matrix_risk(task, 2.0 * np.eye(4), 30, 0.3).total)]
many = np.random.default_rng(0).exponential(size=(3, 5))
rows = []
for coefficients in many:
    if sys.argv[1] == "loop":
        rows.append(numbers())
        continue
    read, write = os.pipe()
    if os.fork() == 0:  # this process has not seen a user-defined class
        os.write(write, json.dumps(numbers()).encode())
        os._exit(0)
    os.wait()
    rows.append(json.loads(os.read(read, 10_000)))
print(json.dumps(rows))
"""


def test_a_search_asks_a_class_once_for_each_degree():
    """A second search asks anew, because the class may have changed."""
    asked = []

    class Counted(ReLU):
        def spectrum(self, degree):
            asked.append(degree)
            return super().spectrum(degree)

    for search in (1, 2):
        found = optimal_window(Counted(3), 1e6, 0.01)
        # the slope at zero takes one degree more
        assert len(asked) == search * (len(set(asked)) + 1)
    assert found.w == optimal_window(ReLU(3), 1e6, 0.01).w


@pytest.mark.slow
def test_random_classes_in_a_loop_have_the_numbers_of_fresh_processes():
    root = str(next(iter(icl.__path__)) + "/..")
    loop, fresh = (
        json.loads(
            subprocess.run(
                [sys.executable, "-c", RANDOM, how],
                cwd=root,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for how in ("loop", "fresh")
    )
    assert np.ptp(np.array(fresh), axis=0).min() > 1e-3, "they are different classes"
    assert loop == fresh


@dataclass(frozen=True)
class Level(Zonal):
    """Constant functions whose size is not a field."""

    level = 1.0
    lipschitz: float = 1.0
    homogeneous = True

    def sample(self, rng, count):
        values = self.level * self.lipschitz * torch.as_tensor(rng.standard_normal((count, 1)))
        return lambda x: values * x[..., 0]


class Shifted(Sphere):
    def from_normal(self, normal):
        return super().from_normal(normal) * self.size


def shifted(size):
    law = Shifted(3)
    object.__setattr__(law, "size", size)
    return law


def levels(level):
    task = Level(3)
    object.__setattr__(task, "level", level)
    return task


@pytest.mark.parametrize(
    "units",
    [
        [{"task": levels(1.0)}, {"task": levels(5.0)}],
        [{"task": Projected(levels(1.0), np.eye(3))}, {"task": Projected(levels(5.0), np.eye(3))}],
        [
            {"task": levels(1.0), "covariates": shifted(1.0)},
            {"task": levels(1.0), "covariates": shifted(3.0)},
        ],
    ],
)
def test_units_of_equal_classes_or_laws_with_other_numbers_are_trained_apart(units):
    both = [UnitConfig(noise_std=0.1, context_length=6, seed=0, **unit) for unit in units]
    together = pretrain(both, 5, 16, shared_tokens=True).M
    alone = np.concatenate([pretrain([unit], 5, 16).M for unit in both])
    assert np.array_equal(together, alone) and not np.array_equal(*alone)


# ------------------------------------------------------------------------- subclasses
NAMED = [getattr(tasks, name) for name in tasks.__all__]
#: Public classes, without those that were added to the table of classes.
KINDS = [
    kind
    for kind in dict.fromkeys([*filter(inspect.isclass, NAMED), *tasks.CLASSES.values()])
    if issubclass(kind, Zonal) and kind is not Zonal
]


def one_of(kind):
    if kind is tasks.Globe:
        return tasks.globe(np.random.default_rng(0).standard_normal((12, 24)), 3)
    return Spectrum(3, (0.0, 1.0, 0.5), rest=0.3) if kind is Spectrum else kind(3)


def same(call, one, other, rtol):
    for mine, theirs in zip(
        every_risk.numbers(call, one), every_risk.numbers(call, other), strict=True
    ):
        assert mine.keys() == theirs.keys()
        for name in mine:
            np.testing.assert_allclose(mine[name], theirs[name], rtol=rtol, atol=rtol, err_msg=name)


def test_all_classes_are_compared_with_their_subclasses():
    assert {kind for kind, _ in TURNS} == set(KINDS)
    assert {*tasks.CLASSES.values(), Spectrum, tasks.Globe, tasks.Network} <= set(KINDS)


#: Each computation with one class, in turn, so that each class has a computation, too.
TURNS = [(KINDS[at % len(KINDS)], call) for at, call in enumerate(every_risk.ALL)]


@pytest.mark.parametrize(("kind", "call"), TURNS)
def test_an_empty_subclass_has_the_numbers_of_its_class(kind, call):
    task = one_of(kind)
    given = {f.name: getattr(task, f.name) for f in fields(task) if f.init}
    same(call, task, type("Empty", (kind,), {})(**given), 1e-12)


@pytest.mark.parametrize("call", every_risk.ALL, ids=lambda call: call.__name__)
def test_a_user_defined_class_with_fine_variance_has_the_numbers_of_its_spectrum(call):
    task = Spectrum(3, (0.0, 1.0, 0.5), rest=0.3)

    class Own(Zonal):
        unresolved = 0.3

        def covariance(self, cosine):
            return task.covariance(cosine)

        def sample(self, rng, count):
            return task.sample(rng, count)

    same(call, task, Own(3), 1e-7)


#: Their risks need covariances alone.
UNSPECTRAL = {"nearest_neighbor_risk", "bayes_linear_risk", "monte_carlo_risk"}
SPECTRA = {
    "nan": lambda degree: (np.full(degree, np.nan), 0.0),
    "nan beyond": lambda degree: (np.zeros(degree), np.nan),
    "infinite": lambda degree: (np.full(degree, np.inf), 0.0),
    "negative": lambda degree: (np.full(degree, -0.1), 0.0),
    "negative beyond": lambda degree: (np.zeros(degree), -0.1),
    "complex": lambda degree: (np.zeros(degree, complex), 0.0),
    "a column": lambda degree: (np.zeros((degree, 1)), 0.0),
    "from degree 0 on": lambda degree: (np.zeros(degree + 1), 0.0),
    "one part": lambda degree: np.zeros(degree),
    "none": lambda degree: None,
}


@pytest.mark.parametrize("call", every_risk.ALL, ids=lambda call: call.__name__)
def test_an_invalid_user_defined_spectrum_is_refused(call):
    for name, values in SPECTRA.items():

        class Own(Zonal):
            given = staticmethod(values)

            def covariance(self, cosine):
                return Affine(3).covariance(cosine)

            def spectrum(self, degree):
                return self.given(degree)

        if call.__name__ not in UNSPECTRAL:
            # an error that does not mention fine variance is an AssertionError there
            with pytest.raises(AssertionError, match=r"spectrum\(\d+\) must return an array of"):
                every_risk.numbers(call, Own(3))
                pytest.fail(name)


def test_a_user_defined_spectrum_may_be_a_list_and_off_by_rounding():
    class Own(Zonal):
        def covariance(self, cosine):
            return Affine(3).covariance(cosine)

        def spectrum(self, degree):
            return [1 / 9, *[0.0] * 1_000_000][:degree], 0.0 if degree else 1 / 9

    found, wanted = (population_risk(task, 5.0, 20, 0.5).total for task in (Own(3), Affine(3)))
    assert found == pytest.approx(wanted, rel=1e-12)
    assert asymptotics.window_law(Own(3)) == asymptotics.window_law(Affine(3))


def test_classes_that_differ_in_their_fine_variance_only_do_not_share_results():
    class Own(Zonal):
        def covariance(self, cosine):
            return np.asarray(cosine)

    rough = type("Rough", (Own,), {"unresolved": 0.5})
    plain, fine = (matrix_risk(kind(3), np.eye(3), 20, 0.5) for kind in (Own, rough))
    assert fine.total > plain.total + 0.5


@dataclass(frozen=True)
class ForNumbers(Zonal):
    """A first attempt at a class, by a user who does not know that cosines are arrays."""

    branch: bool = False

    def covariance(self, cosine):
        if self.branch:
            return math.exp(cosine - 1)
        return np.exp(cosine - 1) if cosine > -1 else 0.0


@pytest.mark.parametrize("branch", [False, True])
def test_an_error_says_that_a_covariance_gets_arrays_of_cosines(branch):
    for call in (
        lambda task: population_risk(task, 1.0, 20, 0.5),
        lambda task: optimal_window(task, 20, 0.5),
        lambda task: asymptotics.sharp_window(task, 1e6, 0.5),
    ):
        with pytest.raises(ValueError, match=r"covariance\(cosine\) must take arrays, for example"):
            call(ForNumbers(3, branch))


# --------------------------------------------------------------------------------- kinks
class Absolute(Zonal):
    """``f(x) = |u . x|`` with a uniform direction u, by its covariance alone."""

    def covariance(self, cosine):
        theta = np.arccos(np.clip(cosine, -1, 1))
        wave = np.sin(theta) + np.cos(theta) * (np.pi / 2 - theta)
        return 2 / np.pi * wave / self.dim


class Products(Absolute):
    """The product of two such functions."""

    def covariance(self, cosine):
        return super().covariance(cosine) ** 2


class Triangles(Zonal):
    """Triangle waves with a random phase, in three dimensions, from their Fourier series."""

    def covariance(self, cosine):
        apart = np.sqrt(np.maximum(2 - 2 * np.asarray(cosine, dtype=float), 0))
        odd = np.arange(1, 400, 2).reshape(-1, *[1] * apart.ndim)
        return (np.sinc(3 * odd * apart / np.pi) / odd**4).sum(axis=0)


@pytest.mark.parametrize("dim", [3, 4, 6, 20])
def test_a_class_with_a_kink_has_the_risk_of_the_even_part_of_relu(dim):
    """As ``|t| = 2 relu(t) - t``; the odd part of ReLU is linear."""
    n = np.array([1.0, 3.0, 30.0, 1e4, 1e8])
    odd = Spectrum(dim, (0.0, *ReLU(dim).spectrum(1)[0]))
    for w in (1.0, 5.0, 30.0, 100.0, 300.0, 1000.0):
        relu, linear = (population_risk(task, w, n, 0.0).bias for task in (ReLU(dim), odd))
        # E (l1 + l2)^2 / 4 = 1 / 6 for uniform slopes
        wanted = 6 * (relu - linear)
        found = population_risk(Absolute(dim), w, n, 0.0).bias
        np.testing.assert_allclose(found, wanted, rtol=2e-9)


@pytest.mark.parametrize("kind", [Absolute, Products, Triangles])
def test_kinks_in_three_dimensions_have_the_spectrum_of_their_projections(kind):
    task = kind(3)
    theta, p = angle_quadrature(3, 400)
    projections = (1 - Polynomials(3, theta).take(9)) @ (p * task.covariance(np.cos(theta)))
    wanted = multiplicity(3, 8) * projections
    np.testing.assert_allclose(task.spectrum(8)[0], wanted[1:], atol=1e-8 * task.second_moment)


# ------------------------------------------------------------------------------- samplers
@dataclass(frozen=True)
class Signed(Zonal):
    """Linear functions with a random sign, written with NumPy."""

    def covariance(self, cosine):
        return np.asarray(cosine) / self.dim

    def sample(self, rng, count):
        u = rng.normal(size=(count, self.dim))
        u *= rng.choice([-1.0, 1.0], count)[:, None]
        u /= np.linalg.norm(u, axis=1, keepdims=True)

        def f(x):
            assert x.dtype == torch.float64 and x.device.type == "cpu"
            return np.einsum("cd,cnd->cn", u, x.numpy())

        return f


class Tensors(Signed):
    """The same functions as a tensor."""

    def sample(self, rng, count):
        f = super().sample(rng, count)
        return lambda x: torch.as_tensor(f(x))


#: Where functions are drawn; the risk of predicting the mean is 1 / 3.
DRAWS = {
    "risk": lambda task: monte_carlo_risk(task, 0.0, 200, 0.1, contexts=2000).mean,
    "contexts": lambda task: draw_contexts(task, noise_std=0.1, n=8, batch_size=64)[1],
    "portable": lambda task: pretrain([UnitConfig(task, 0.1, 8, 0)], 20, 64).M,
    "native": lambda task: train_grid(task, 0.1, 8, seeds=2, steps=20, batch_size=64).M,
    "error": lambda task: evaluation_error(np.eye(3), task, 0.1, 8, contexts=100),
}


@pytest.mark.parametrize("draw", DRAWS)
def test_a_sampler_written_with_numpy_works_wherever_functions_are_drawn(draw):
    arrays, tensors = (np.asarray(DRAWS[draw](kind(3))) for kind in (Signed, Tensors))
    assert np.isfinite(arrays).all() and np.array_equal(arrays, tensors)
    if draw == "risk":
        assert arrays == pytest.approx(1 / 3, rel=0.1)


@pytest.mark.parametrize("draw", DRAWS)
def test_functions_that_give_no_values_are_refused_wherever_they_are_drawn(draw):
    for made in (
        lambda x: np.ones(len(x)),
        lambda x: np.full(x.shape[:-1], np.nan),
        lambda x: x[..., 0] / 0,
        lambda x: "values",
        lambda x: None,
        np.ones(3),
    ):
        own = type("Own", (Signed,), {"sample": lambda self, rng, count, made=made: made})
        with pytest.raises(ValueError, match=r"^task=.*Own.*: sample\("):
            DRAWS[draw](own(3))


def test_a_class_is_compared_with_what_it_samples():
    class Steep(Signed):
        def sample(self, rng, count):
            f = super().sample(rng, count)
            return lambda x: f(x) * 2**0.5

    class Lopsided(Signed):
        """The right mean square at the pole only."""

        def sample(self, rng, count):
            return lambda x: x[..., 0]

    class Varied(Signed):
        def variogram(self, theta):
            return (1 - np.cos(theta)) * (1 + 1e-6) / self.dim

    assert 0.9 < check_class(Signed(3)) <= 1 + 1e-12
    for kind in (Steep, Lopsided):
        with pytest.raises(ValueError, match=r"covariance\(1\)=0\.333333, but the mean of f\(x\) "):
            check_class(kind(3))
    with pytest.raises(
        ValueError, match=r"Varied.*: variogram.* but covariance\(1\) - covariance\("
    ):
        check_class(Varied(3))
    with pytest.raises(TypeError, match="^task='sine': must be a rotation-invariant class"):
        check_class("sine")
