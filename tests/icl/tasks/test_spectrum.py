"""Classes that are known by their power, and maps of the sphere."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
import torch
from scipy.special import lpmv

from icl.covariates import inner_products, uniform_sphere
from icl.pretrain import UnitConfig, pretrain
from icl.risk import optimal_window, population_risk
from icl.streams import stream
from icl.tasks import Linear, Quadratic, Sign, Spectrum, globe
from icl.tasks.gegenbauer import harmonics
from icl.tasks.spectrum import map_power


def places(rows):
    theta = (np.arange(rows) + 0.5) * math.pi / rows
    phi = (np.arange(2 * rows) + 0.5) * math.pi / rows - math.pi
    return theta[:, None], phi[None, :]


@pytest.mark.parametrize(("degree", "m"), [(1, 0), (1, 1), (4, 2), (9, 9), (17, 5)])
def test_a_single_harmonic_has_its_power_in_its_degree(degree, m):
    theta, phi = places(400)
    values = lpmv(m, degree, np.cos(theta)) * np.cos(m * phi)
    size = 2 / (2 * degree + 1) * math.factorial(degree + m) / math.factorial(degree - m)
    mean_square = size / 2 * (1 if m == 0 else 0.5)
    power = map_power(values, 25)
    assert power[degree] == pytest.approx(mean_square, rel=2e-3)  # cells are constant
    assert np.delete(power, degree).sum() < 2e-3 * mean_square


def test_rows_are_colatitudes_and_have_their_area():
    theta, phi = places(120)
    north = (np.cos(theta) + 0 * phi > 0).astype(float)  # a half sphere has half of the area
    assert map_power(north, 3)[0] == pytest.approx(0.25, rel=1e-12)
    cap = (theta + 0 * phi < math.pi / 3).astype(float)
    assert map_power(cap, 3)[0] == pytest.approx(1 / 16, rel=1e-12)


def test_power_sums_to_the_variance_and_a_half_sphere_is_the_class_sign():
    theta, phi = places(360)
    halves = np.where(np.cos(theta) + 0 * phi > 0, 1.0, -1.0)
    found = globe(halves, 100)
    assert sum(found.power[1:]) + found.rest == pytest.approx(1.0, rel=1e-12)
    a, rest = Sign(3).spectrum(100)
    np.testing.assert_allclose(found.power[1:20], a[:19], rtol=1e-4, atol=1e-12)
    assert found.rest == pytest.approx(rest, rel=1e-2)


def test_a_spectrum_has_the_risk_of_the_class_with_its_coefficients():
    linear = Spectrum(5, (0.0, *Linear(5, 2.0).spectrum(1)[0]))
    quadratic = Spectrum(4, (7.0, *Quadratic(4).spectrum(2)[0]))
    for ours, known in ((linear, Linear(5, 2.0)), (quadratic, Quadratic(4))):
        mine = population_risk(ours, [0.0, 3.0, 40.0], 20, 0.5)
        theirs = population_risk(known, [0.0, 3.0, 40.0], 20, 0.5)
        np.testing.assert_allclose(mine.total, theirs.total, rtol=1e-12)


def test_variance_that_no_window_resolves_is_noise_at_every_place():
    smooth = Spectrum(3, (0.0, 1.0, 0.5))
    rough = Spectrum(3, (0.0, 1.0, 0.5), rest=0.04)
    w = np.array([0.5, 4.0, 30.0])
    plain, fine = (population_risk(task, w, 30, 0.3) for task in (smooth, rough))
    noisier = population_risk(smooth, w, 30, math.hypot(0.3, 0.2))
    np.testing.assert_allclose(fine.total, noisier.total + 0.04, rtol=1e-12)
    np.testing.assert_allclose(fine.slope - noisier.slope, 0, atol=1e-12)
    assert np.all(fine.total > plain.total)
    best = optimal_window(rough, 30, 0.3).w
    assert best == pytest.approx(optimal_window(smooth, 30, math.hypot(0.3, 0.2)).w, rel=1e-8)


@pytest.mark.parametrize("dim", [2, 3, 6])
def test_drawn_functions_have_the_covariance_of_their_power(dim):
    task = Spectrum(dim, (0.0, 0.5, 0.0, 0.3, 0.2))
    count = 20_000
    generator = np.random.default_rng(3)
    x = torch.as_tensor(generator.standard_normal((count, 2, dim)))
    x = x / x.norm(dim=-1, keepdim=True)
    values = task.sample(stream(0, "tasks"), count)(x).numpy()
    exact = task.covariance((x[:, 0] * x[:, 1]).sum(-1).numpy())
    gap = values.prod(1) - exact
    assert abs(gap.mean()) < 5 * gap.std() / math.sqrt(count)  # false alarm 6e-7
    square = (values**2).mean(1)
    assert abs(square.mean() - 1) < 5 * square.std() / math.sqrt(count)


def test_a_map_is_turned_in_all_directions():
    theta, phi = places(60)
    task = globe(np.cos(theta) + 0 * phi, 5)  # this is the z of a place
    count = 20_000
    x = torch.zeros(count, 1, 3).double()
    x[..., 2] = 1.0
    values = task.sample(stream(0, "tasks"), count)(x).numpy().ravel()
    assert abs(values.mean()) < 5 / math.sqrt(3 * count)
    assert np.quantile(values, 0.75) == pytest.approx(0.5, abs=0.03)  # z is uniform
    turned = task.sample(stream(0, "tasks"), 3)
    ends = torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]).double().expand(3, 2, 3)
    assert torch.allclose(turned(ends).sum(1), torch.zeros(3).double(), atol=0.06)


def patches():
    return np.random.default_rng(4).standard_normal((30, 60)).cumsum(axis=0)


def test_a_map_is_copied_and_cannot_be_changed():
    mine = patches()
    found = globe(mine, 6)
    before = found.values.copy()
    mine[:] = 0
    assert np.array_equal(found.values, before)
    with pytest.raises(ValueError, match="read-only"):
        found.values[0, 0] = 1.0


def test_tensors_and_lists_are_maps_too():
    wanted = globe(patches().round(3), 4)
    for given in (
        patches().round(3).tolist(),
        torch.tensor(patches().round(3), requires_grad=True),
    ):
        assert globe(given, 4) == wanted
    coarse = torch.tensor(patches()).bfloat16()
    assert globe(coarse, 4) == globe(coarse.double().numpy(), 4)


def test_maps_are_equal_exactly_if_their_values_are_and_are_trained_apart():
    one, same, other = globe(patches(), 6), globe(patches(), 6), globe(-patches(), 6)
    assert one == same and hash(one) == hash(same) and one.power == other.power
    assert one != other and len({one, same, other}) == 2
    assert globe(np.ones((4, 8)), 2) != globe(np.ones((8, 4)), 2)
    units = [UnitConfig(task, 0.5, 6, 0) for task in (one, other, same)]
    together = pretrain(units, 20, 16, shared_tokens=True).M
    alone = np.concatenate([pretrain([unit], 20, 16).M for unit in units])
    assert np.array_equal(together, alone)
    assert np.array_equal(alone[0], alone[2]) and not np.allclose(alone[0], alone[1])


def test_a_map_far_from_zero_has_the_power_of_the_same_map():
    near, far = globe(patches(), 6), globe(patches() + 1e8, 6)
    np.testing.assert_allclose(far.power[1:], near.power[1:], rtol=1e-6)
    assert far.rest == pytest.approx(near.rest, rel=1e-6) and near.rest > 0.01
    assert far.power[0] == pytest.approx(1e16, rel=1e-6)


@pytest.mark.parametrize(("dim", "degree"), [(2, 1), (2, 9), (3, 40), (100, 50), (5000, 200)])
def test_harmonics_have_all_digits_where_their_number_is_not_a_float(dim, degree):
    """They agree with the recurrence of ``P_l`` with 500 digits, and the number of harmonics in integers."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((40, dim))
    cosine = x[:, 0] / np.linalg.norm(x, axis=1)
    count = math.comb(degree + dim - 1, dim - 1)
    count -= math.comb(degree + dim - 3, dim - 1) if degree > 1 else 0
    with localcontext(prec=500):
        wanted = []
        for t in map(Decimal, cosine.tolist()):
            before, now = Decimal(1), t
            for i in range(1, degree):
                step = (2 * i + dim - 2) * t * now - i * before
                before, now = now, step / (i + dim - 2)
            wanted.append(float(Decimal(count).sqrt() * now))
    found = harmonics(dim, np.array([degree, 0]), np.stack([cosine, cosine]))
    np.testing.assert_allclose(found[0], wanted, rtol=1e-10, atol=1e-12)
    assert np.all(found[1] == 1)


def test_functions_of_high_degree_in_many_dimensions_are_drawn():
    count, degree = 8, 200
    task = Spectrum(5000, (0.0,) * degree + (1.0,))
    x = uniform_sphere(stream(1, "covariates"), count, 5, task.dim)
    rng = stream(0, "tasks")
    # this number draws the degree, and there is only one
    rng.uniform(0.0, 1.0, (count,))
    u = uniform_sphere(rng, count, task.dim)
    values = task.sample(stream(0, "tasks"), count)(x).numpy()
    wanted = harmonics(task.dim, np.full(count, degree), inner_products(u, x).numpy())
    np.testing.assert_allclose(values, wanted, rtol=1e-9)
    assert np.abs(values).max() < 1e3


@pytest.mark.filterwarnings("error")
def test_constant_functions_are_drawn_without_a_warning():
    x = uniform_sphere(stream(1, "covariates"), 4, 5, 3)
    for task in (Spectrum(3, (0.0, 0.0)), globe(np.zeros((2, 4)), 2)):
        assert not task.sample(stream(0, "tasks"), 4)(x).any()


def test_degrees_without_power_are_not_drawn():
    class Zero:
        """A stream whose uniform numbers are the smallest possible ones."""

        def standard_normal(self, shape):
            return np.random.default_rng(6).standard_normal(shape)

        def uniform(self, low, high, shape):
            return np.full(shape, low)

    x = uniform_sphere(stream(1, "covariates"), 4, 5, 3)
    even = Spectrum(3, (0.0, 0.0, 1.0)).sample(Zero(), 4)
    assert torch.allclose(even(x), even(-x))
