"""Classes that are known by their power, and maps of the sphere."""

import math

import numpy as np
import pytest
import torch
from scipy.special import lpmv

from icl.risk import optimal_window, population_risk
from icl.streams import stream
from icl.tasks import Linear, Quadratic, Sign, Spectrum, globe
from icl.tasks.spectrum import map_power


def places(rows):
    """Return colatitudes and longitudes of the centers of a map's cells."""
    theta = (np.arange(rows) + 0.5) * math.pi / rows
    phi = (np.arange(2 * rows) + 0.5) * math.pi / rows - math.pi
    return theta[:, None], phi[None, :]


@pytest.mark.parametrize(("degree", "m"), [(1, 0), (1, 1), (4, 2), (9, 9), (17, 5)])
def test_a_single_harmonic_has_its_power_in_its_degree(degree, m):
    theta, phi = places(400)
    values = lpmv(m, degree, np.cos(theta)) * np.cos(m * phi)
    size = (
        2 / (2 * degree + 1) * math.factorial(degree + m) / math.factorial(degree - m)
    )
    mean_square = size / 2 * (1 if m == 0 else 0.5)
    power = map_power(values, 25)
    assert power[degree] == pytest.approx(mean_square, rel=2e-3)  # cells are constant
    assert np.delete(power, degree).sum() < 2e-3 * mean_square


def test_rows_are_colatitudes_and_have_their_area():
    theta, phi = places(120)
    north = (np.cos(theta) + 0 * phi > 0).astype(float)  # a half sphere is half of it
    assert map_power(north, 3)[0] == pytest.approx(0.25, rel=1e-12)
    cap = (theta + 0 * phi < math.pi / 3).astype(float)  # a quarter of the area
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


def test_what_no_window_resolves_is_noise_at_every_place():
    smooth = Spectrum(3, (0.0, 1.0, 0.5))
    rough = Spectrum(3, (0.0, 1.0, 0.5), rest=0.04)
    w = np.array([0.5, 4.0, 30.0])
    plain, fine = (population_risk(task, w, 30, 0.3) for task in (smooth, rough))
    noisier = population_risk(smooth, w, 30, math.hypot(0.3, 0.2))
    np.testing.assert_allclose(fine.total, noisier.total + 0.04, rtol=1e-12)
    np.testing.assert_allclose(fine.slope - noisier.slope, 0, atol=1e-12)
    assert np.all(fine.total > plain.total)
    best = optimal_window(rough, 30, 0.3).w
    assert best == pytest.approx(
        optimal_window(smooth, 30, math.hypot(0.3, 0.2)).w, rel=1e-8
    )


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
    task = globe(np.cos(theta) + 0 * phi, 5)  # z of a place
    count = 20_000
    x = torch.zeros(count, 1, 3).double()
    x[..., 2] = 1.0
    values = task.sample(stream(0, "tasks"), count)(x).numpy().ravel()
    assert abs(values.mean()) < 5 / math.sqrt(3 * count)
    assert np.quantile(values, 0.75) == pytest.approx(0.5, abs=0.03)  # z is uniform
    turned = task.sample(stream(0, "tasks"), 3)
    ends = torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]).double().expand(3, 2, 3)
    assert torch.allclose(turned(ends).sum(1), torch.zeros(3).double(), atol=0.06)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Spectrum(3, (0.0,)), "len(power)=1"),
        (lambda: Spectrum(3, (0.0, -1.0)), "power[1]=-1"),
        (lambda: Spectrum(3, (0.0, 1.0), rest=-1.0), "rest=-1"),
        (lambda: globe(np.ones((4, 8, 2)), 1), "values of shape (4, 8, 2)"),
        (lambda: globe([[0.0] * 8, [math.nan] * 8], 1), "finite"),
        (lambda: globe(np.ones((4, 8)), 5), "degree=5"),
        (
            lambda: Spectrum(3, (0.0, 1.0), rest=0.1).sample(stream(0, "tasks"), 2),
            "rest=0.1",
        ),
    ],
)
def test_bad_input_is_one_short_line(make, words):
    with pytest.raises(ValueError) as error:
        make()
    assert words in str(error.value) and len(str(error.value)) < 120
