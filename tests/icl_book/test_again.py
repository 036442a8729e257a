"""`replicate` computes every sampled verdict again, with other random streams."""

import pandas as pd
import pytest

from icl_book.runner import again, plan


def case(kind, value, name="a"):
    row = {"name": name, "measured": value, "interval": [value, value], "outcome": "agrees"}
    return row | {"kind": kind, "samples": 32, "parameters": {"dim": 3}}


def found(path):
    kind, seed = path
    other = "undecided" if seed == 5 else "contradicts"
    card = {
        "id": f"P1.{kind}",
        "verdict": "holds",
        "readings": {"ours": "agrees", "another": other},
    }
    card |= {"cases": [case(kind, 0.5)], "control_cases": [case("exact", 2.0, "far")]}
    card |= {"other_readings": {"another": [case(kind, 0.7), case(kind, 0.9, "b")]}}
    card |= {"holding": {}}
    return {"name": kind, "root_seed": seed, "seconds": 1.0, "parameters": {}, "cards": [card]}


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Return, for each call of the scheduler, the root seed and the names of the notebooks."""
    monkeypatch.delenv("ICL_SEED", raising=False)
    monkeypatch.setattr(again, "ROOT", tmp_path)
    calls = []

    def planned(preset, seed=0):
        return [
            plan.Run(name, preset, {}, True, seed, "cpu", name) for name in ("sampled", "exact")
        ]

    def schedule(some, jobs, profile):
        calls.append((some[0].root_seed, [run.name for run in some], jobs))
        return 3 if jobs == "fail" else 0

    monkeypatch.setattr(plan.Run, "path", property(lambda run: (run.name, run.root_seed)))
    for name, value in (("plan", planned), ("collect", found), ("schedule", schedule)):
        monkeypatch.setattr(again, name, value)
    return calls


def test_replicate_compares_sampled_claims_reading_by_reading(asked, tmp_path, capsys):
    assert again.replicate([5, 6], "2") == 0
    assert asked == [(0, ["sampled", "exact"], "2"), (5, ["sampled"], "2"), (6, ["sampled"], "2")]
    folder = tmp_path / "_build" / "replications"
    verdicts = pd.read_csv(folder / "verdicts.csv", index_col=["statement", "reading"])
    assert set(verdicts.index.get_level_values("statement")) == {"P1.sampled"}
    assert verdicts.loc[("P1.sampled", "another")].to_dict() == {
        "0": "contradicts",
        "5": "undecided",
        "6": "contradicts",
    }
    assert set(verdicts.loc[("P1.sampled", "verdict")]) == {"holds"}
    said = capsys.readouterr().out
    assert "3 verdicts and readings, 1 not the same" in said
    assert "undecided" in said and "ours" not in said
    cases = pd.read_csv(folder / "cases.csv")
    assert cases["root_seed"].tolist() == [0] * 3 + [5] * 3 + [6] * 3


def test_a_run_that_fails_writes_nothing(asked, tmp_path):
    assert again.replicate([5], "fail") == 3
    assert not (tmp_path / "_build/replications").exists()
