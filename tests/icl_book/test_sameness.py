"""Tests of the table of how far numbers are the same, and of what was measured."""

import json

import pytest

from icl_book.provenance import ROOT
from icl_book.site import sameness

RECORD = json.loads((ROOT / "benchmarks" / "results" / "determinism.json").read_text())

#: What the tests of icl allow between two computations of one number: the exact risk and the best window in
#: tests/icl/risk/test_exact.py, one unit alone and in a sweep in tests/icl/pretrain/test_pretrain.py, float64
#: tiles against plain formulas in benchmarks/tensor_trick.py.
ALLOWED = {"population_risk": 1e-10, "optimal_window": 1e-8, "pretrain": 1e-8, "gradient": 1e-9}
OTHER_NUMBERS = ("float32", "native stream")


def test_no_tolerance_is_smaller_than_what_processors_and_threads_change():
    for name, found in RECORD["differences"].items():
        if name not in OTHER_NUMBERS:
            assert found["largest"].keys() == ALLOWED.keys() == sameness.RESULTS.keys()
            for result, difference in found["largest"].items():
                assert difference < ALLOWED[result], f"{name}: {result}"


def test_two_runs_and_two_numbers_of_threads_were_compared():
    assert {"a second run", "two threads", *OTHER_NUMBERS} <= set(RECORD["differences"])
    assert set(RECORD["differences"]["a second run"]["largest"].values()) == {0.0}
    assert RECORD["differences"]["two threads"]["seen"]["threads"] == 2
    assert {"machine", "versions", "commit"} <= set(RECORD)


def test_the_table_shows_every_difference_once():
    small = RECORD | {
        "differences": {
            "a second run": {"largest": dict.fromkeys(sameness.RESULTS, 0.0)},
            "float32": {"largest": {"pretrain": 2.4e-6}},
        },
        "without_effect": ["OpenBLAS for a Haswell"],
    }
    text = sameness.markdown(small)
    assert "| a second run | the same | the same | the same | the same |" in text
    assert "| float32 | does not apply | does not apply | 2e-06 | does not apply |" in text
    assert "Not possible on that machine: OpenBLAS for a Haswell." in text
    rows = [line for line in sameness.markdown(RECORD).splitlines() if line.startswith("|")]
    assert len(rows) == 2 + len(RECORD["differences"])


@pytest.mark.parametrize("name", OTHER_NUMBERS)
def test_other_precision_or_stream_is_another_number(name):
    assert RECORD["differences"][name]["largest"]["pretrain"] > 1e-9
