"""Numbers of the front page, computed a second time by scripts that import nothing of the package."""

import ast
import json
import re
import sys

import pytest

from icl_book.provenance import ROOT
from icl_book.site import second
from icl_book.site.audit import JUDGED, split
from icl_book.site.second import read_lines
from programs import program

FOLDER = ROOT / "book" / "checks"
SHARED = {"many_tokens", "azimuth", "earth"}
COUNTS = FOLDER / "counts.py"
SCRIPTS = sorted({p.stem for p in FOLDER.glob("*.py")} - SHARED - {COUNTS.stem})
GOLDEN = json.loads((ROOT / "tests" / "data" / "golden.json").read_text())
CARDS = {claim: card for own in GOLDEN.values() for claim, card in own.items()}


def of_card(line, factor=1.0):
    kinds = CARDS[line.claim]["cases"]
    own, of_control = (
        [case for case in kinds.get(kind, []) if line.labels.items() <= case[3].items()]
        for kind in ("cases", "control_cases")
    )
    (case,) = own or of_control
    return factor * case[0]


def apart(text, factor=1.0):
    return [
        line for line in read_lines(text) if abs(line.number - of_card(line, factor)) > line.error
    ]


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_second_computation_agrees_with_the_card(name):
    """Sampled numbers have fixed seeds and four standard errors: a false alarm in 16,000 for each."""
    done = program(sys.executable, "-E", "-s", FOLDER / f"{name}.py")
    assert done.returncode == 0 and not done.stderr, done.stderr
    found = list(read_lines(done.stdout))
    printed = list(read_lines((FOLDER / f"{name}.txt").read_text()))  # in the book
    assert [(p.claim, p.labels) for p in printed] == [(f.claim, f.labels) for f in found]
    for before, now in zip(printed, found, strict=True):
        near = abs(before.number - now.number) <= now.error / 4
        assert near, "write it anew: python NAME.py >NAME.txt"
    assert apart(done.stdout) == []
    # a number that is zero by an identity is zero in units of what it compares
    sized = [line for line in found if line.number != 0]
    assert sized and all(line.error <= 0.08 * abs(line.number) for line in sized)
    assert len(apart(done.stdout, factor=1.15)) == len(sized), "it could not fail"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda p: p.stem)
def test_a_second_computation_imports_numpy_and_scipy_only(path):
    nodes = list(ast.walk(ast.parse(path.read_text())))
    named = [a.name for n in nodes if isinstance(n, ast.Import) for a in n.names]
    named += [n.module for n in nodes if isinstance(n, ast.ImportFrom)]
    allowed = {"numpy", "scipy", "pathlib", "json", "csv", "sys"} | SHARED
    assert {name.partition(".")[0] for name in named} <= allowed


def test_every_card_with_a_number_on_the_first_pages_is_computed_twice():
    """The build, which knows the names of cases, checks each number."""
    pages = [(ROOT / "book" / f"{name}.md").read_text() for name in second.PAGES]
    named = [split(link[2]) for link in JUDGED.findall(" ".join(pages))]
    wanted = {claim for claim, *case in named if case}
    texts = [(FOLDER / f"{name}.txt").read_text() for name in SCRIPTS]
    assert wanted <= {line.claim for text in texts for line in read_lines(text)}


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("P1.a | dim=5 of='median' | 1.81 | 0.02", []),
        ("P1.a | dim=5 of='median' | 0.9 | 0.02", ["1.8 on the card, 0.9 by a script"]),
        ("P1.a | dim=5 of='median' | nan | 0.02", ["1.8 on the card, nan by a script"]),
        ("P1.a | dim=3 of='median' | 1.8 | 0.02", ["no script of book/checks computes"]),
        ("P1.b | dim=5 of='median' | 1.8 | 0.02", ["no script of book/checks computes"]),
    ],
)
def test_a_number_of_a_page_is_compared_when_the_book_is_built(printed, said):
    """A factor of two on a page, which a one-sided rule would not notice, stops the build."""
    case = {"name": "d = 5", "measured": 1.8, "parameters": {"dim": 5, "of": "median", "n": 20}}
    card = {"cases": [case], "control_cases": [], "other_readings": {}, "holding": {}}
    page = "[1.5](<judged:P1.a|d = 5|.1f>) or ([holds](judged:P1.a))"
    found = second.find_unconfirmed(page, {"P1.a": card}, read_lines(printed))
    assert len(found) == len(said)
    for problem, part in zip(found, said, strict=True):
        assert problem.startswith("judged:P1.a|d = 5|.1f: ") and part in problem


def claim(verdict="holds", **changed):
    """Return a statement of the authors as the published file has it."""
    return {
        "paper": "P1",
        "authority": "authors' text",
        "implied_by": [],
        "grade": "sampled",
        "cannot_fail": "",
        "verdict": verdict,
        "late": [],
        "readings": {"as we read it": "agrees"},
    } | changed


def test_verdicts_are_counted_from_the_published_files(tmp_path):
    other = {"readings": {"ours": "agrees", "another": "contradicts"}}
    claims = [
        claim(),
        claim(authority="rebuttal"),
        claim(authority="this book"),
        claim(grade="identity"),
        claim(cannot_fail="by its definition"),
        claim(implied_by=["P1.a"]),
        claim("not testable", grade=None),
        claim("depends on the reading", late=["another"], **other),
        claim(
            "depends on the reading",
            authority="authors' talk, read by OCR",
            readings={"ours": "contradicts", "another": "agrees"},
        ),
    ]
    path = tmp_path / "audit.json"
    path.write_text(json.dumps({"claims": claims}))
    done = program(sys.executable, "-E", "-s", COUNTS, path)
    assert done.returncode == 0 and not done.stderr, done.stderr
    found = {
        line.labels["what"]: line.number
        for line in read_lines(done.stdout)
        if line.labels["where"] == "authors of paper 1"
    }
    assert found == {
        "all": 8,
        "implied by others": 1,
        "without a verdict": 1,
        "cannot fail": 2,
        "tested": 4,
        "holds": 2,
        "depends on the reading": 2,
        "main reading agrees": 3,
        "doubted and read by OCR": 1,
        "readings that fail": 2,
        "readings that fail and are late": 1,
    }


def test_the_counts_in_the_book_are_those_of_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"verdicts:begin -->(.*?)<!-- verdicts:end", readme, re.S)
    numbers = set(re.findall(r"\d+", block))
    for line in read_lines(COUNTS.with_suffix(".txt").read_text()):
        if line.labels["where"] == "authors of paper 1" and line.labels["what"] in (
            "tested",
            "holds",
            "depends on the reading",
        ):
            assert str(int(line.number)) in numbers, line
