"""Quotations are verbatim, and a quotation with one word changed is not."""

import inspect
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from icl_book import provenance
from icl_book.claims import changes, quotes, registry
from icl_book.claims.quotes import GAP, WINDOW, fingerprints, words
from icl_book.provenance import ROOT
from icl_book.site import verify

QUOTED = [c for c in registry().values() if c.quote]


@pytest.mark.parametrize("claim", QUOTED, ids=lambda c: c.id)
def test_a_quote_is_verbatim_and_begins_on_its_line_and_one_changed_word_is_found(
    claim,
):
    assert quotes.problems(claim.quote, claim.place) == []
    own = words(claim.quote.split(GAP)[0])
    for changed in {0, len(own) // 2, len(own) - 1}:
        text = " ".join(
            "othello" if i == changed else word for i, word in enumerate(own)
        )
        assert quotes.problems(text, claim.place), (claim.id, own[changed])


@pytest.mark.parametrize(
    ("claim", "change"),
    [
        ("P1.T3.larger", lambda quote: quote.replace("'", "")),
        ("P1.T2.upper", lambda quote: quote.replace("w_{KQ}", "w^{KQ}")),
        ("P1.L1.form", lambda quote: quote.replace("M}^* =", "M} =")),
        ("P2.lip.f", lambda quote: quote.replace("n^{1.5}R", "n^{15}R")),
        ("P1.T4.minimizer", lambda quote: GAP.join(reversed(quote.split(GAP)))),
        (
            "P1.F3.relu",
            lambda quote: quote.replace(
                "with both isotropic and", "on both isotropic and"
            ),
        ),
    ],
)
def test_primes_signs_and_the_order_of_pieces_count(claim, change):
    claim = registry()[claim]
    changed = change(claim.quote)
    assert changed != claim.quote and quotes.problems(changed, claim.place)


def test_windows_from_different_places_are_no_quotation():
    """Of "a b c d" twice in a text, once before e and once after z, no "z a b c d e" is made."""
    text = "z a b c d f\ng a b c d e"
    windows = fingerprints(text)["windows"]
    assert set(fingerprints("z a b c d e")["windows"]) <= set(windows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quotes, "source", lambda _: fingerprints(text))
        assert quotes.problems("z a b c d f", "here:1") == []
        assert "in no one place" in quotes.problems("z a b c d e", "here:1")[0]
        assert "is on line 2" in quotes.problems("g a b c d e", "here:1")[0]
        assert quotes.problems(f"z a b c d {GAP} a b c d", "here:1") == []
        assert (
            "on line 1, not after the piece"
            in quotes.problems(f"g a b c {GAP} z a b c", "here:2")[0]
        )


def test_words_ignore_fonts_but_not_signs():
    assert words(r"$\mathbf{M}^* = w_{KQ}\boldsymbol{I}_d$") == words(
        "$M^* = w_{KQ} I_d$"
    )
    assert words("$a < b$") != words("$a > b$") and words("x + y") != words("x - y")
    assert (
        words(r"$L'^2$")
        == words(r"$L\prime^2$")
        == ["L", "'", "^", "2"]
        != words("$L^2$")
    )
    assert words("**bold** *slanted*") == ["bold", "*", "slanted", "*"] and words(
        "1.5"
    ) == ["1.5"]


def test_fingerprints_know_lines_and_hold_no_text():
    found = fingerprints("one two three four\nfive six seven eight nine")
    assert found["lines"] == [0, 4] and len(found["windows"]) == 6
    assert all(re.fullmatch("[0-9a-f]{10}", key) for key in found["windows"])


def test_few_words_unknown_words_unknown_sources_and_wrong_lines_are_named():
    assert (
        f"no one place of {WINDOW} words" in quotes.problems("too short", "talk:1")[0]
    )
    assert (
        "does not say"
        in quotes.problems("Why is the softmax so much better than all", "talk:1")[0]
    )
    with pytest.raises(ValueError, match="'elsewhere' is unknown"):
        quotes.problems("one two three four", "elsewhere:1")
    key, _, line = QUOTED[0].place.partition(":")
    assert (
        "is on line" in quotes.problems(QUOTED[0].quote, f"{key}:{int(line) + 100}")[0]
    )


def test_every_source_is_named_and_every_name_is_used():
    assert {p.stem for p in quotes.SOURCES.glob("*.json")} == set(quotes.NAMES)
    assert all(
        quotes.source(key)["reference"] and quotes.source(key)["how"]
        for key in quotes.NAMES
    )


# ---------------------------------------------------------------- what fails the book
def test_the_rules_are_those_of_the_last_changelog_entry():
    assert changes.problems() == []
    assert all(e["date"] and len(e["change"].split()) >= 2 for e in changes.changes())


PAPER, JUDGE, STATISTICS = (
    "book/claims/paper1.yml",
    "book/icl_book/claims/judge.py",
    "icl/statistics.py",
)


@pytest.mark.parametrize(
    ("path", "old", "new", "counts"),
    [
        (
            PAPER,
            "{at_least: power / dim, tolerance: 0.01}",
            "{at_least: power / dim}",
            True,
        ),
        (PAPER, "rule: {at_least: 0.2}", "rule: {at_least: 0.2}  # far", False),
        (PAPER, "resolution: 0.01", "resolution: 0.02", True),
        (PAPER, "quantity: sampled error", "quantity: error", True),
        (PAPER, "late: true", "late: false", True),
        (PAPER, "reading: $w^*$ grows with $L$", "reading: $w^*$ rises with $L$", True),
        (JUDGE, "high < first", "high <= first", True),
        (JUDGE, "def judge(", "# a comment\n\n\ndef judge(", False),
        (JUDGE, "Judge one case by a rule", "Judge a case by a rule", False),
        (STATISTICS, "LARGEST_MISS = 1e-2", "LARGEST_MISS = 2e-2", True),
    ],
)
def test_what_can_change_a_verdict_changes_the_digest_and_nothing_else_does(
    tmp_path, path, old, new, counts
):
    for name in (PAPER, "book/claims/paper2.yml", *changes.CODE):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    text = (tmp_path / path).read_text()
    assert old in text
    (tmp_path / path).write_text(text.replace(old, new, 1))
    assert (changes.digest(tmp_path) != changes.changes()[-1]["rules"]) == counts


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_every_python_writes_code_in_the_same_way(version):
    """No package is needed."""
    program = (
        f"import ast, re, sys\n_VARIES = re.compile({provenance._VARIES.pattern!r})\n"
    )
    program += inspect.getsource(provenance.bare)
    program += "for path in sys.argv[1:]: print(bare(open(path).read()))"
    bare = [provenance.bare((ROOT / path).read_text()) for path in changes.CODE]
    found = [
        *Path.home().glob(f".pyenv/versions/{version}.*/bin/python"),
        shutil.which(f"python{version}"),
    ]
    for interpreter in filter(None, found):
        command = [interpreter, "-c", program, *changes.CODE]
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:  # a shim may stand for a version that is not there
            assert done.stdout.splitlines() == bare
            return
    pytest.skip(f"no Python {version} here")


def test_a_quote_that_is_not_verbatim_fails_the_book():
    wrong = replace(QUOTED[0], quote="nobody has ever written these very words")
    (problem,) = verify.rules({wrong.id: wrong})
    assert (
        problem.startswith(f"{wrong.where}: claim {wrong.id}: ")
        and "does not say" in problem
    )
