"""The tools of the book: the verifier, generated text, numbers in prose. No book is built here."""

import ast
import csv
import dataclasses
import importlib
import inspect
import json
import pkgutil
import re
from types import SimpleNamespace

import jsonschema
import jupytext
import numpy as np
import pandas as pd
import pytest
import yaml
from bs4 import BeautifulSoup
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser
from docutils.utils import new_document
from pybtex.database import parse_string
from scipy.special import gamma
from sphinx import addnodes
from sphinx.ext.napoleon import Config, GoogleDocstring

import icl
from icl.risk import Heads, Risk, asymptotics, optimal_window, population_risk
from icl.tasks import ReLU
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
    judge,
    sampled_cases,
)
from icl_book.claims.card import KNOWN, badge, statement_record
from icl_book.claims.claim import UNSETTLED, UNTESTED
from icl_book.provenance import ROOT
from icl_book.runner import plan
from icl_book.site import audit, extension, stage, verify
from icl_book.site.card import load_macros

# ---------------------------------------------------------------- the verifier, on small pages

GOOD = """<article><h1>T</h1><p>Price <span class="math">\\(x$\\)</span>, <code>$HOME</code></p>
<figure id="f"><img src="../_images/a1.svg" alt="A curve that falls">
<figcaption><p><span class="caption-number">Fig. 1 </span>
<span class="caption-text">Falling, exact values.</span></p></figcaption></figure>
<img class="icl-frame" alt="A frame" src="data:image/svg+xml;base64,x"></article>
<script src="../_static/a.js"></script><link rel="canonical" href="https://example.org/">"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('alt="A curve that falls"', 'alt=" "', "p: image ../_images/a1.svg has no alt text"),
        (
            "A curve that falls",
            "_images/6f0c2f8e9d1b4a5c6f0c2f8e9d1b4a5c_3_0.svg",
            "has no alt text",
        ),
        ('<span class="caption-number">Fig. 1 </span>', "", "figure f has no number or no caption"),
        ("Falling, exact values.", "", "figure f has no number or no caption"),
        (
            "</article>",
            '<img src="b.png" alt="A plot"></article>',
            "image b.png stands outside a figure",
        ),
        ("<p>Price", "<p>costs $5", "raw markup in the text: ...T costs $5"),
        ("<p>Price", "<p>[1.5](<judged:P1.a", "raw markup"),
        ("<p>Price", '<p><span class="problematic">x</span>', "shows an error message"),
        ("<p>Price", '<div class="output traceback">ValueError</div><p>', "shows an error message"),
        (
            "../_static/a.js",
            "https://cdn.example/a.js",
            "loads https://cdn.example/a.js from the network",
        ),
        ("canonical", "stylesheet", "loads https://example.org/ from the network"),
    ],
)
def test_verifier_sees(old, new, message):
    assert old in GOOD and verify.check_page("p", GOOD) == []
    problems = verify.check_page("p", GOOD.replace(old, new))
    assert any(message in p for p in problems), problems


def test_verifier_sees_a_page_s_problem_and_a_missing_card(tmp_path):
    (tmp_path / "a.html").write_text(GOOD.replace("<p>Price", "<p>costs $5"))
    (tmp_path / "n.html").write_text('<div class="icl-card" id="claim-P1.x">')
    toc = {
        "root": "a",
        "parts": [{"chapters": [{"file": "a", "sections": [{"file": "notebooks/n"}]}]}],
    }
    (tmp_path / "notebooks").symlink_to(tmp_path)
    run = {"name": "n", "cards": [{"id": "P1.x"}, {"id": "P1.y"}]}
    markup, missing = verify.check_book(tmp_path, toc, [run])
    assert markup.startswith("a: raw markup")
    assert missing == "notebooks/n: card of claim P1.y is not on the page"


def test_verifier_sees_links_that_lead_nowhere(tmp_path):
    """It checks all pages, also those of source code, which are not in the table of contents."""
    (tmp_path / "_modules").mkdir()
    (tmp_path / "_static").mkdir()
    (tmp_path / "a page.html").write_text(
        '<p id="here"></p><a class="x" href="#here"></a><a href="_modules/m.html"></a><a href=""></a>'
        '<a href="https://example.org/#x"></a><a href="mailto:a@b.c"></a><a href="_static/x.json#/p"></a>'
    )
    (tmp_path / "_static" / "x.json").write_text("{}")
    (tmp_path / "_static" / "template.html").write_text('<a href="nowhere"></a>')
    source = tmp_path / "_modules" / "m.html"
    source.write_text('<a href="../a%20page.html?x=1&amp;y=2#here"></a>')
    assert verify.check_links(tmp_path) == []
    source.write_text('<a href="../a%20page.html#there"></a><a href="../b.html#x"></a>')
    assert verify.check_links(tmp_path) == [
        "_modules/m.html: the link ../a%20page.html#there leads nowhere",
        "_modules/m.html: the link ../b.html#x leads nowhere",
    ]
    (tmp_path / "index.html").write_text(GOOD)
    assert verify.check_links(tmp_path)[0] in verify.check_book(tmp_path, {"root": "index"}, [])


# ---------------------------------------------------------------- a small audit

TALK = {
    "authority": Authority.TALK,
    "source": "slides",
    "quote": "all $|a| \\le 1$ here",
    "place": "talk:7",
}
RULE = {"rule": lambda p: (0.0, 1.0), "grade": Grade.PROVED, "result": "it is {}"}
CORRECTED = {
    "reading": "$|b| \\le 1$",
    "expected": Verdict.CORRECTED,
    "severity": Severity.CONSTANT,
    "depends_on": (Choice("a grid", (Alternative("grid", "another grid", lambda p: (0.0, 0.5)),)),),
    "corrected": "$b \\le 9$",
    "corrected_rule": lambda p: (0.0, 9.0),
}
LOST = {"authority": Authority.SUMMARY, "expected": Verdict.NOT_TESTABLE, "why_not": "it is lost"}
CLAIMS = {
    claim.id: claim
    for claim in (
        Claim("P1.a", **TALK, **RULE, quantity="a", control="far"),
        Claim("P1.b", **TALK, **RULE, quantity="b", **CORRECTED),
        Claim("P1.c", Authority.BOOK, "this book", **RULE, quantity="c", reading="ours"),
        Claim("P1.d", **TALK, **RULE, quantity="d", implied_by=("P1.a",)),
        Claim("P2.c", **TALK | LOST),
    )
}
VALUES = {"a": 0.5, "b": 2.0, "c": 0.5, "d": 0.5}


def card(name, value, control=50.0):
    seeds = pd.DataFrame({"value": [value - 0.1, value, value + 0.1] * 20, "seed": range(60)})
    both = [Case("one", value, (value, value)), *sampled_cases(seeds, samples="seed", name="two")]
    far = [Case("far", control, (control, control))] if CLAIMS[name].control else ()
    return judge(CLAIMS[name], both, far).record()


def run(control=50.0, **values):
    cards = [card(f"P1.{name}", value, control) for name, value in values.items()]
    return {"name": "n", "preset": "quick", "cards": cards}


RERUNS = [
    audit.Rerun(*row)
    for row in (
        ("P1.a", "authors", True, "sampled", "holds", "holds", True, ("holds",) * 5),
        ("P1.b", "authors", True, "sampled", "holds", "inconclusive", True, ()),
        ("P1.old", "this book", True, "sampled", "open", "refuted", False, ("open",)),
        ("P1.gone", "this book", True, "proved here", "open", "open", True, ()),
    )
]


def test_every_claim_is_judged_once():
    good = run(**VALUES)
    assert verify.check_cards([good], CLAIMS) == []
    assert verify.check_cards([run(b=2.0, c=0.5, d=0.5)], CLAIMS) == [
        "claim P1.a: no notebook judges it"
    ]
    assert "judged already in notebooks/n" in verify.check_cards([good, run(a=0.5)], CLAIMS)[0]
    few = {name: claim for name, claim in CLAIMS.items() if name != "P1.c"}
    assert verify.check_cards([good], few) == ["notebooks/n: claim P1.c: is not in the registry"]


# ---------------------------------------------------------------- generated text


def shown(reruns=(), **change):
    registry = CLAIMS | {"P1.a": dataclasses.replace(CLAIMS["P1.a"], **change)}
    return {"audited": audit.audit_claims(registry, [run(**VALUES)]), "reruns": reruns}


def written(part, reruns=(), **change):
    pages = stage.load_pages(**shown(reruns, **change), titles={"n": "A chapter"})
    return str(getattr(pages, part)())


def says(text, *words):
    line = " ".join(text.split())
    assert {one: line.count(one) for one in words} == dict.fromkeys(words, 1)


def test_the_table_of_times_is_of_the_runs_that_the_book_shows_and_adds_up():
    machine = {"cores": 2, "cpu": "Some CPU"}
    runs = [
        {"name": name, "preset": "quick", "seconds": seconds, "machine": machine, "commit": None}
        | {"device": "cpu", "parameters": {}}
        for name, seconds in {"n": 12.4, "o": 30.0}.items()
    ]
    pages = stage.load_pages(**shown(), titles={"n": "N", "o": "O"}, versions={}, runs=runs)
    text = str(pages.durations())
    rows = re.findall(r"^\| (.+?) \| (\d+) \|$", text, re.MULTILINE)
    assert rows == [
        ("[O](../notebooks/o.ipynb)", "30"),
        ("[N](../notebooks/n.ipynb)", "12"),
        ("together", "42"),
    ]
    assert text.rstrip().endswith("cores: 2 cores, Some CPU.")
    assert "Together the notebooks took 42 s." in str(pages.provenance())


def test_every_work_that_a_page_cites_is_in_the_bibliography():
    entries = parse_string((ROOT / "book" / "references.bib").read_text(encoding="utf-8"), "bibtex")
    pages = [*ROOT.glob("book/*.md"), *ROOT.glob("notebooks/*.py")]
    texts = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    assert set(re.findall(r"\]\(cite:(\w+)\)", texts)) == set(entries.entries)


@pytest.mark.parametrize("home", [None, "https://example.org/book"])
def test_the_reference_and_its_bibtex_entry_are_what_the_citation_file_says(home):
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    text = str(stage.load_pages(**shown(), cited=cited, home=home).citation())
    (entry,) = re.findall("```bibtex\n(.*?)```", text, re.DOTALL)
    (found,) = parse_string(entry, "bibtex").entries.values()
    year = str(cited["date-released"])[:4]
    assert found.type == "software"
    assert {key.lower(): value for key, value in found.fields.items()} == {
        "title": cited["title"],
        "year": year,
        "version": cited["version"],
        "license": ", ".join(cited["license"]),
    } | ({"url": home} if home else {})
    # braces keep the name whole: these authors have no first name
    (author,) = found.persons["author"]
    assert str(author) == "{" + cited["authors"][0]["name"] + "}"
    reference = text.partition("```")[0]
    for said in (cited["authors"][0]["name"], year, cited["title"], cited["version"], home or ""):
        assert str(said) in reference
    assert "OWNER" not in text


def test_no_committed_benchmark_was_measured_on_a_changed_tree():
    for path in (ROOT / "benchmarks" / "results").glob("*.json"):
        record = json.loads(path.read_text())
        assert not (record.get("commit") or {}).get("dirty"), (
            f"{path.name}: measure it on a clean tree"
        )


def test_generated_text_says_what_was_approved(approved):
    parts = ["audit", "counts", "tested", "further", "replication", "uncovered", "registered"]
    parts += ["chance", "readme"]
    text = "".join(f"== {part}\n{written(part, RERUNS).strip()}\n\n" for part in parts)
    approved("pages.txt", text)


def test_a_card_of_the_audit_is_one_block_of_html():
    first_entry = written("audit").partition("<article")[2].partition("</article>")[0]
    assert "\n\n" not in first_entry, "a blank line ends raw HTML"


def test_a_verdict_that_rests_on_ocr_says_so_in_its_line():
    false, head = card("P1.b", 2.0), load_macros().head
    assert "slides, read by OCR" in head(false) and "OCR" not in head(card("P1.a", 0.5))
    assert head(false | {"source": "slides by OCR"}).count("OCR") == 1


def test_what_no_run_has_is_not_spoken_of():
    assert "P1.gone" not in written("replication", RERUNS), "it stayed"
    assert "fixed beforehand" not in written("further") + written("tested", RERUNS)


def test_the_audit_page_counts_what_holds_only_in_our_reproduction():
    (first, *rest), again = shown()["audited"], "in our reproduction, at one size"
    first = dataclasses.replace(first, record=first.record | {"quantifier": again})
    pages = stage.load_pages(audited=[first, *rest], reruns=[])
    says(str(pages.firmness()), "so that they hold in our reproduction | 1 |")


def test_the_committed_table_is_what_the_audit_says_of_the_registered_run():
    """The commit of the run counts 131 of 150; a referee counted the others, and the authors', by hand."""
    found = audit.read_reruns(ROOT)
    assert len(found) == 150 and all(len(one.fresh) in (0, 5) for one in found)
    said = {v for one in found for v in (one.then, one.registered, *one.fresh)}
    assert said <= set(Verdict), "a name that a verdict had once"
    assert {one.who for one in found} == set(audit.NAMES.values())
    assert sum(one.stayed for one in found) == 131
    sampled = [one for one in found if one.grade == Grade.SAMPLED]
    assert (len(sampled), sum(one.stayed for one in sampled)) == (29, 18)
    random = [one for one in found if one.fresh]
    assert (len(random), sum(one.stayed for one in random)) == (36, 25)
    page = (ROOT / "book" / "audit.md").read_text()
    held = [one for one in found if one.who == "authors" and one.independent]
    held = [one for one in held if one.then == Verdict.HOLDS]
    assert (len(held), sum(not one.stayed for one in held)) == (20, 3)
    said = str(stage.load_pages(audited=[], reruns=found).further())
    assert "3 of the authors' 20 independent statements that held then did not stay" in said
    fresh = [verdict == one.then for one in found for verdict in one.fresh]
    assert f"{sum(fresh)} of {len(fresh)} times they stayed" in page
    rows = list(csv.DictReader((ROOT / "results" / "younger.csv").read_text().splitlines()))
    assert not {row["statement"] for row in rows} & {one.statement for one in found}
    again = [row[f"fresh_{i}"] == row["verdict"] for row in rows for i in range(1, 6)]
    assert f"the {len(rows)} younger ones" in page
    assert f"{sum(again)} of {len(again)} times they stayed" in page


def test_the_table_of_totals_counts_what_the_filters_count():
    """Each statement is a row of the list, and is counted once in the table."""
    table = written("counts").replace("&nbsp;", " ")
    listed = BeautifulSoup(written("audit"), "html.parser").select("article")
    shown_in = {a["data-id"]: (a["data-authority"], a["data-verdict"]) for a in listed}
    assert shown_in.keys() == CLAIMS.keys()
    counted = 0
    words = [*KNOWN.values(), *(v for v in Verdict if v is not Verdict.ESTABLISHED)]
    for group, members in audit.GROUPS.items():
        for verdict in dict.fromkeys(words):
            same = (f"| {audit.NAMES[group]} |", f">{verdict}</span>")
            rows = [r for r in table.splitlines() if all(part in r for part in same)]
            numbers = [[int(n.strip() or 0) for n in r.split("|")[4:8]] for r in rows]
            for every, sure, implied, left in numbers:
                tested = verdict not in UNTESTED
                assert left == (every - sure - implied if tested else 0)
            together = sum(every for every, *_ in numbers)
            filtered = [a in members and v == verdict for a, v in shown_in.values()]
            assert together == sum(filtered), (group, verdict)
            counted += together
    assert counted == len(CLAIMS)


def test_chances_are_those_of_the_intervals():
    miss = card("P1.a", 0.4)["cases"][1]["miss"]
    says(written("chance"), f"| 6 | 0 | 5 | {miss:.2g} | {5 * miss:.2g} |")


@pytest.mark.parametrize(
    "change", [{"grade": Grade.IDENTITY}, {"cannot_fail": "it is a definition"}]
)
def test_claims_that_cannot_fail_are_counted_apart(change):
    holds = r"authors \| 1 .*>holds</span> \| 2 \| (\d?) \| (\d?) \| (\d) \|"
    assert re.search(holds, written("counts")).groups() == ("", "1", "1")
    assert re.search(holds, written("counts", **change)).groups() == ("1", "1", "0")
    assert "We tested 1 statements of the first paper with numbers" in written("readme", **change)


def test_audit_json_follows_its_schema():
    schema = json.loads((ROOT / "book/_static/audit.schema.json").read_text())
    document = json.loads(audit.as_json(shown()["audited"]))
    jsonschema.validate(document, schema)
    first, *_, last = document["claims"]
    assert [c["id"] for c in document["claims"]] == list(CLAIMS)
    assert first["chapter"] == "n" and "cases" in first and "cases" not in last
    assert first["address"] == "book/audit.html#P1.a"
    unread = last | {"verdict": "not read", "expected": "not read"}
    jsonschema.validate({"claims": [unread]}, schema)
    for change in ({"verdict": "true"}, {"cases": []}, {"unknown": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"claims": [first | change]}, schema)


def frozen():
    """Return what the book says of the real statements, with the verdicts of the golden master."""
    golden = json.loads((ROOT / "tests" / "data" / "golden.json").read_text())
    judged = {i: card for chapter in golden.values() for i, card in chapter.items()}
    registry = claims.registry()
    cards = [
        statement_record(registry[i])
        | {key: card[key] for key in ("verdict", "readings")}
        | {"cases": [], "other_readings": {}, "control_cases": [], "holding": {}}
        for i, card in judged.items()
    ]
    runs = [{"name": "n", "cards": cards}]
    return stage.context(registry, runs, ROOT)


def numbers(pattern, text):
    return [int(number) for number in re.search(pattern, text).groups()]


def test_readme_front_page_audit_and_audit_json_count_alike():
    """Each of their counts is computed again from the plain data of audit.json."""
    context = frozen()
    pages = stage.load_pages(**context, titles={"n": "A chapter"})
    listed = json.loads(audit.as_json(context["audited"]))["claims"]
    own = [c for c in listed if c["authority"] in audit.GROUPS["authors"]]
    first = [c for c in own if c["paper"] == "P1"]
    roots = [c for c in first if not c["implied_by"]]
    tested = [c for c in roots if c["tested"] and c["chapter"]]
    verdicts = ("holds", "depends on the reading", "inconclusive")
    by = {v: [c for c in tested if c["verdict"] == v] for v in verdicts}
    holds, depends, undecided = by.values()
    failing = [
        name in c["late"]
        for c in depends
        for name, outcome in c["readings"].items()
        if outcome == "contradicts"
    ]
    agree = [c for c in tested if c["readings"]["as we read it"] == "agrees"]

    tested_and_further = str(pages.tested()) + str(pages.further())
    whole = " ".join(tested_and_further.split())
    assert numbers(
        r"We tested (\d+) .* numbers: (\d+) hold, (\d+) depend .* and (\d+) could not be decided\. "
        r"In our main reading (\d+) agree",
        whole,
    ) == [len(tested), *map(len, by.values()), len(agree)]
    assert sum(map(len, by.values())) == len(tested), "else the sentence has other parts"
    assert [int(n) for n in re.findall(r"\| (\d+) \|$", str(pages.firmness()), re.M)] == [
        len(holds),
        sum(len(c["readings"]) == 1 for c in holds),
        sum("in our reproduction" in c["quantifier"] for c in holds),
        len(depends),
        sum(c["authority"] == Authority.TALK for c in depends),
        len(failing),
        sum(failing),
    ]
    judged = {c["id"] for c in listed if c["chapter"]}
    ran = {one.statement for one in context["reruns"]}
    assert numbers(r"and (\d+) newer ones were not part", whole) == [len(judged - ran)]
    assert "{{ verdicts }}" in (ROOT / "book" / "audit.md").read_text()
    # the list opens with the number of the page, in the browser, too
    simple = [Verdict.HOLDS, *dict.fromkeys(KNOWN.values()), *UNTESTED]
    doubted = [badge(c["verdict"], c["grade"]) for c in listed]
    doubted = [word for word in doubted if word not in simple]
    opening = str(pages.opening())
    assert numbers(r"opens with the (\d+) statements", opening) == [len(doubted)]
    assert set(re.findall(r"\*(.+?)\*", opening)) == set(doubted)
    script = (ROOT / "book" / "_static" / "audit.js").read_text()
    assert f"const SIMPLE = {json.dumps(simple)};" in script
    said = stage.write_sentences(pages)
    # the front page, the path and the README have three numbers
    three = r"We tested (\d+) .* (\d+) hold, (\d+) depend .* (\d+) could"
    assert numbers(three, said["tested"]) == [len(tested), *map(len, by.values())]
    assert said["tested"] in (ROOT / "README.md").read_text()
    own_rerun = [one for one in context["reruns"] if one.who == "this book" and not one.stayed]
    assert numbers(
        r"dropped (\d+) statements of this book that did not stay, and (\d+) newer ones",
        said["withdrawn"],
    ) == [sum(one.statement not in judged for one in own_rerun), len(judged - ran)]
    others = [c["id"] for c in tested if c["readings"]["as we read it"] != "agrees"]
    assert re.findall(r"\(judged:([\w.-]+)\)", said["disagreeing"]) == others
    by_ocr = [c["authority"] for c in tested if c["id"] in others].count(Authority.TALK)
    assert said["disagreeing"].count("(slides read by OCR)") == by_ocr
    refuted = [c["id"] for c in listed if c["verdict"] == Verdict.REFUTED]
    assert re.findall(r"\(judged:([\w.-]+)\)", said["refuted"]) == refuted
    for verdict, same in by.items():
        row = rf"\| authors \| 1 \| .*>{verdict}</span> .* (\d+) \|$"
        (left,) = re.findall(row, str(pages.counts()), re.M)
        assert int(left) == len(same)


def test_the_letter_asks_once_what_would_settle_each_open_statement_of_the_authors():
    context = frozen()
    letter = str(stage.load_pages(**context, titles={"n": "A chapter"}).letter())
    authors = [e.record for e in context["audited"] if e.group == "authors"]
    unsettled = [r for r in authors if r["verdict"] in UNSETTLED]
    assert unsettled and {r["paper"] for r in unsettled} == {"P1"}, "the letter is to its authors"
    linked = re.findall(r'href="audit.html#([\w.-]+)"', letter)
    assert sorted(linked) == sorted(r["id"] for r in unsettled)
    assert {letter.count(f"*{r['settles']}*") for r in unsettled} == {1}


def test_statements_that_we_could_not_read_are_not_called_undecidable():
    """A reader of the paper can settle thirteen statements; one, on experiments, is from a summary."""
    unread = {i for i, c in claims.registry().items() if c.expected is Verdict.NOT_READ}
    places = "F1.values F5.values 3-4.formula 3-5.formula 4-4.formal B4.assumption C.lemmas"
    places += " 2-1.remark F2-4.figures F6-10.figures summary.mlp"
    wanted = {f"P1.{name}" for name in places.split()}
    assert unread == wanted | {"P2.letters", "P2.lip.constants", "P2.icl.constants"}
    for path in ("README.md", "CITATION.cff", ".zenodo.json", "_config.yml"):
        assert "what is public" not in (ROOT / path).read_text(), path
    for path in (ROOT / "book").rglob("*"):
        if path.suffix in (".md", ".yml", ".j2", ".py"):
            assert "what is public" not in path.read_text(), path


def test_readme_is_in_step_with_the_registry():
    page = (ROOT / "README.md").read_text()
    block = page.partition("<!-- verdicts:begin -->\n")[2].partition("<!-- verdicts:end -->")[0]
    assert block and len(block.splitlines()) <= 17, "README.md has no verdict block, or a long one"
    entries = audit.audit_claims(claims.registry(), [])
    wanted = stage.load_pages(audited=entries, reruns=[]).readme()
    assert block == wanted, "README.md is out of step; run: make book && python -m icl_book readme"


def test_readme_shows_a_picture_that_exists():
    shown = re.findall(r"!\[([^]]+)\]\(([^)]+)\)", (ROOT / "README.md").read_text())
    assert shown and all(
        len(alt.split()) > 3 and "<svg" in (ROOT / path).read_text() for alt, path in shown
    )


# ---------------------------------------------------------------- numbers in prose

#: Numbers that prose may quote, each with its source.
QUOTED = {"3.11": "the oldest Python supported, pyproject.toml"}
QUOTED |= dict.fromkeys(
    ("0.240", "0.308", "0.2404", "0.3081"), "P2.opt.range and its theorem name them"
)
QUOTED |= {"0.999": "the default of Adam's beta_2", "0.618": "one less than the golden ratio"}
QUOTED |= dict.fromkeys(("0.59034", "0.58708"), "tests/icl/risk/test_form.py has them")
#: Three or more significant digits with a decimal point; an arXiv id (2402.11639) is not a number.
RESULT = re.compile(r"(?<![\w.])(?!\d{4}\.\d{5}(?!\d))\d*\.\d+(?:[eE][+-]?\d+)?(?!\.?\w)")


def typed_results(markdown):
    """Return decimal results that are typed by hand in prose or mathematics."""
    text = re.sub(r"(?s)```.*?```|~~~.*?~~~", "", markdown)
    text = re.sub(r"`[^`]*`|https?://\S+", "", audit.JUDGED.sub("", text))
    significant = (
        m[0] for m in RESULT.finditer(text) if len(re.sub(r"[eE].*|\.", "", m[0]).lstrip("0")) >= 3
    )
    return [number for number in significant if number not in QUOTED]


def test_typed_results_are_found():
    assert typed_results("slope 0.333, $w=4.16$, 1.25e-3, .0098") == ["0.333", "4.16", "1.25e-3"]
    assert (
        typed_results(
            "d = 0.5, arXiv:2402.11639, [0.345](<judged:P1.a|d = 2|.3f>), `0.123`, Python 3.11, 1.0.4"
        )
        == []
    )


def lost(cells):
    """Return tables that cells compute but do not show, because only a cell's last expression is shown."""
    lines = [
        line for cell in cells for line in ast.parse(cell).body[:-1] if isinstance(line, ast.Expr)
    ]
    return [
        line
        for line in map(ast.unparse, lines)
        if re.match(r"(plots\.table|judge|interactive)\(", line)
    ]


def test_a_lost_table_is_found():
    assert lost(["plots.table(a)\nb = 1", "b = 2\nplots.table(c)"]) == ["plots.table(a)"]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "notebooks").glob("*.py")), ids=lambda path: path.stem
)
def test_a_chapter_shows_what_it_computes_and_types_no_result(path):
    cells = jupytext.read(path).cells
    assert lost(cell.source for cell in cells if cell.cell_type == "code") == []
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert typed_results(prose) == [], "glue these from code, or list them in QUOTED"


@pytest.mark.parametrize("path", sorted((ROOT / "book").glob("*.md")), ids=lambda path: path.stem)
def test_no_page_types_a_result(path):
    assert typed_results(path.read_text()) == [], "glue these from code, or list them in QUOTED"


# ---------------------------------------------------------------- the API and formulas


def test_a_formula_keeps_its_brackets_and_punctuation():
    formula = '<span class="math notranslate nohighlight">\\(n=2\\)</span>'
    context = {"body": f"at ({formula}), and {formula} or", "script_files": []}
    extension.finish_page(None, "p", "page.html", context, None)
    whole = '<span class="icl-whole">'
    assert context["body"] == f"at {whole}({formula}),</span> and {whole}{formula}</span> or"


def test_a_short_name_in_code_is_not_broken_over_lines_and_a_long_one_is():
    code = '<code class="docutils literal"><span class="pre">{}</span></code>'
    short, long = code.format("U(S^{d-1})"), code.format("snakemake-executor-plugin-kubernetes")
    context = {"body": short + long, "script_files": []}
    extension.finish_page(None, "p", "page.html", context, None)
    assert context["body"] == short.replace('"pre"', '"pre icl-whole"') + long


def test_a_page_of_source_links_to_the_entry_of_each_name_that_has_one():
    def block(name, link):
        return f'<div class="viewcode-block" id="{name}">\n{link}def'

    def link(anchor):
        return f'<a class="viewcode-back" href="../../../book/api.html#{anchor}">[docs]</a>'

    # Heads is documented with its package, Moments with its module, and nothing else at all
    known = {
        whole: SimpleNamespace(docname="book/api", node_id=whole)
        for whole in ("icl.risk.Heads", "icl.risk.heads.Moments", "icl.Heads")
    }
    app = SimpleNamespace(
        env=SimpleNamespace(get_domain=lambda name: {"py": SimpleNamespace(objects=known)}[name])
    )
    names = ("Heads", "Moments", "gone")
    context = {
        "body": " ".join(block(name, link(f"icl.risk.{name}")) for name in names),
        "pathto": lambda page: f"../../../{page}.html",
    }
    extension.link_source(app, "_modules/icl/risk/heads", "page.html", context, None)
    assert context["body"] == " ".join(
        [
            block("Heads", link("icl.risk.Heads")),
            block("Moments", link("icl.risk.heads.Moments")),
            block("gone", ""),
        ]
    )


def test_a_narrow_screen_gets_the_second_drawing_of_a_figure_that_has_one(tmp_path):
    narrow = tmp_path / "book/_static/narrow/fig-a.svg"
    narrow.parent.mkdir(parents=True)
    narrow.write_text('<g id="axes_1"/><g id="axes_2"/>')
    figure = '<figure class="align-default" id="fig-{0}">\n<img alt="x" src="../_images/{0}.svg"/>'
    context = {
        "body": figure.format("a") + figure.format("b"),
        "pathto": lambda name, _: f"../{name}",
    }
    app = SimpleNamespace(srcdir=tmp_path)
    extension.finish_page(app, "p", "page.html", context, None)
    a, b = context["body"].split("<figure ")[1:]
    assert re.search(
        r'<picture class="icl-stacked"><source media="screen and \(max-width: \d+rem\)" '
        r'srcset="../_static/narrow/fig-a.svg"/><img alt="x" src="../_images/a.svg"/></picture>$',
        a,
    )
    assert "picture" not in b


def test_the_book_prints_the_source_of_a_chapter_s_measurements(tmp_path):
    folder = tmp_path / "book" / "icl_book" / "measurements"
    folder.mkdir(parents=True)
    (folder / "n.py").write_text("import icl\n\nanswer = 42\n")
    (folder / "__init__.py").write_text("shared = 1\n")
    found = stage.read_measurements(tmp_path, ["__init__", "n", "without"])
    pages = stage.load_pages(**shown(), titles={"n": "A chapter"}, sources_of_measurements=found)
    assert str(pages.measurements()) == (
        "## What several chapters share\n\n`````python\nshared = 1\n`````\n\n"
        "(measurements-n)=\n## [A chapter](../notebooks/n.ipynb)\n\n"
        "`````python\nimport icl\n\nanswer = 42\n`````\n\n"
    )


def test_the_api_lists_every_public_name_the_most_wanted_first():
    packages = stage.list_exports(ROOT)
    assert [
        name
        for name in stage.WANTED
        if not any(name in package["names"] for package in packages.values())
    ] == []
    assert (
        packages["risk"]["kinds"][0][0] == "function"
        and ("class", "Risk") in packages["risk"]["kinds"]
    )


# ---------------------------------------------------------------- the front page, boxes, the gallery

FRONT_PAGE = (ROOT / "book" / "introduction.md").read_text()


def test_the_law_in_words_is_that_of_the_package():
    """The formulas of *Why* in the chapter on Theorem 2, for functions with a kink."""
    d, L, noise_std, n = 5, 1.0, 0.5, 1e12
    kappa = np.sqrt(np.pi) / (gamma(d / 2) * 4 ** (d / 2 - 1))
    p_0 = gamma(d / 2) / (np.sqrt(np.pi) * gamma((d - 1) / 2))
    beta = 2 * (2 - np.sqrt(2)) / (9 * np.sqrt(np.pi)) * p_0 * L**2
    law = (3 * beta * n / ((d - 1) * kappa * noise_std**2)) ** (2 / (d + 2))
    assert law == pytest.approx(asymptotics.sharp_window(ReLU(d), n, noise_std), rel=1e-12)


def test_the_price_of_a_wrong_slope_is_near_its_limit_in_contexts_of_a_thousand():
    """It is so for noise as large as the slope in training, in five dimensions."""
    n = [1e3, 1e4, 1e6, 1e9, 1e12, 1e15]
    window = optimal_window(ReLU(5), n, noise_std=1.0).w
    for ratio in (0.5, 2.0):
        tested = ReLU(5, ratio)
        price = population_risk(tested, window, n, 1.0).total / optimal_window(tested, n, 1.0).risk
        limit = asymptotics.mismatch_penalty(ReLU(5), ratio)
        assert price == pytest.approx(np.full(len(n), limit), rel=0.01)
        with_less_noise = optimal_window(ReLU(5), 1e3, noise_std=0.1).w
        price = population_risk(tested, with_less_noise, 1e3, 0.1).total
        price /= optimal_window(tested, 1e3, 0.1).risk
        assert price != pytest.approx(limit, rel=0.01), "there it is reached later"


def test_every_word_in_braces_on_a_page_has_a_value():
    said = {"repository", "repository_name", "home", "minutes"}
    said |= set(stage.write_sentences(stage.load_pages(**frozen(), titles={})))
    for path in (ROOT / "book").glob("*.md"):
        assert set(re.findall(r"\{\{ (\w+) \}\}", path.read_text())) <= said, path.name


def test_a_card_says_of_each_number_whether_it_is_exact():
    """Shares of data sets, and of pairs of drawn tokens, are not exact."""
    cells = {
        grade + word: BeautifulSoup(
            load_macros().table(record | {"grade": grade, "evidence": word}), "html.parser"
        )
        for record in [card("P1.a", 0.5)]
        for grade, word in (
            (Grade.EXACT, ""),
            (Grade.IDENTITY, ""),
            (Grade.CERTIFIED, ""),
            (Grade.SAMPLED, "share of data sets"),
        )
    }
    found = [table.select_one('[data-head="evidence"]').text for table in cells.values()]
    assert found == ["exact", "checked", "certified", "share of data sets"]
    counted = {
        i for i, c in claims.registry().items() if re.search(r"\bin what share\b", c.quantity)
    }
    assert counted == {i for i, c in claims.registry().items() if c.evidence.startswith("share")}


def test_the_command_for_half_the_noise_halves_the_default():
    name, value = re.search(r"icl_book execute (\w+) -p noise_std=([\d.]+)", FRONT_PAGE).groups()
    source = (ROOT / "notebooks" / f"{name}.py").read_text()
    default = re.search(r"^noise_std = ([\d.]+)", source, re.MULTILINE)[1]
    assert float(value) == float(default) / 2
    (run,) = plan.plan("quick", name)
    assert "noise_std" not in run.overrides


def test_minutes_are_counted_and_not_promised():
    """The rate is two hundred words a minute: six words of the page, and those of a word in braces."""
    page = "---\nkey: value\n---\n# Six words and [1](<judged:P1.b|a case|.0f>) here {{ counted }} end.\n"
    assert stage.count_minutes(page, {"counted": 394 * "word "}) == "2"
    assert stage.count_minutes(page, {"counted": 395 * "word "}) == "3"
    path = (ROOT / "book" / "path.md").read_text()
    assert "{{ minutes }} minutes" in FRONT_PAGE and "{{ minutes }} minutes" in path


def test_the_gallery_has_each_figure_with_a_title_its_caption_whole_and_the_name_to_execute():
    caption = "Why. There is a law: $w=1.5$ ends it, after many words."
    figure = {"name": "fig-a", "title": "A law", "alt": "A curve.", "caption": caption}
    pages = stage.load_pages(**shown(), titles={"n": "A chapter"}, drawn={"n": [figure], "o": []})
    assert "".join(str(pages.gallery()).split("\n\n")[1:6]) == (
        ":::{grid-item-card}\n[![A curve.](_generated/gallery/fig-a.svg)](#fig-a)"
        "<details><summary>A law</summary>" + caption + "</details>"
        "[`n`](../notebooks/n.ipynb)\n:::"
    )
    page = (ROOT / "book" / "gallery.md").read_text()
    assert page.count(".venv/bin/python -m icl_book execute NAME") == 1


@pytest.mark.parametrize("fitted", [False, True])
def test_attributes_are_shown_with_their_whole_names(fitted):
    """Otherwise a page would have ``w`` for ``w_``."""
    x = np.random.default_rng(0).standard_normal((30, 3))
    made = (
        icl.SoftmaxAttentionRegressor().fit(x, x[:, 0]) if fitted else icl.best_window(x, x[:, 0])
    )
    settings = yaml.safe_load((ROOT / "_config.yml").read_text())["sphinx"]["config"]
    names = ["napoleon_use_ivar", "strip_signature_backslash"]
    written = GoogleDocstring(
        inspect.getdoc(type(made)), Config(**{name: settings[name] for name in names})
    )
    # Sphinx reads the fields before docutils looks for the targets of links
    tree = new_document("", get_default_settings(Parser))
    tree.settings.report_level = 5
    Parser().parse(str(written), tree)
    fields = [field.astext() for field in tree.findall(nodes.field_name)]
    shown = [field.removeprefix("ivar ") for field in fields if field.startswith("ivar ")]
    assert len(shown) > 4 and all(hasattr(made, name) for name in shown), shown
    assert ("w_" if fitted else "high") in shown


def test_each_field_of_a_public_result_has_words_of_its_own():
    """Attributes that share an entry share its text, which then describes neither of them."""
    public = [
        getattr(module, name)
        for found in pkgutil.walk_packages(icl.__path__, "icl.")
        for module in [importlib.import_module(found.name)]
        for name in getattr(module, "__all__", ())
    ]
    results = {
        one
        for one in public
        if inspect.isclass(one)
        and dataclasses.is_dataclass(one)
        and any("Attributes:" in (base.__doc__ or "") for base in one.__mro__)
    }
    assert {icl.BestWindow, icl.BestMatrix, Heads, Risk} <= results
    for result in results:
        words = "\n".join(inspect.getdoc(b) or "" for b in result.__mro__ if "__doc__" in vars(b))
        entries = re.findall(r"^    (\w+): ", words, re.MULTILINE)
        assert {field.name for field in dataclasses.fields(result)} <= set(entries), result


def test_text_before_a_colon_in_the_comment_of_a_constant_is_not_a_type():
    given = "Bytes of a block: few fit."
    lines = str(GoogleDocstring(given, what="data", name="BLOCK")).splitlines()
    assert ":type: Bytes of a block" in lines, "napoleon no longer splits it"
    extension.mend_docstring(None, "data", "BLOCK", 1, None, lines)
    assert "\n".join(lines).strip() == given


def test_an_enumeration_says_its_values_and_is_not_called():
    assert extension.write_signature(
        None, "class", "", Verdict, None, "(value, names=None)", None
    ) == (
        "",
        None,
    )
    lines = ["The verdict."]
    extension.mend_docstring(None, "class", "", Verdict, None, lines)
    assert all(f"*{verdict}*" in lines[-1] for verdict in Verdict)


def test_types_are_short_wherever_sphinx_writes_them():
    """Overloaded functions would have two arrows, and types that Sphinx cannot parse their whole path."""
    tree = new_document("", get_default_settings(Parser))
    whole = "ndarray[tuple[Any, ...], dtype[float64]]"
    tree += addnodes.desc_returns("", whole)
    tree += addnodes.desc_annotation("", ": tuple[~icl_book.claims.claim.Choice, ...]")
    extension.write_returned(None, tree, "p")
    extension.write_annotations(None, tree, "p")
    assert tree.astext().split("\n\n") == [" -> NDArray[float64]", ": tuple[Choice, ...]"]
    given = "(parameters: dict[str, ~typing.Any] = <factory>)"
    assert extension.write_signature(None, "class", "", dict, None, given, None) == (
        "(parameters: dict[str, ~typing.Any] = ...)",
        None,
    )
