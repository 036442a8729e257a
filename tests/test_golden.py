"""Differences from the golden master are told from those of another processor."""

import json

import pytest

import golden
from icl_book.parameters import BadInput
from icl_book.runner import record

CASE = {"parameters": {"n": 3}, "permitted": ["-inf", 2.0]}
SAMPLED = CASE | {"kind": "sampled", "measured": 1.0, "interval": [0.5, 1.5]}
EXACT = CASE | {"kind": "exact", "measured": 1.0, "interval": [0.5, 1.5]}
CARD = {
    "id": "X",
    "grade": "sampled",
    "verdict": "holds",
    "readings": {"ours": "agrees"},
    "control_passed": True,
    "cases": [SAMPLED, EXACT],
    "control_cases": [],
    "other_readings": {"theirs": [SAMPLED]},
    "holding": {},
}


def compare(monkeypatch, tmp_path, change):
    """Return what the program returns for a card that was changed after it was frozen."""
    run = {"preset": "quick", "cards": [json.loads(json.dumps(CARD))]}
    master = tmp_path / "golden.json"
    master.write_text(json.dumps({"chapter": golden.cards(run)}))
    monkeypatch.setitem(golden.MASTERS, "quick", master)
    change(run["cards"][0])
    monkeypatch.setattr(record, "collect", lambda path: run)
    return golden.main(["chapter.ipynb"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda card: None, "1 cards as frozen"),
        (
            lambda card: card["cases"][0].update(measured=1.09, interval=[0.5, 1.56]),
            "2 numbers of 1 cards differ, and no verdicts; what is not listed moved by at most 9.0% of its "
            "interval (X), as on another processor",
        ),
        (
            lambda card: card["other_readings"]["theirs"][0].update(measured=1 - 1e-6),
            "1 numbers of 1 cards differ, and no verdicts; what is not listed moved by at most 0.0% of its "
            "interval (X), as on another processor",
        ),
    ],
)
def test_a_sampled_number_may_move_by_a_tenth_of_its_interval(
    monkeypatch, tmp_path, capsys, change, said
):
    assert compare(monkeypatch, tmp_path, change) == 0
    assert capsys.readouterr().out == f"{said}\n"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda card: card["cases"][0].update(measured=1.11), "X cases cases[0][0]: 1.11 for 1.0"),
        (
            lambda card: card["cases"][0].update(interval=[0.5, "inf"]),
            "X cases cases[0][1][1]: inf for 1.5",
        ),
        (lambda card: card["cases"][1].update(measured=1.01), "X cases cases[1][0]: 1.01 for 1.0"),
        (
            lambda card: card["cases"][0].update(permitted=["-inf", 2.01]),
            "X cases cases[0][2][1]: 2.01 for 2.0",
        ),
        (
            lambda card: card["cases"][0].update(parameters={"n": 4}),
            "X cases cases[0][3] n: 4 for 3",
        ),
        (lambda card: card.update(verdict="open"), "X verdict: open for holds"),
    ],
)
def test_any_other_change_is_a_difference(monkeypatch, tmp_path, capsys, change, said):
    assert compare(monkeypatch, tmp_path, change) == 1
    first, last = capsys.readouterr().out.splitlines()
    count = "1" if "verdict" in said else "no"
    assert first == said and last == f"1 numbers of 1 cards differ, and {count} verdicts"


def test_a_chapter_that_has_not_run_is_reported_in_one_line(monkeypatch, capsys):
    def collect(path):
        raise BadInput(f"{path}: No such file or directory")

    monkeypatch.setattr(record, "collect", collect)
    assert golden.main(["a.ipynb"]) == 1
    assert capsys.readouterr().err == "error: a.ipynb: No such file or directory\n"
