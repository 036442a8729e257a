"""Tests of the table of how long notebooks take."""

import json

from icl_book.provenance import ROOT
from icl_book.site import durations

RECORD = {
    "smoke": {"seconds": {"a": 1.0}, "machine": "X"},
    "quick": {"seconds": {"a": 10.4, "b": 20.0}, "machine": "2 cores, X"},
    "paper": {"seconds": {"a": 100.0}, "machine": "16 cores, Y"},
}


def test_every_notebook_has_a_line_the_longest_first_and_what_was_not_run_says_so():
    lines = durations.markdown(RECORD).splitlines()
    assert lines[0] == "| notebook | `quick` | `paper` |"
    assert lines[2] == "| [](/notebooks/b.ipynb) | 20 | not run |"
    assert lines[3] == "| [](/notebooks/a.ipynb) | 10 | 100 |"
    assert lines[4] == "| together | 30 | 100 |"
    assert "`quick` on 2 cores, X; `paper` on 16 cores, Y" in lines[-1]


def test_a_preset_that_never_ran_has_no_column():
    assert "paper" not in durations.markdown({"quick": RECORD["quick"]})


def test_what_is_kept_names_notebooks_that_there_are():
    kept = json.loads((ROOT / "benchmarks" / "results" / "presets.json").read_text())
    here = {path.stem for path in (ROOT / "notebooks").glob("*.py")}
    for preset, found in kept.items():
        assert (ROOT / "presets" / f"{preset}.yml").is_file() and found["machine"]
        assert set(found["seconds"]) <= here and all(s > 0 for s in found["seconds"].values())
    assert set(kept["quick"]["seconds"]) == here
