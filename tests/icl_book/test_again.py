"""Fresh random streams: the confirmatory run and replications."""

import csv
import json
import os
import subprocess
import sys

import pytest

from icl_book.claims import changes
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner import again
from icl_book.runner.plan import Run, plan

DRAW = "from icl.streams import stream; print(stream(3, 'tasks', 2).standard_normal())"


def drawn(seed):
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | ({"ICL_SEED": seed} if seed is not None else {})
    done = subprocess.run(
        [sys.executable, "-c", DRAW], env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout if done.returncode == 0 else done.stderr.splitlines()[-1]


def test_the_environment_moves_every_stream():
    assert drawn(None) == drawn("") == drawn("0") != drawn("1") != drawn("2")
    assert drawn("1") == drawn("1")
    for wrong in ("-1", str(2**31), "one"):
        assert drawn(wrong).startswith(f"ValueError: ICL_SEED='{wrong}': must be")


def test_fresh_streams_have_an_address_of_their_own_and_never_reach_the_book(monkeypatch):
    monkeypatch.delenv("ICL_SEED", raising=False)
    plain = plan("quick", "theorem2_scaling")[0]
    address = plain.digest
    with again.streams(7):
        moved = plan("quick", "theorem2_scaling")[0]
        assert moved.digest != address and moved.exploring and not plain.exploring
    assert "ICL_SEED" not in os.environ and plan("quick", "theorem2_scaling")[0].digest == address
    assert plan("confirmatory", "theorem2_scaling")[0].exploring
    with pytest.raises(BadInput, match="seed=0: must be"), again.streams(0):
        pass


def test_the_confirmatory_run_shares_no_seeded_setting_with_the_book():
    """Other numbers of dimensions and tokens in every chapter that samples."""
    for run in plan("confirmatory"):
        quick = plan("quick", run.name)[0].overrides
        if run.judges:
            assert run.overrides and run.overrides != quick, run.name


def case(kind, value):
    numbers = {
        "measured": value,
        "interval": [value, value],
        "permitted": [0, 1],
        "permitted_corrected": None,
    }
    return {"name": "a", "samples": 32, "kind": kind, "parameters": {}, "miss": 0.0} | numbers


def result(verdict, kind="sampled", name="n"):
    card = dict.fromkeys(again.CARD) | {"id": f"P1.{kind}", "verdict": verdict, "expected": "holds"}
    card |= {"cases": [case(kind, 0.5)], "control_cases": [], "other_readings": {}}
    return dict.fromkeys(again.RECORD) | {"name": name, "cards": [card]}


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.setattr(again, "ROOT", tmp_path)
    monkeypatch.setattr(changes, "problems", list)
    runs = [Run("theorem2_scaling", "quick", {}), Run("tensor_trick", "quick", {})]
    monkeypatch.setattr(again, "plan", lambda *_: runs)
    return tmp_path


def test_confirm_writes_what_it_finds_whatever_it_says(tree, monkeypatch, capsys):
    seen = []
    monkeypatch.setattr(again, "record", lambda run: result("inconclusive", name=run.name))

    def schedule(settings, jobs):
        seen.append((settings["preset"], os.environ["ICL_SEED"], jobs))
        return 0

    assert again.confirm(schedule, "2") == 0
    assert seen == [("confirmatory", str(changes.seed()), "2")]
    written = json.loads((tree / "results/confirmatory/theorem2_scaling.json").read_text())
    assert written["rules"] == changes.digest() and written["root_seed"] == changes.seed()
    assert (
        written["cards"][0]["verdict"] == "inconclusive" and written["cards"][0]["cases"][0]["samples"] == 32
    )
    assert "2 verdicts, 2 not as in the book" in capsys.readouterr().out


def test_confirm_refuses_rules_without_an_entry(tree, monkeypatch):
    monkeypatch.setattr(changes, "problems", lambda: ["book/changelog.yml: say what changed"])
    with pytest.raises(BadInput, match="say what changed"):
        again.confirm(lambda *_: 0, "2")


def test_replicate_compares_sampled_verdicts_only(tree, monkeypatch, capsys):
    def found(run):
        if run.name == "tensor_trick":
            return result("holds", "exact")
        return result("inconclusive" if os.environ.get("ICL_SEED") else "holds")

    asked = []
    monkeypatch.setattr(again, "record", found)
    assert again.replicate(lambda settings, jobs: asked.append(settings["only"]) or 0, [5, 6], "2") == 0
    assert asked == ["theorem2_scaling tensor_trick", "theorem2_scaling", "theorem2_scaling"]
    written = json.loads((tree / "results/replications/5.json").read_text())
    assert written["changed"] == {"P1.sampled": ["holds", "inconclusive"]} and written["seed"] == 5
    assert "P1.sampled: inconclusive, before holds" in capsys.readouterr().out
    lines = list(csv.DictReader((tree / "_build/sweeps/replications/table.csv").open()))
    assert [(x["seed"], x["notebook"], x["claim"], x["verdict"]) for x in lines] == [
        (seed, "theorem2_scaling", "P1.sampled", verdict)
        for seed, verdict in (("0", "holds"), ("5", "inconclusive"), ("6", "inconclusive"))
    ]
    assert all(float(x["low"]) <= float(x["measured"]) <= float(x["high"]) for x in lines)


def test_a_run_that_fails_writes_nothing(tree):
    assert again.replicate(lambda *_: 3, [5], "2") == 3 and again.confirm(lambda *_: 3, "2") == 3
    assert not (tree / "results").exists()
