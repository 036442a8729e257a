"""The registered run: its plan, and what is compared with it."""

import json
import math
import sys

import pytest

from icl_book.claims import Authority, Claim, Grade, changes, judge, registry
from icl_book.claims.case import Case
from icl_book.claims.judge import merge
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner import plan, protocol, reach, record
from programs import program

SIZES = {
    "lists": {"dims": [2, 16], "steps": 5},
    "points": [{"context_length": 20}, {"context_length": 100}],
    "instead": {"misprints": {"dims": [3]}},
}


def test_the_plan_follows_from_its_sizes_and_has_every_statement():
    of = protocol.read()
    assert list(of["chapters"]) == [run.name for run in plan.plan("quick")]
    for name, chapter in of["chapters"].items():
        counts = {one.get("seeds", 0) for one in chapter["settings"]}
        own = plan.defaults(name)  # a parameter of the plan may have gone since
        kept = [
            {k: v for k, v in one.items() if k in own} for one in chapter["settings"]
        ]
        assert kept == protocol.settings(name, of["sizes"], *counts)
        assert counts <= {
            0,
            *range(of["sizes"]["seeds"][0], of["sizes"]["seeds"][1] + 1),
        }
    stated = [i for chapter in of["chapters"].values() for i in chapter["statements"]]
    assert len(stated) == len(set(stated))
    testable = {i for i, claim in registry().items() if claim.rule is not None}
    later = [
        entry for entry in changes.changes() if str(entry["date"]) >= str(of["date"])
    ]
    added = {i for entry in later for i in entry.get("claims", ())}
    assert set(stated) == testable - (added - set(stated))


def test_every_change_since_the_plan_has_an_entry():
    assert protocol.problems() == []


def test_a_changed_measurement_is_seen(monkeypatch):
    def changed(text, code=reach.code):
        return {
            module: own + "+" * (module == "icl.risk.exact")
            for module, own in code(text).items()
        }

    monkeypatch.setattr(reach, "code", changed)
    found = protocol.problems()
    assert any("notebooks/theorem2_scaling measures by" in problem for problem in found)
    assert not any("notebooks/misprints" in problem for problem in found), (
        "it does not reach the exact risk"
    )
    with pytest.raises(BadInput, match="say what changed and why"):
        protocol.confirm("2")


def test_an_entry_with_the_new_digest_settles_it(monkeypatch):
    entry = {"rules": "other", "measurements": {"misprints": "new"}}
    log = [*changes.changes(), entry]
    monkeypatch.setattr(changes, "changes", lambda: log)
    assert len(protocol.problems()) == 2, (
        "the rules are not those of the last entry either"
    )
    entry["rules"] = changes.digest()
    assert len(protocol.problems()) == 1 and "by the plan" not in protocol.problems()[0]
    old = protocol.measurement
    monkeypatch.setattr(
        protocol,
        "measurement",
        lambda name: "new" if name == "misprints" else old(name),
    )
    assert protocol.problems() == []


def test_streams_follow_from_the_content_of_the_plan():
    of = protocol.read()
    roots = protocol.seeds(of)
    assert len(set(roots)) == of["replications"] + 1 and all(
        0 < root < 2**31 for root in roots
    )
    other = of | {"sizes": of["sizes"] | {"seeds": [10, 63]}}
    assert not set(protocol.seeds(other)) & set(roots)


def test_settings_are_the_sizes_that_a_chapter_has():
    exact = protocol.settings("exact_risk", SIZES, 7)
    assert exact == [{"dims": [2, 16], "context_length": n} for n in (20, 100)]
    assert protocol.settings("misprints", SIZES, 7) == [{"dims": [3]}]
    trained = protocol.settings("theorem2_scaling", SIZES, 7)
    assert [one["seeds"] for one in trained] == [7, 7] and trained[0]["steps"] == 5


@pytest.mark.parametrize(
    ("interval", "permitted", "seeds"),
    [
        ((0.9, 1.1), (0.0, 2.0), 10),  # a fifth of what is permitted: enough
        ((0.0, 2.0), (0.0, 2.0), 40),  # twice a quarter wide: four times the seeds
        ((0.9, 1.1), (0.9, math.inf), 40),  # as wide as the room, twice what it may be
        ((0.9, 1.1), (1.0, math.inf), 64),  # no room: the most
    ],
)
def test_the_number_of_seeds_follows_from_the_width_to_resolve(
    interval, permitted, seeds
):
    case = {
        "kind": "sampled",
        "measured": 1.0,
        "interval": interval,
        "permitted": permitted,
    }
    card = {"readings": {"ours": "agrees"}, "cases": [case], "other_readings": {}}
    assert protocol.sample_size([card], 10, 10, 64) == seeds
    assert (
        protocol.sample_size([card | {"cases": [case | {"kind": "exact"}]}], 10, 10, 64)
        == 10
    )


@pytest.fixture
def one(monkeypatch):
    """A function that judges the claim x <= 2 in a case a, of this value, and a case b."""
    words = {"reading": "x is at most 2", "quantity": "x", "grade": Grade.PROVED}
    claim = Claim(
        "P1.x", Authority.BOOK, "ours", rule=lambda labels: (-math.inf, 2.0), **words
    )
    monkeypatch.setattr(
        sys.modules["icl_book.claims.judge"], "find", {"P1.x": claim}.__getitem__
    )
    return lambda value: judge(
        claim, [Case("a", value, (value, value)), Case("b", 1.0, (1.0, 1.0))]
    ).record()


def test_runs_are_merged_into_one_verdict(one):
    """A case that has the same number in all runs counts once; a contradicting run contradicts."""
    good, bad = one(0.0), one(3.0)
    merged = merge([good, bad], ["n = 20", "n = 100"])
    assert [row["name"] for row in merged["cases"]] == ["a; n = 20", "b", "a; n = 100"]
    assert (good["verdict"], merged["verdict"]) == ("established", "refuted")
    assert merge([good], [""]) == good


def test_confirm_runs_the_plan_and_keeps_what_it_finds(
    one, tmp_path, monkeypatch, capsys
):
    chapters = {"exact_risk": {"settings": protocol.settings("exact_risk", SIZES, 7)}}
    of = {"date": "2026-01-01", "replications": 1, "sizes": SIZES, "chapters": chapters}
    asked = {}

    def schedule(runs, jobs, profile):
        asked.update((run.path, run) for run in runs)
        return 1

    def found(path):
        parameters = plan.defaults("exact_risk") | asked[path].overrides
        return {
            "parameters": parameters,
            "cards": [one(parameters["context_length"] / 40)],
        }

    def confirmed():
        """What is kept, and what is said."""
        assert protocol.confirm("2") == 0
        kept = json.loads((tmp_path / "results/registered/exact_risk.json").read_text())
        return kept, capsys.readouterr().out

    monkeypatch.setattr(protocol, "read", lambda: of)
    monkeypatch.setattr(protocol, "problems", list)
    monkeypatch.setattr(protocol, "schedule", schedule)
    monkeypatch.setattr(protocol, "collect", found)
    monkeypatch.setattr(record, "ROOT", tmp_path)
    monkeypatch.setattr(
        plan.Run,
        "path",
        property(lambda run: tmp_path / f"{run.name}.{run.digest}.ipynb"),
    )
    assert protocol.confirm("2") == 1 and not (tmp_path / "results").exists(), (
        "nothing ended"
    )
    for path in asked:
        path.touch()
    kept, said = confirmed()
    assert "1 verdicts, 1 not as in the book" in said
    assert {run.root_seed for run in asked.values()} == {protocol.seeds(of)[0]} and len(
        asked
    ) == 2
    (card,) = kept["cards"]
    assert kept["plan"] == protocol.digest(of) and card["verdict"] == "refuted"
    names = [row["name"] for row in card["cases"]]
    assert names == ["a; n = 20, sigma = 0.3", "b", "a; n = 100, sigma = 0.3"]

    run = next(iter(asked.values()))
    run.path.unlink()
    run.reason.write_text("cell 3: too large together")
    kept, said = confirmed()
    assert "exact_risk: no result: cell 3" in said
    assert kept["failed"] == ["cell 3: too large together"] and len(kept["runs"]) == 1


def git(*words):
    return program("git", *words).stdout.split()


@pytest.mark.history
def test_the_plan_was_committed_before_its_results_which_came_alone():
    runs = [
        json.loads(p.read_text())
        for p in sorted((ROOT / "results/registered").glob("*.json"))
    ]
    of = protocol.read()
    assert {run["plan"] for run in runs} == {protocol.digest(of)}
    assert [r["name"] for r in runs] == sorted(of["chapters"])
    assert {one["root_seed"] for run in runs for one in run["runs"]} == {
        protocol.seeds(of)[0]
    }
    history = git("log", "--format=%H", "--", "results/registered")
    planned = git("log", "-1", "--format=%H", "--", "book/protocol.yml")[0]
    assert len(history) == 1, "the first run is the only one"
    changed = git("show", "--format=", "--name-only", history[0])
    assert changed and all(name.startswith("results/registered/") for name in changed)
    assert planned in git("rev-list", history[0] + "~1")
