import numpy as np
import pandas as pd

from icl_book.measurements.tables import each, measured, medians


def test_lists_are_swept_and_arrays_are_rows():
    found = each(
        lambda a, b, c: {"x": c, "sum": a + len(b) + c},
        a=[1, 2],
        b=["u"],
        c=np.array([10.0, 20.0]),
    )
    assert found.to_dict("list") == {
        "a": [1, 1, 2, 2],
        "b": ["u"] * 4,
        "x": [10.0, 20.0] * 2,
        "sum": [12.0, 22.0, 13.0, 23.0],
    }
    together = each(
        lambda d, n: {"value": d * n}, at=[{"d": 3, "n": 2}, {"d": 5, "n": 1}]
    )
    assert together.to_dict("list") == {"d": [3, 5], "n": [2, 1], "value": [6, 5]}
    assert each(
        lambda k, name: {"value": k}, k=range(2), name="one"
    ).columns.tolist() == ["k", "value"]


def test_a_setting_gives_a_row_or_a_row_for_each_entry():
    one = measured(lambda a, b: a * b, ["value"], a=[1, 2], b=[3, 4])
    assert one.to_dict("list") == {
        "a": [1, 1, 2, 2],
        "b": [3, 4, 3, 4],
        "value": [3, 4, 6, 8],
    }
    many = measured(lambda a: (np.arange(2), a), ["i", "value"], a=[5, 6])
    assert many.to_dict("list") == {
        "a": [5, 5, 6, 6],
        "i": [0, 1, 0, 1],
        "value": [5, 5, 6, 6],
    }


def test_medians_keep_the_order_of_settings():
    frame = pd.DataFrame(
        {"kind": ["b", "a"] * 9, "x": [2.0, 1.0] * 9, "value": np.arange(18.0)}
    )
    found = medians(frame, "value", ["kind", "x"])
    assert found.kind.tolist() == ["b", "a"] and found["median"].tolist() == [8.0, 9.0]
    assert (found.low < found["median"]).all() and (found["median"] < found.high).all()
