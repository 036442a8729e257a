"""The book's own tools: the verifier, the generated text, the numbers in prose. Nothing is built here."""

import ast
import dataclasses
import json
import re

import jsonschema
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from icl_book import claims
from icl_book.claims import (
    Alternative,
    Authority,
    Case,
    Choice,
    Claim,
    Grade,
    Severity,
    Verdict,
    cases,
    changes,
    judge,
)
from icl_book.claims.card import macros
from icl_book.provenance import ROOT
from icl_book.site import audit, extension, stage, verify

# ---------------------------------------------------------------- the verifier, on small pages

GOOD = """<article><h1>T</h1><p>Price <span class="math">\\(x$\\)</span>, <code>$HOME</code></p>
<figure id="f"><img src="../_images/a1.svg" alt="A curve that falls">
<figcaption><p><span class="caption-number">Fig. 1 </span>
<span class="caption-text">Falling, exact values.</span></p></figcaption></figure>
<img class="icl-frame" alt="A frame" src="data:image/svg+xml;base64,x"></article>
<script src="../_static/a.js"></script><link rel="canonical" href="https://example.org/">"""


def test_a_good_page_has_no_problem():
    assert verify.page("p", GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('alt="A curve that falls"', "", "p: image ../_images/a1.svg has no alt text"),
        ('alt="A curve that falls"', 'alt=" "', "has no alt text"),
        ('alt="A curve that falls"', 'alt="../_images/a1.svg"', "has no alt text"),
        ("A curve that falls", "_images/6f0c2f8e9d1b4a5c6f0c2f8e9d1b4a5c_3_0.svg", "has no alt text"),
        ('<span class="caption-number">Fig. 1 </span>', "", "figure f has no number or no caption"),
        ("Falling, exact values.", "", "figure f has no number or no caption"),
        ("</article>", '<img src="b.png" alt="A plot"></article>', "image b.png stands outside a figure"),
        ("<p>Price", "<p>costs $5", "raw markup in the text: ...T costs $5"),
        ("<p>Price", "<p>{glue:text}`x`", "raw markup"),
        ("<p>Price", '<p><span class="problematic">x</span>', "shows an error message"),
        ("<p>Price", '<div class="output traceback">ValueError</div><p>', "shows an error message"),
        ("../_static/a.js", "https://cdn.example/a.js", "loads https://cdn.example/a.js from the network"),
        ("canonical", "stylesheet", "loads https://example.org/ from the network"),
    ],
)
def test_verifier_sees(old, new, message):
    assert old in GOOD
    problems = verify.page("p", GOOD.replace(old, new))
    assert any(message in p for p in problems), problems


def test_verifier_sees_a_page_s_problem_and_a_missing_card(tmp_path):
    (tmp_path / "a.html").write_text(GOOD.replace("<p>Price", "<p>costs $5"))
    run = {"name": "n", "cards": [{"id": "P1.x"}, {"id": "P1.y"}]}
    toc = {"root": "a", "parts": [{"chapters": [{"file": "a", "sections": [{"file": "notebooks/n"}]}]}]}
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks/n.html").write_text('<div class="icl-card" id="claim-P1.x">')
    markup, card = verify.book(tmp_path, toc, [run])
    assert markup.startswith("a: raw markup") and card == "notebooks/n: card of claim P1.y is not on the page"


TALK = {"authority": Authority.TALK, "source": "slides", "quote": "all $|a| \\le 1$ here", "place": "talk:7"}
OTHER = (Choice("a grid", (Alternative("another grid", lambda p: (0.0, 0.5)),)),)


def registry():
    rule = {"rule": lambda p: (0.0, 1.0), "grade": Grade.PROVED}
    return {
        c.id: c
        for c in (
            Claim("P1.a", **TALK, quantity="a", control="far", **rule),
            Claim(
                "P1.b",
                **TALK,
                reading="$|b| \\le 1$",
                quantity="b",
                expected=Verdict.CORRECTED,
                severity=Severity.CONSTANT,
                depends_on=OTHER,
                corrected="$b \\le 9$",
                corrected_rule=lambda p: (0.0, 9.0),
                **rule,
            ),
            Claim("P1.c", Authority.BOOK, "this book", reading="ours", quantity="c", **rule),
            Claim("P1.d", **TALK, quantity="d", implied_by=("P1.a",), **rule),
            Claim(
                "P2.c",
                **TALK | {"authority": Authority.SUMMARY},
                expected=Verdict.NOT_TESTABLE,
                why_not="it is lost",
            ),
        )
    }


def exact(name, value):
    return Case(name, value, (value, value))


def sampled(name, values):
    frame = pd.DataFrame({"value": values, "seed": range(len(values))})
    return cases(frame, samples="seed", name=name)[0]


def run_of(*cards, name="n"):
    return {"name": name, "cards": [c.record() for c in cards]}


def registered_run(*cards):
    one = {"seconds": 60.0, "machine": {"cpu": "A", "cores": 2}}
    return run_of(*cards) | {
        "plan": "abcdefghij",
        "date": "2026-01-01",
        "rules": "new",
        "runs": [one, one],
        "failed": [],
    }


def card(name, value, control=50.0):
    both = [exact("one", value), sampled("two", [value - 0.1, value, value + 0.1] * 20)]
    return judge(registry()[name], both, [exact("far", control)] if registry()[name].control else ())


def test_every_claim_is_judged_once():
    good = [card("P1.a", 0.5), card("P1.b", 2.0), card("P1.c", 0.5), card("P1.d", 0.5)]
    assert verify.cards([run_of(*good)], registry()) == []
    assert verify.cards([run_of(*good[1:])], registry()) == ["claim P1.a: no notebook judges it"]
    assert "judged already in notebooks/n" in verify.cards([run_of(*good), run_of(good[0])], registry())[0]
    strange = judge(dataclasses.replace(registry()["P1.c"], id="P9.z"), exact("a", 0.5))
    assert verify.cards([run_of(*good, strange)], registry()) == [
        "notebooks/n: claim P9.z: is not in the registry"
    ]


# ---------------------------------------------------------------- generated text


def found(again=(), repeated=(), log=()):
    cards = [card("P1.a", 0.5), card("P1.b", 2.0), card("P1.c", 0.5), card("P1.d", 0.5)]
    repeated = [{"claims": claims} if "claims" not in claims else claims for claims in repeated]
    again, repeated = ([{"rules": "new"} | run for run in runs] for runs in (again, repeated))
    return audit.entries(registry(), [run_of(*cards)], again, repeated, log)


def written(part, entries=None, again=(), repeated=()):
    """A generated part of a page."""
    context = audit.context(found(again, repeated) if entries is None else entries, again, repeated)
    module = stage.pages(**context, rooms={}, titles={"n": "A chapter"})
    text = str(getattr(module, part)())
    return text if part == "audit" else re.sub(r"(?<=\S)\n(?=[\w<])", " ", text)


def test_audit_says_everything():
    text = written("audit", found([run_of(card("P1.b", 0.2))]))
    for part in (
        "### [A chapter](../notebooks/n.ipynb)",
        '<blockquote class="icl-quote"><p>all <span',
        "authors' talk, read by OCR: ITA slides, line 7</footer>".replace("'", "&#39;"),
        "We judge: ",
        "Corrected: ",
        "What is wrong is the constant.",
        "Not tested: it is lost",
        "This book states: ours",
        "Contradicted in 2 of 2 readings.",
        "another grid: 0 of 2 agree, 2 contradict.",
        'Follows from <a href="#audit-P1.a">P1.a</a>.',
        "We would have noticed an error of",
        "Negative control: far: rejected, as it must be",
        '<a href="../notebooks/n.html#claim-P1.b">card</a>',
        'id="audit-P2.c"',
        'data-authority="machine-written summary"',
        'data-chapter="A chapter"',
        "In the registered run: verdict: false as printed, corrected here, holds there; as we read",
        "another grid: contradicts here, agrees there (2 agree).",
    ):
        assert part in text, part
    assert text.count("In the registered run") == 1
    assert "\n\n" not in text.partition("<article")[2].partition("</article>")[0], (
        "a blank line ends raw HTML"
    )


SAME = {
    "verdict": "false as printed, corrected",
    "readings": dict.fromkeys(("as we read it", "another grid"), "contradicts"),
}
OTHER_READING = SAME | {"readings": SAME["readings"] | {"another grid": "agrees"}}


def test_an_entry_says_how_often_every_reading_came_again():
    """A reading that changed sides is named, though the verdict is the same."""
    text = written("audit", found(repeated=[{"P1.b": SAME}, {"P1.b": OTHER_READING}]))
    assert text.count("the same in every reading in 1 of 2 replications. What changed: another grid.") == 1
    assert text.count("replications") == 1  # the others have none
    text = written("audit", found(repeated=[{"P1.b": SAME}]))
    assert "in 1 of 1 replications" in text and "What changed" not in text


def test_what_only_confirms_is_folded_and_what_differs_is_not():
    again = [run_of(card("P1.a", 0.4), card("P1.b", 0.2))]
    holds = {"verdict": "holds", "readings": {"as we read it": "agrees"}}
    repeated = [{"P1.a": holds, "P1.b": reading} for reading in (SAME, OTHER_READING)]
    page = BeautifulSoup(written("audit", found(again, repeated)), "html.parser")
    for name, differs in (("P1.a", False), ("P1.b", True)):
        entry = page.find(id=f"audit-{name}")
        fold = entry.details.extract()
        assert fold.summary.get_text().startswith("Proved here, and checked at 2 settings")
        for words in ("In the registered run", "replications"):
            assert (words in entry.get_text(), words in fold.get_text()) == (differs, not differs)


def test_a_card_counts_the_readings_that_differ_in_the_registered_run_if_they_are_many():
    many = {f"reading {i}": ["agrees", "contradicts"] for i in range(4)}
    run = {"cases": [{"outcome": "agrees"}], "control_passed": True}
    entry = {"registered": run, "earlier": False, "record": {"readings": many}, "repeated": ()}
    shown = str(macros().again(entry | {"differences": many}, True))
    assert "In the registered run: 4 of 4 readings differ (1 agree)." in shown
    worse = many | {"verdict": ["holds", "false as printed"]}
    shown = str(macros().again(entry | {"differences": worse}, True))
    assert "the verdict is false as printed, 4 of 4 readings differ" in shown
    assert not macros().again(entry | {"differences": many}, False)


def test_what_was_judged_before_a_change_says_so():
    log = [{"rules": "old"}, {"rules": "newer", "claims": ["P1.b"]}]
    assert changes.since("old", log) == changes.since("unknown", log) == {"P1.b"}
    assert changes.since("newer", log) == set()
    again = [registered_run(card("P1.a", 0.2), card("P1.b", 0.2)) | {"rules": "old"}]
    everything = found(again, [{"rules": "old", "claims": {"P1.b": SAME}}], log)
    text = written("audit", everything)
    assert text.count("registered run, by an earlier rule or measurement: ") == 1
    assert text.count("In the registered run: ") == 1 and "replications" not in text
    table = written("registered_run", everything, again)
    assert "1 statements whose rule" in table and table.count("by an earlier rule or measurement |") == 1


def test_chances_are_those_of_the_intervals():
    again = [registered_run(card("P1.a", 0.4))]
    miss = sampled("x", range(60)).miss
    text = written("chance", again=again)
    assert f"| this book | 6 | 0 | 0 | 5 | {miss:.2g} | {5 * miss:.2g} |" in text
    assert f"| the registered run | 2 | 0 | 0 | 1 | {miss:.2g} | {miss:.2g} |" in text


def test_totals_are_by_authority_and_count_roots():
    rows = dict(re.findall(r">([a-z ,]+)</span> \| (.*) \|", written("counts_authors")))
    assert rows == {"holds": "1", "false as printed, corrected": "1"}
    assert "| follow from these | 1 |" in written("counts_authors")
    assert ">not testable</span> | 1 |" in written("counts_others")
    assert ">established</span> | 1 |" in written("counts_book")


@pytest.mark.parametrize("change", [{"grade": Grade.IDENTITY}, {"cannot_fail": "it is a definition"}])
def test_what_cannot_fail_is_counted_apart(change):
    claim = dataclasses.replace(registry()["P1.a"], **change)
    entries = audit.entries(registry() | {"P1.a": claim}, [run_of(card("P1.a", 0.5), card("P1.b", 2.0))])
    total = written("counts_authors", entries)
    assert "identities, and what cannot fail | 1 |" in total and ">holds<" not in total
    block = written("readme", entries)
    assert (
        "P1, statements of its authors: 1 tested, *false as printed, corrected* 1 (1 of the verdicts other "
        "than *holds* rest on slides read by OCR); 1 are identities or cannot" in block
    )
    assert "cannot fail" not in written("counts_authors") + written("counts_others")


def test_the_registered_run_shows_what_differs():
    again = [registered_run(card("P1.a", 0.4), card("P1.b", 0.2))]
    text = written("registered_run", again=again)
    assert "Plan `abcdefgh` was run on 2026-01-01, 2 runs of 1 chapters on A (2 cores), 2 minutes" in text
    assert "2 statements whose rule and measurement have not changed since were judged in it" in text
    assert "1 are the same in every reading, 1 differ in the verdict, 0 in a reading only" in text
    assert "our own reading: 4 agree; in this book 2 agree, 2 contradict" in text
    assert "| 2 agree |" in text and "P1.a<" not in text and "control" not in text
    weak = written("registered_run", again=[registered_run(card("P1.a", 0.4, control=0.5))])
    assert 'decides nothing: <a href="#audit-P1.a">' in weak
    page = written("audit", found([registered_run(card("P1.a", 0.4, control=0.5), card("P1.b", 2.0))]))
    assert page.count("so that run decides nothing") == 1
    assert "has not been run yet" in written("registered_run")


def test_a_reading_that_changed_sides_is_not_the_same():
    """The verdict stays, one of its readings does not."""
    run = registered_run(card("P1.b", 2.0))
    run["cards"][0]["readings"]["another grid"] = "agrees"
    text = written("registered_run", again=[run])
    assert "0 are the same in every reading, 0 differ in the verdict, 1 in a reading only" in text
    assert "| another grid: contradicts here, agrees there |" in text
    page = written("audit", found([run]))
    assert "registered run: another grid: contradicts here, agrees there (2 contradict)." in page
    assert "the same" not in page


def test_runs_before_the_plan_are_listed_back_to_the_first():
    text = written("earlier_runs")
    assert text.count("| 2026-11-2") == 9 and "| confirmatory, `70d1920` | `07e32f5d` | 131 |" in text
    assert "P2.lip.sharp refuted;" in text and "P1.T4.scale open in 5 of 5;" in text
    assert "| confirmatory and replications, `a7786da` | `c3fe6a64` | 140 and 3 × 28 |" in text


def test_replications_name_what_changed():
    run = {"seed": 6, "rules": "abcdefghijk", "claims": {"P1.a": SAME, "P1.b": SAME}}
    run["changed"] = {"P1.b": {"at $|x| = 1$": ["agrees", None]}}
    assert "| 2 | P1.b: at $\\|x\\| = 1$: agrees here, not judged there |" in written(
        "replication_runs", repeated=[run]
    )


SCHEMA = json.loads((ROOT / "book/_static/audit.schema.json").read_text())


def test_audit_json_follows_its_schema():
    document = json.loads(audit.as_json(found(), "abc"))
    jsonschema.validate(document, SCHEMA)
    assert [c["id"] for c in document["claims"]] == list(registry()) and document["claims"][0][
        "chapter"
    ] == "n"
    document["claims"][0]["verdict"] = "true"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, SCHEMA)


def test_the_verdict_as_a_whole_counts_independent_statements_and_what_stayed():
    again = [registered_run(card("P1.a", 0.4), card("P1.b", 0.2))]
    runs = [{"seed": 6, "rules": "abc", "claims": {"P1.a": SAME, "P1.b": SAME}, "changed": {"P1.b": {}}}]
    context = audit.context(found(again), again, runs)
    text = " ".join(str(stage.pages(**context, rooms={}).whole()).split())
    assert (
        "Of 2 independent statements by the authors of paper 1 that data could contradict, 1 hold, " in text
    )
    assert (
        "0 are true in some fair readings and false in others, and 1 is false as printed "
        "(of these 1, 1 rest on slides read by OCR)." in text
    )
    assert "that was fixed before its run, 1 of 2 verdicts stayed, 1 of them in every reading." in text
    assert "once more with fresh random numbers: 1 of 2 times they stayed in every reading." in text


def test_the_readme_says_what_is_corrected():
    text = written("readme")
    assert (
        "- P1, statements of its authors: 2 tested, *holds* 1, *false as printed, corrected* 1 (1 of" in text
    )
    assert "| slides (constant) | all" in text
    assert "$\\vert a\\vert  \\le 1$ here | $b \\le 9$ |" in text


def test_readme_is_in_step_with_the_registry():
    page = (ROOT / "README.md").read_text()
    block = page.partition("<!-- verdicts:begin -->\n")[2].partition("<!-- verdicts:end -->")[0]
    assert block and len(block.splitlines()) <= 17, "README.md has no verdict block, or a long one"
    assert block == written("readme", audit.entries(claims.registry(), [])), (
        "README.md is out of step; run: make book && python -m icl_book readme"
    )


def test_readme_shows_a_picture_that_is_there():
    shown = re.findall(r"!\[([^]]+)\]\(([^)]+)\)", (ROOT / "README.md").read_text())
    assert shown and all(len(alt.split()) > 3 and "<svg" in (ROOT / path).read_text() for alt, path in shown)


@pytest.mark.parametrize(
    ("text", "rst"),
    [
        ("Size ``a|b`` of |x|.", "Size ``a|b`` of \\|x\\|."),
        ("It *contradicts* it; *shape: (*shape, d)", "It *contradicts* it; \\*shape: (\\*shape, d)"),
        ("Rate $w^{*}$ here.", "Rate :math:`w^{*}` here."),
        ("With\n\n    a = |b|\n\nand", "With\n\n::\n\n    a = |b|\n\nand"),
        (">>> f(*x)  # $", ">>> f(*x)  # $"),
        ("Args:\n    x: a|b\n\n        more", "Args:\n    x: a\\|b\n\n        more"),
    ],
)
def test_docstrings_become_restructured_text(text, rst):
    lines = text.split("\n")
    extension.docstring(None, "function", "f", None, None, lines)
    assert "\n".join(lines) == rst


# ---------------------------------------------------------------- numbers in prose

#: Numbers that prose may quote, each with its source.
QUOTED = {"3.11": "the oldest Python supported, pyproject.toml"}
QUOTED |= dict.fromkeys(("0.240", "0.308", "0.2404", "0.3081"), "P2.opt.range and its theorem name them")
#: Three or more significant digits with a decimal point; an arXiv number (2402.11639) is no number.
RESULT = re.compile(r"(?<![\w.])(?!\d{4}\.\d{5}(?!\d))\d*\.\d+(?:[eE][+-]?\d+)?(?!\.?\w)")


def typed_results(markdown):
    """Decimal results typed by hand in prose or mathematics."""
    text = re.sub(r"(?s)```.*?```|~~~.*?~~~", "", markdown)
    text = re.sub(r"\{[\w:.-]+\}`[^`]*`|`[^`]*`|https?://\S+", "", text)
    significant = (
        m[0] for m in RESULT.finditer(text) if len(re.sub(r"[eE].*|\.", "", m[0]).lstrip("0")) >= 3
    )
    return [number for number in significant if number not in QUOTED]


def prose():
    for path in sorted((ROOT / "book").glob("*.md")):
        yield path.name, path.read_text()
    for path in sorted((ROOT / "notebooks").glob("*.py")):
        cells = re.split(r"(?m)^(?=# %%)", path.read_text())
        yield (
            path.name,
            "\n".join(
                line[1:] for c in cells if c.startswith("# %% [markdown]") for line in c.splitlines()[1:]
            ),
        )


@pytest.mark.parametrize(("name", "markdown"), [pytest.param(*p, id=p[0]) for p in prose()])
def test_no_result_is_typed_by_hand(name, markdown):
    typed = typed_results(markdown)
    assert not typed, f"{name}: {typed}: glue these from code, or list them in QUOTED"


def test_typed_results_are_found():
    assert typed_results("slope 0.333, $w=4.16$, 1.25e-3, .0098") == ["0.333", "4.16", "1.25e-3"]
    assert typed_results("d = 0.5, arXiv:2402.11639, {glue:text}`s:.345f`, `0.123`, Python 3.11, 1.0.4") == []


def lost(source):
    """What a notebook's cells compute to be shown and do not show: only a cell's last expression is."""
    found = []
    for cell in re.split(r"(?m)^(?=# %%)", source):
        if not cell.startswith("# %% [markdown]"):
            for line in ast.parse(cell).body[:-1]:
                if isinstance(line, ast.Expr) and ast.unparse(line).startswith(SHOWN):
                    found.append(ast.unparse(line))
    return found


SHOWN = ("plots.table(", "judge(", "interactive(")


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.py")), ids=lambda path: path.stem)
def test_what_a_cell_is_to_show_is_its_last_expression(path):
    assert lost(path.read_text()) == []


def test_a_lost_table_is_found():
    assert lost("# %%\nplots.table(a)\nb = 1\n# %%\nb = 2\nplots.table(c)\n") == ["plots.table(a)"]


def test_a_formula_keeps_its_brackets_and_punctuation():
    formula = '<span class="math notranslate nohighlight">\\(n=2\\)</span>'
    context = {"body": f"at ({formula}), and {formula} or", "script_files": []}
    extension.page(None, "p", "page.html", context, None)
    whole = '<span class="icl-whole">'
    assert context["body"] == f"at {whole}({formula}),</span> and {whole}{formula}</span> or"


def test_the_api_lists_every_public_name_the_most_wanted_first():
    rooms = stage.rooms(ROOT)
    assert [name for name in stage.WANTED if not any(name in room["names"] for room in rooms.values())] == []
    assert rooms["risk"]["kinds"][0][0] == "function" and ("class", "Risk") in rooms["risk"]["kinds"]


def test_types_of_arrays_are_named_and_not_written_out():
    written = "(a: ~numpy.ndarray[tuple[~typing.Any, ...], ~numpy.dtype[~numpy.float64]], b: int)"
    assert extension.signature(None, "function", "f", None, None, written, None) == (
        "(a: NDArray[float64], b: int)",
        None,
    )


def test_a_verdict_that_rests_on_ocr_says_so_in_its_line():
    false, holds = (card(name, value).data for name, value in (("P1.b", 2.0), ("P1.a", 0.5)))
    text = {r["id"]: str(macros().head(r)) for r in (false, holds)}
    assert "slides, read by OCR" in text["P1.b"] and "OCR" not in text["P1.a"]
    assert str(macros().head(false | {"source": "slides by OCR"})).count("OCR") == 1
