"""Quotations are verbatim, and a quotation with one word changed is not."""

import ast
import shutil

import pytest

from icl_book.claims import changes, quotes, registry
from icl_book.claims.quotes import GAP, WINDOW, fingerprints, words
from icl_book.provenance import ROOT
from icl_book.site import verify

QUOTED = [c for c in registry().values() if c.quote]


@pytest.mark.parametrize("claim", QUOTED, ids=lambda c: c.id)
def test_quote_is_verbatim_and_begins_on_its_line(claim):
    assert quotes.problems(claim.quote, claim.place) == []


@pytest.mark.parametrize("claim", QUOTED, ids=lambda c: c.id)
def test_a_quote_with_one_word_changed_is_found(claim):
    pieces = claim.quote.split(GAP)
    own = words(pieces[0])
    for changed in {0, len(own) // 2, len(own) - 1}:
        text = " ".join("othello" if i == changed else word for i, word in enumerate(own))
        assert quotes.problems(text, claim.place), (claim.id, own[changed])


def test_words_ignore_fonts_and_case_but_not_signs():
    assert words(r"$\mathbf{M}^* = w_{KQ}\boldsymbol{I}_d$") == words("$M^* = w_{KQ} I_d$")
    assert words("$a < b$") != words("$a > b$") and words("x + y") != words("x - y")


def test_fingerprints_know_lines_and_hold_no_text():
    text = "one two three four\nfive six seven eight nine"
    found = fingerprints(text)
    assert sorted(line for lines in found.values() for line in lines) == [1, 1, 1, 1, 2, 2]
    assert all(len(key) == 10 and set(key) <= set("0123456789abcdef") for key in found)


@pytest.mark.parametrize(
    ("quote", "place", "message"),
    [
        ("too short", "talk:1", f"fewer than {WINDOW} words"),
        ("Why is the softmax so much better than everything", "talk:1", "does not say"),
    ],
)
def test_problems_of_a_quote(quote, place, message):
    assert message in quotes.problems(quote, place)[0]


def test_unknown_source_and_wrong_line():
    with pytest.raises(ValueError, match="'elsewhere' is unknown"):
        quotes.problems("one two three four", "elsewhere:1")
    claim = QUOTED[0]
    key, _, line = claim.place.partition(":")
    assert "is on line" in quotes.problems(claim.quote, f"{key}:{int(line) + 100}")[0]


def test_every_source_is_named_and_every_name_is_used():
    assert {p.stem for p in quotes.SOURCES.glob("*.json")} == set(quotes.NAMES)
    for key in quotes.NAMES:
        record = quotes.source(key)
        assert record["reference"] and record["how"] and len(record["windows"]) > 10


# ---------------------------------------------------------------- what fails the book
def test_the_rules_are_those_of_the_last_changelog_entry():
    assert changes.problems() == []
    assert all(e["date"] and len(e["change"].split()) >= 2 for e in changes.changes())


def test_a_changed_rule_changes_the_digest_and_a_changed_comment_does_not(tmp_path):
    shutil.copytree(changes.HERE, tmp_path / "claims")
    folder, before = tmp_path / "claims", changes.digest()
    assert changes.digest(folder) == before
    topic = folder / "paper1" / "window.py"
    text = topic.read_text()
    topic.write_text("# a comment\n" + text)
    assert changes.digest(folder) == before
    numbers = [
        n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant) and isinstance(n.value, float)
    ]
    assert numbers
    line = text.splitlines(keepends=True)
    node = numbers[-1]
    row = line[node.lineno - 1]
    line[node.lineno - 1] = row[: node.col_offset] + "0.123456" + row[node.end_col_offset :]
    topic.write_text("".join(line))
    assert changes.digest(folder) != before


def test_an_error_bar_typed_by_hand_is_found():
    for source in (
        'judge("X", exact("a", x, 0.01))',
        "exact('a', x, error=1e-3)",
        "extrapolated('a', x, change=2)",
    ):
        assert "typed by hand" in verify.literal_errors("n", source)[0]
    for source in ("exact('a', x, spread)", "exact('a', 3.0)", "exact('a', x, 0.0)", "found('a', x)"):
        assert verify.literal_errors("n", source) == []


def test_a_quote_that_is_not_verbatim_fails_the_book():
    import dataclasses

    wrong = dataclasses.replace(QUOTED[0], quote="nobody has ever written these very words")
    problems = verify.rules({wrong.id: wrong}, [])
    assert any("the source does not say" in p for p in problems)


def test_notebooks_have_no_error_bar_typed_by_hand():
    for path in (ROOT / "notebooks").glob("*.py"):
        assert verify.literal_errors(path.stem, path.read_text(encoding="utf-8")) == []
