"""Replications, with fresh random streams."""

import json

import pandas as pd
import pytest

from icl_book.runner import again, plan, record
from icl_book.site import audit


def case(kind, value, name="a"):
    row = {
        "name": name,
        "measured": value,
        "interval": [value, value],
        "outcome": "agrees",
    }
    return row | {"kind": kind, "samples": 32, "parameters": {"d": 3}}


def found(path):
    """What a run found whose notebook is named after its kind of evidence."""
    kind, seed = path
    other = "undecided" if seed == 5 else "contradicts"
    card = {
        "id": f"P1.{kind}",
        "verdict": "holds",
        "readings": {"ours": "agrees", "another": other},
    }
    card |= {"cases": [case(kind, 0.5)], "control_cases": [case("exact", 2.0, "far")]}
    card |= {"other_readings": {"another": [case(kind, 0.7), case(kind, 0.9, "b")]}}
    return {
        "name": kind,
        "root_seed": seed,
        "seconds": 1.0,
        "parameters": {},
        "cards": [card],
    }


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """What is asked for: of each call of the scheduler the root seed and the names of the notebooks."""
    monkeypatch.delenv("ICL_SEED", raising=False)
    for module in (again, record):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    calls = []

    def planned(preset, seed=0):
        return [
            plan.Run(name, preset, {}, True, seed, "cpu", name)
            for name in ("sampled", "exact")
        ]

    def schedule(some, jobs, profile):
        calls.append((some[0].root_seed, [run.name for run in some], jobs))
        return 3 if jobs == "fail" else 0

    monkeypatch.setattr(
        plan.Run, "path", property(lambda run: (run.name, run.root_seed))
    )
    for name, value in (("plan", planned), ("collect", found), ("schedule", schedule)):
        monkeypatch.setattr(again, name, value)
    return calls


def test_replicate_compares_sampled_claims_reading_by_reading(asked, tmp_path, capsys):
    assert again.replicate([5, 6], "2") == 0
    assert asked == [
        (0, ["sampled", "exact"], "2"),
        (5, ["sampled"], "2"),
        (6, ["sampled"], "2"),
    ]
    five, six = (
        json.loads((tmp_path / f"_build/replications/{seed}.json").read_text())
        for seed in (5, 6)
    )
    assert (
        five["changed"] == {"P1.sampled": {"another": ["contradicts", "undecided"]}}
        and five["seed"] == 5
    )
    assert six["changed"] == {} and six["claims"].keys() == {"P1.sampled"}
    assert six["claims"]["P1.sampled"]["cases"] == {"a": 0.5, "b": 0.9, "far": 2.0}, (
        "ours, of two a"
    )
    assert (
        "P1.sampled: another: undecided, before contradicts" in capsys.readouterr().out
    )
    cases = pd.read_csv(tmp_path / "_build/sweeps/replications/cases.csv")
    assert cases["root_seed"].tolist() == [0] * 3 + [5] * 3 + [6] * 3 and set(
        cases["claim"]
    ) == {"P1.sampled"}


def test_the_book_counts_committed_replications_and_no_others(asked, tmp_path):
    """Who judges again with seeds of one's own changes nothing that is published, with git or without."""
    committed = tmp_path / "results" / "replications" / "7.json"
    committed.parent.mkdir(parents=True)
    committed.write_text('{"seed": 7}')
    before = audit.further(tmp_path)
    assert again.replicate([5], "2") == 0
    assert (
        audit.further(tmp_path)
        == before
        == {"registered": [], "replications": [{"seed": 7}]}
    )


def test_what_moved_names_the_readings():
    one = {"verdict": "holds", "readings": {"ours": "agrees", "old": "agrees"}}
    two = {"verdict": "holds", "readings": {"ours": "undecided", "new": "agrees"}}
    changed = {
        "ours": ["agrees", "undecided"],
        "old": ["agrees", None],
        "new": [None, "agrees"],
    }
    assert again.moved(one, one) == {} and again.moved(one, two) == changed


def test_a_run_that_fails_writes_nothing(asked, tmp_path):
    assert again.replicate([5], "fail") == 3
    assert not (tmp_path / "_build/replications").exists()
