"""The two maps of the Earth."""

import numpy as np
import pytest
import torch

from icl.risk import optimal_window, population_risk
from icl.tasks import QuadraticRisk, ReLU, Spectrum, globe
from icl_book import planet
from icl_book.measurements.planet import mean_risks, nearly_best, radius_by_trial, windows_of_places


def area(rows):
    return -np.diff(np.cos(np.linspace(0, np.pi, rows + 1))) / 2


def test_land_and_sea_are_at_known_places():
    land = planet.land()
    assert land.shape == (360, 720) and set(np.unique(land)) == {0.0, 1.0}
    assert area(360) @ land.mean(1) == pytest.approx(0.29, abs=0.01)
    cells = {  # latitude, longitude
        "Paris": (48.8, 2.3),
        "Manaus": (-3.1, -60.0),
        "Alice Springs": (-23.7, 133.9),
        "South Pole": (-89.9, 0.0),
    }
    for name, (latitude, longitude) in cells.items():
        at = int((90 - latitude) * 2), int((longitude + 180) * 2)
        assert land[at] == 1, name
    for latitude, longitude in ((0.0, -30.0), (89.9, 0.0), (-40.0, -120.0)):
        assert land[int((90 - latitude) * 2), int((longitude + 180) * 2)] == 0


def test_the_field_points_down_in_the_north_and_its_power_is_that_of_its_coefficients():
    field = planet.magnetic_field(180)
    assert field[:30].mean() > 4e4 and field[-30:].mean() < -4e4
    power = np.array(planet.magnetic_power())
    variance = area(180) @ (field**2).mean(1) - (area(180) @ field.mean(1)) ** 2
    assert variance == pytest.approx(power[1:].sum(), rel=1e-3)
    found = globe(field, 20)
    np.testing.assert_allclose(found.power[1:14], power[1:], rtol=5e-3)
    assert found.rest < 1e-3 * variance


def test_the_field_of_thirteen_degrees_is_the_limit_of_finer_cells():
    power = np.array(planet.magnetic_power())
    exact = optimal_window(Spectrum(3, power / power[1:].sum()), 10_000, 0.1).w
    far, near = (
        abs(optimal_window(globe(values, 20), 10_000, 0.1).w - exact)
        for values in map(planet.standardize, map(planet.magnetic_field, (90, 180)))
    )
    # constant cells lose the variance inside them, a quarter in cells of half the width
    assert far / near == pytest.approx(4, rel=0.1)
    assert 1e-3 < near / exact < 4e-3


def test_windows_that_cost_one_percent_cost_one_percent():
    task = ReLU(3, lipschitz=4.0)
    least = optimal_window(task, 100, 0.5)
    found = nearly_best(task, 100, 0.5).set_index("end").w
    assert found["largest"] < least.w < found["least"]
    risks = population_risk(task, found.to_numpy(), 100, 0.5).total
    np.testing.assert_allclose(risks / least.risk, 1.01, rtol=1e-9)


@pytest.mark.parametrize("start", [0.5, 2])
def test_a_trial_finds_the_exact_window_wherever_it_begins(start):
    values = planet.standardize(planet.magnetic_field(90))
    exact = float(optimal_window(globe(values, 20), 100, 0.5).w)
    setting = {"n": 100, "noise_std": 0.5, "questions": 2000, "samples": 10}
    km, error = radius_by_trial(values, start * exact, **setting)
    assert error < 0.03 * km
    assert abs(km - planet.RADIUS * exact**-0.5) < 4.4 * error


def test_a_file_that_was_changed_is_refused(monkeypatch, tmp_path):
    (tmp_path / "land.npz").write_bytes(b"x")
    monkeypatch.setattr(planet, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match="land.npz: sha256"):
        planet.land()


def test_a_map_is_standardized_by_area():
    land = planet.standardize(planet.land())
    assert area(360) @ land.mean(1) == pytest.approx(0, abs=1e-12)
    assert area(360) @ (land**2).mean(1) == pytest.approx(1)


def test_values_are_looked_up_where_a_place_is():
    cells = np.arange(12.0).reshape(3, 4)  # a row has 60 degrees, a column 90 degrees
    places = {0.0: (-1, -1e-9, 2), 6.0: (1, 1e-9, 0), 7.0: (-1, 1e-9, 0), 11.0: (-1, 1, -5)}
    for value, place in places.items():
        unit = np.array(place) / np.linalg.norm(place)
        assert planet.value_at(cells, unit) == value
    land = planet.land()
    places = planet.random_places(np.random.default_rng(0), 40_000)
    share = planet.value_at(land, places).mean()
    assert share == pytest.approx(area(360) @ land.mean(1), abs=0.01)  # 4.4 deviations


def test_the_windows_of_uniform_places_are_exact_and_of_one_cluster_those_of_a_plane():
    task = ReLU(3, lipschitz=4.0)
    found = windows_of_places(
        task, n=60, noise_std=0.5, clusters=3, width=0.05, contexts=60, queries=10
    )
    uniform = found.iloc[0]
    exact = optimal_window(task, 60, 0.5).w
    assert abs(uniform.w - exact) < 4.4 * uniform.error < 0.4 * exact
    assert uniform.factor == pytest.approx(1, abs=4.4 * uniform.factor_error + 1e-4)
    crowded = found[(found.known == "clustered") & (found.asked == "clustered")].iloc[0]
    assert crowded.w > 2 * exact, "more places within reach, so a narrower window"


def test_the_risk_given_places_is_that_of_the_quadratic_form():
    """For one context and one query it agrees with the form that the other chapters use."""
    task = ReLU(3, lipschitz=4.0)
    places = planet.random_places(np.random.default_rng(3), 21)
    form = QuadraticRisk.of(task, torch.as_tensor(places)[None], 0.5)
    scores = places[:-1] @ places[-1]
    windows = np.array([0.5, 4.0])
    found = mean_risks(task, places[:-1], places[-1:], windows, 0.5)
    for w, risk in zip(windows, found, strict=True):
        weights = torch.softmax(torch.as_tensor(w * scores), 0)[None]
        assert risk == pytest.approx(form.risk(weights).item(), rel=1e-6)
