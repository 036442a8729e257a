"""Replications, with fresh random streams."""

import json

import pandas as pd
import pytest

from icl_book.runner import again, plan, record


def case(kind, value, name="a"):
    row = {"name": name, "measured": value, "interval": [value, value], "outcome": "agrees"}
    return row | {"kind": kind, "samples": 32, "parameters": {"d": 3}}


def result(run, kind="sampled", other="contradicts"):
    card = {"id": f"P1.{kind}", "verdict": "holds", "expected": "established"}
    card |= {"readings": {"ours": "agrees", "another": other}}
    card |= {"cases": [case(kind, 0.5)], "control_cases": [case("exact", 2.0, "far")]}
    card |= {"other_readings": {"another": [case(kind, 0.7), case(kind, 0.9, "b")]}}
    return {"name": run.name, "root_seed": run.root_seed, "seconds": 1.0, "parameters": {}, "cards": [card]}


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """What is asked for: of each call of the scheduler the root seed and the names of the notebooks."""
    monkeypatch.delenv("ICL_SEED", raising=False)
    for module in (again, record):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    runs, calls = {}, []

    def planned(preset, seed=0):
        made = [plan.Run(n, preset, {"dims": [4]}, True, seed, "cpu", n) for n in ("sampling", "exact")]
        runs.update({run.path: run for run in made})
        return made

    def found(path):
        run = runs[path]
        if run.name == "exact":
            return result(run, "exact")
        return result(run, other="undecided" if run.root_seed == 5 else "contradicts")

    def schedule(some, jobs, profile):
        calls.append((some[0].root_seed, [run.name for run in some], jobs))
        return calls.fails

    calls = type("Calls", (list,), {"fails": 0})()
    monkeypatch.setattr(plan.Run, "path", property(lambda run: (run.name, run.root_seed)))
    for name, value in (("plan", planned), ("collect", found), ("schedule", schedule)):
        monkeypatch.setattr(again, name, value)
    return calls


def test_replicate_compares_sampled_claims_reading_by_reading(asked, tmp_path, capsys):
    assert again.replicate([5, 6], "2") == 0
    assert asked == [(0, ["sampling", "exact"], "2"), (5, ["sampling"], "2"), (6, ["sampling"], "2")]
    five, six = (json.loads((tmp_path / f"results/replications/{seed}.json").read_text()) for seed in (5, 6))
    assert five["changed"] == {"P1.sampled": {"another": ["contradicts", "undecided"]}} and five["seed"] == 5
    assert six["changed"] == {} and six["claims"].keys() == {"P1.sampled"}
    assert six["claims"]["P1.sampled"]["cases"] == {"a": 0.5, "b": 0.9, "far": 2.0}, "ours, of two a"
    assert "P1.sampled: another: undecided, before contradicts" in capsys.readouterr().out
    cases = pd.read_csv(tmp_path / "_build/sweeps/replications/cases.csv")
    assert cases["root_seed"].tolist() == [0] * 3 + [5] * 3 + [6] * 3 and set(cases["d"]) == {3}
    assert (
        set(cases["claim"]) == {"P1.sampled"} and cases["measured"].between(cases["low"], cases["high"]).all()
    )


def test_what_moved_names_the_readings():
    one = {"verdict": "holds", "readings": {"ours": "agrees", "old": "agrees"}}
    two = {"verdict": "holds", "readings": {"ours": "undecided", "new": "agrees"}}
    assert again.moved(one, one) == {}
    assert again.moved(one, two) == {
        "ours": ["agrees", "undecided"],
        "old": ["agrees", None],
        "new": [None, "agrees"],
    }


def test_a_run_that_fails_writes_nothing(asked, tmp_path):
    asked.fails = 3
    assert again.replicate([5], "2") == 3
    assert not (tmp_path / "results").exists()
