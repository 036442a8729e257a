import numpy as np
import pandas as pd

from icl.experiments.tables import exponent, extrapolated, measured, medians
from icl.experiments.theorem2 import sufficient_lengths


def test_a_setting_gives_a_row_or_a_row_for_each_entry():
    one = measured(lambda a, b: a * b, ["value"], a=[1, 2], b=[3, 4])
    assert one.to_dict("list") == {"a": [1, 1, 2, 2], "b": [3, 4, 3, 4], "value": [3, 4, 6, 8]}
    many = measured(lambda a: (np.arange(2), a), ["i", "value"], a=[5, 6])
    assert many.to_dict("list") == {"a": [5, 5, 6, 6], "i": [0, 1, 0, 1], "value": [5, 5, 6, 6]}


def test_medians_keep_the_order_of_settings():
    frame = pd.DataFrame({"kind": ["b", "a"] * 9, "x": [2.0, 1.0] * 9, "value": np.arange(18.0)})
    found = medians(frame, "value", ["kind", "x"])
    assert found.kind.tolist() == ["b", "a"] and found["median"].tolist() == [8.0, 9.0]
    assert (found.low < found["median"]).all() and (found["median"] < found.high).all()


def test_exponents_of_a_power_law_do_not_change():
    x = np.array([1.0, 10.0, 100.0])
    assert np.allclose(exponent(x, x**2, x**3, 3.0), (2, 0, 3, 0, 3))


def test_what_is_linear_in_a_small_number_is_extrapolated_exactly():
    small = np.array([0.4, 0.2, 0.1])
    assert np.allclose(extrapolated(3 + 2 * small, small), (3, 0))
    limit, change = extrapolated(3 + small**2, small)
    assert np.isclose(limit, 3 - 0.02) and np.isclose(change, 0.06)


def test_a_statement_about_high_dimensions_has_one_in_every_run():
    assert sufficient_lengths([2, 3]).d.unique().tolist() == [5]
    assert sufficient_lengths([3, 4, 12]).d.unique().tolist() == [4]
