"""The two maps of the Earth."""

import numpy as np
import pytest

from icl.tasks import globe
from icl_book import planet


def area(rows):
    return -np.diff(np.cos(np.linspace(0, np.pi, rows + 1))) / 2


def test_land_is_where_it_is():
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


def test_a_file_that_was_changed_is_refused(monkeypatch, tmp_path):
    (tmp_path / "land.npz").write_bytes(b"x")
    monkeypatch.setattr(planet, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match="land.npz: sha256"):
        planet.land()
