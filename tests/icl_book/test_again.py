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
from icl_book.runner import again, plan
from icl_book.runner.plan import Run

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
    plain = plan.plan("quick", "theorem2_scaling")[0]
    address = plain.digest
    with again.streams(7):
        moved = plan.plan("quick", "theorem2_scaling")[0]
        assert moved.digest != address and moved.exploring and not plain.exploring
    assert "ICL_SEED" not in os.environ and plan.plan("quick", "theorem2_scaling")[0].digest == address
    assert plan.plan("confirmatory", "theorem2_scaling")[0].exploring
    with pytest.raises(BadInput, match="seed=0: must be"), again.streams(0):
        pass


SIZES = ("dim", "dims", "context_length", "n_values", "radii", "sizes", "large_sizes", "more_dims")


def test_the_confirmatory_run_shares_no_setting_with_the_book():
    """In every chapter that judges, a size that has no value in common, and none with some in common."""

    def values(run, name):
        value = (plan.defaults(run.name) | run.overrides).get(name, [])
        return set(value) if isinstance(value, list) else {value}

    for run in plan.plan("confirmatory"):
        (quick,) = plan.plan("quick", run.name)
        sizes = {name: (values(run, name), values(quick, name)) for name in SIZES if values(run, name)}
        if run.judges:
            assert any(not here & there for here, there in sizes.values()), run.name
            for name, (here, there) in sizes.items():
                assert here == there or not here & there, f"{run.name}: {name}"


def case(kind, value):
    row = dict.fromkeys(again.CASE) | {"name": "a", "measured": value, "interval": [value, value]}
    return row | {"kind": kind, "samples": 32, "outcome": "agrees"}


def result(verdict, kind="sampled", name="n", other="contradicts"):
    card = dict.fromkeys(again.CARD) | {"id": f"P1.{kind}", "verdict": verdict, "expected": "holds"}
    card |= {"readings": {"ours": "agrees", "another": other}}
    card |= {"cases": [case(kind, 0.5)], "control_cases": [case("exact", 2.0) | {"name": "far"}]}
    card |= {"other_readings": {"another": [case(kind, 0.7), case(kind, 0.9) | {"name": "b"}]}}
    return dict.fromkeys(again.RECORD) | {"name": name, "root_seed": plan.root_seed(), "cards": [card]}


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
    (card,) = written["cards"]
    assert card["verdict"] == "inconclusive" and card["readings"]["another"] == "contradicts"
    assert card["cases"][0]["samples"] == 32 and card["cases"][0]["outcome"] == "agrees"
    assert [c["measured"] for c in card["other_readings"]["another"]] == [0.7, 0.9]
    assert "2 verdicts, 2 not as in the book" in capsys.readouterr().out


def test_confirm_refuses_rules_without_an_entry(tree, monkeypatch):
    monkeypatch.setattr(changes, "problems", lambda: ["book/changelog.yml: say what changed"])
    with pytest.raises(BadInput, match="say what changed"):
        again.confirm(lambda *_: 0, "2")


def test_replicate_compares_sampled_claims_reading_by_reading(tree, monkeypatch, capsys):
    monkeypatch.delenv("ICL_SEED", raising=False)

    def found(run):
        if run.name == "tensor_trick":
            return result("holds", "exact")
        return result("holds", other="undecided" if os.environ.get("ICL_SEED") == "5" else "contradicts")

    asked = []
    monkeypatch.setattr(again, "record", found)
    assert again.replicate(lambda settings, jobs: asked.append(settings["only"]) or 0, [5, 6], "2") == 0
    assert asked == ["theorem2_scaling tensor_trick", "theorem2_scaling", "theorem2_scaling"]
    five, six = (json.loads((tree / f"results/replications/{seed}.json").read_text()) for seed in (5, 6))
    assert five["changed"] == {"P1.sampled": {"another": ["contradicts", "undecided"]}} and five["seed"] == 5
    assert six["changed"] == {} and six["claims"].keys() == {"P1.sampled"}
    assert six["claims"]["P1.sampled"]["cases"] == {"a": 0.5, "b": 0.9, "far": 2.0}, "ours, of two a"
    assert "P1.sampled: another: undecided, before contradicts" in capsys.readouterr().out
    lines = list(csv.DictReader((tree / "_build/sweeps/replications/table.csv").open()))
    assert [(x["seed"], x["notebook"], x["claim"], x["verdict"]) for x in lines] == [
        (seed, "theorem2_scaling", "P1.sampled", "holds") for seed in "056"
    ]
    assert all(float(x["low"]) <= float(x["measured"]) <= float(x["high"]) for x in lines)


def test_a_replication_compares_with_the_book_s_own_streams(tree, monkeypatch):
    monkeypatch.setenv("ICL_SEED", "3")
    with pytest.raises(BadInput, match="ICL_SEED=3: the book has the root seed 0"):
        again.replicate(lambda *_: pytest.fail("it ran"), [5], "2")


def test_what_moved_names_the_readings():
    one = {"verdict": "holds", "readings": {"ours": "agrees", "old": "agrees"}}
    two = {"verdict": "holds", "readings": {"ours": "undecided", "new": "agrees"}}
    assert again.moved(one, one) == {}
    assert again.moved(one, two) == {
        "ours": ["agrees", "undecided"],
        "old": ["agrees", None],
        "new": [None, "agrees"],
    }


def test_a_run_that_fails_writes_nothing(tree):
    assert again.replicate(lambda *_: 3, [5], "2") == 3 and again.confirm(lambda *_: 3, "2") == 3
    assert not (tree / "results").exists()
