"""The audit page: every claim in full, as HTML that a script can filter; `export` writes the same as JSON.

Without JavaScript the page is the whole list, chapter by chapter.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from icl_book.claims import Authority, Claim, Verdict
from icl_book.claims.card import macros, statement_record
from icl_book.claims.changes import since
from icl_book.claims.claim import OWN
from icl_book.claims.quotes import NAMES, source
from icl_book.markup import badge, number, prose, style_class
from icl_book.runner.again import moved

#: Characters of a digest that are shown; changelog.yml has them all.
SHORT = 8
PAPERS = {
    "P1": "Paper 1: Softmax Attention Adapts to Function Lipschitzness",
    "P2": "Paper 2: From Single to Multiple Softmax Regression via a Tensor Trick",
}

#: Whose statements are counted together, in the order of the tables.
GROUPS = {
    "authors": ("The authors' own statements", OWN),
    "others": ("What others say of them", (Authority.REVIEW, Authority.SUMMARY, Authority.OTHER)),
    "book": ("This book's own results", (Authority.BOOK,)),
}


@dataclass(frozen=True)
class Entry:
    """A claim with what the notebooks found.

    Attributes:
        claim: The claim, from the registry.
        card: Its card's record; None for a claim that is not testable.
        notebook: The notebook that judged it, without suffix.
        confirmed: The card's record in the confirmatory run, if there is one.
        repeated: Verdict and readings in each replication by the present rule.
        earlier: Whether the confirmatory run judged by an earlier rule.
    """

    claim: Claim
    card: dict | None = None
    notebook: str = ""
    confirmed: dict | None = None
    repeated: tuple[dict, ...] = ()
    earlier: bool = False

    @property
    def verdict(self) -> str:
        return self.card["verdict"] if self.card else str(self.claim.expected)


def entries(
    registry: dict,
    runs: Iterable[dict],
    confirmatory: Sequence[dict] = (),
    replications: Sequence[dict] = (),
    log: Sequence[dict] = (),
) -> list[Entry]:
    """Join the claims, in the registry's order, with their cards and what further runs found.

    Args:
        registry: All claims.
        runs: What the notebooks found.
        confirmatory: Records of the confirmatory run.
        replications: Records of the replications.
        log: The changes of the rules: what was judged by an earlier rule says so, or is left out.
    """
    cards = {c["id"]: (c, run["name"]) for run in runs for c in run["cards"]}
    again = {c["id"]: c for run in confirmatory for c in run["cards"]}
    old = {c["id"] for run in confirmatory for c in run["cards"] if c["id"] in since(run["rules"], log)}
    repeated = {
        i: tuple(r["claims"][i] for r in replications if i in r["claims"] and i not in since(r["rules"], log))
        for i in registry
    }
    return [
        Entry(c, *cards.get(i, (None, "")), again.get(i), repeated[i], i in old) for i, c in registry.items()
    ]


def group(entry: Entry) -> str:
    """Return the group whose statement it is: ``"authors"``, ``"others"`` or ``"book"``."""
    return next(name for name, (_, members) in GROUPS.items() if entry.claim.authority in members)


def tally(found: Sequence[Entry], name: str) -> str:
    """Write a table of the numbers of claims of one group by verdict and paper; roots only.

    What follows from another claim (`Claim.implied_by`), and what no data could contradict (`Claim.tested`),
    is counted in a line of its own.
    """
    mine = [e for e in found if group(e) == name]
    roots = [e for e in mine if not e.claim.implied_by]
    papers = sorted({e.claim.paper for e in mine})
    counts = Counter((e.verdict, e.claim.paper) for e in roots if not sure(e))
    rows = [
        "| verdict | " + " | ".join(f"paper {p[1:]}" for p in papers) + " |",
        "|:--|" + "--:|" * len(papers),
    ]
    for verdict in Verdict:
        if any(counts[verdict, p] for p in papers):
            cells = " | ".join(str(counts[verdict, p]) for p in papers)
            rows.append(f"| {badge(verdict)} | {cells} |")
    for what, some in (
        ("identities, and what cannot fail", [e for e in roots if sure(e)]),
        ("follow from these", [e for e in mine if e.claim.implied_by]),
    ):
        if some:
            row = [str(sum(e.claim.paper == p for e in some)) for p in papers]
            rows.append(f"| {what} | {' | '.join(row)} |")
    return "\n".join(rows) + "\n"


def sure(entry: Entry) -> bool:
    """Return whether no data could have contradicted a claim that was judged."""
    return entry.claim.rule is not None and not entry.claim.tested


def levels(found: Sequence[Entry]) -> str:
    """Describe how many numbers were sampled, and how often their intervals miss, in one paragraph."""
    cards = [e.card for e in found if e.card]
    cases = [c for card in cards for rows in _all_rows(card) for c in rows]
    sampled = [c for c in cases if c["kind"] == "sampled"]
    kinds = Counter(c["kind"] for c in cases)
    expected = sum(c["miss"] for c in sampled)
    worst = max((c["miss"] for c in sampled), default=0.0)
    return (
        f"Numbers judged, all readings and controls included: {len(cases)}. Of these {kinds['exact']} are "
        f"exact, {kinds['extrapolated']} extrapolated from exact values, {kinds['found']} the best found by "
        f"a search, and {len(sampled)} sampled. The interval of a sampled number lies between two order "
        "statistics over independent seeds and misses the median with a known probability, at most "
        f"{number(worst, '.2g')} for one number; "
        f"{number(expected, '.2g')} are expected to miss among all."
    )


def _all_rows(card: dict) -> list[list[dict]]:
    return [card["cases"], card["control_cases"], *card["other_readings"].values()]


def page(found: Sequence[Entry], title: Callable[[str], str] = str) -> str:
    """Write the list of all claims, paper by paper and chapter by chapter.

    Args:
        found: All claims.
        title: From a notebook's name to the title of its chapter.

    Returns:
        Markdown with blocks of HTML, one for each claim.
    """
    out = []
    for paper in sorted({e.claim.paper for e in found}):
        out += [f"## {PAPERS.get(paper, paper)}", ""]
        mine = [e for e in found if e.claim.paper == paper]
        for notebook in sorted(dict.fromkeys(e.notebook for e in mine), key=lambda name: not name):
            chapter = f"[{title(notebook)}](../notebooks/{notebook}.ipynb)" if notebook else "Not testable"
            out += [f"### {chapter}", ""]
            out += [_entry(e, title) for e in mine if e.notebook == notebook]
    return "\n".join(out)


def _entry(e: Entry, title: Callable[[str], str]) -> str:
    claim, card, esc = e.claim, e.card, html.escape
    chapter = title(e.notebook) if e.notebook else "not testable"
    data = {
        "id": claim.id,
        "paper": f"paper {claim.paper[1:]}",
        "authority": claim.authority,
        "verdict": e.verdict,
        "grade": claim.grade or "none",
        "chapter": chapter,
    }
    attributes = " ".join(f'data-{key}="{esc(str(value))}"' for key, value in data.items())
    link = f' <a href="../notebooks/{e.notebook}.html#claim-{claim.id}">card</a>' if card else ""
    out = [
        f'<article class="icl-card icl-entry {style_class(e.verdict)}" id="audit-{claim.id}" {attributes}>',
        f'<p class="icl-head" role="heading" aria-level="4">{badge(e.verdict)} <strong>{claim.id}</strong> '
        f"<span>{prose(claim.source)}</span>{link}</p>",
        str(macros().said(card or statement_record(claim))).strip(),
    ]
    if card is None:
        out.append(f'<p class="icl-quantity">Not tested: {prose(claim.why_not)}</p>')
    else:
        notable, usual = ([f'<p class="icl-quantity">{line}</p>' for line in lines] for lines in _again(e))
        out += notable
        out.append(f'<details class="icl-cases"><summary>{macros().brief(card)}</summary>')
        out += [str(part).strip() for part in (macros().strips(card), macros().evidence(card, "#audit-"))]
        out += [*usual, "</details>"]
    return "\n".join([*out, "</article>", ""])


def _again(e: Entry) -> tuple[list[str], list[str]]:
    """Write what further runs found: what a reader must see, and what only confirms."""
    notable, usual = [], []
    if e.confirmed:
        differences = moved(e.card, e.confirmed)
        found = _moves(differences, prose) if differences else "the same in every reading"
        rule = ", by an earlier rule" if e.earlier else ""
        text = f"Confirmatory run{rule}: {found}. Its cases: {sides(e.confirmed['cases'])}."
        (notable if differences else usual).append(text)
    if e.repeated:
        each = [moved(e.card, again) for again in e.repeated]
        same, runs = each.count({}), len(each)
        text = f"Fresh random numbers: the same in every reading in {same} of {runs} replications."
        names = dict.fromkeys(prose(name) for differences in each for name in differences)
        text += f" What changed: {', '.join(names)}." if names else ""
        (usual if same == runs else notable).append(text)
    return notable, usual


def _cell(markdown: str) -> str:
    return " ".join(markdown.split()).replace("|", "\\|")


def _moves(differences: Mapping[str, Sequence[str | None]], write: Callable[[str], str] = _cell) -> str:
    """Write which verdict and readings changed, as `icl_book.runner.again.moved` returns them."""
    return "; ".join(
        f"{write(name)}: {old or 'not judged'} here, {new or 'not judged'} there"
        for name, (old, new) in differences.items()
    )


def sides(cases: Iterable[Mapping]) -> str:
    """Write how many cases agree, are undecided and contradict."""
    counts = Counter(case["outcome"] for case in cases)
    return f"{counts['agrees']} agree, {counts['undecided']} undecided, {counts['contradicts']} contradict"


def sources() -> str:
    """Write the table of sources: what each is, how it was read."""
    rows = ["| name in the audit | what it is | how it was read |", "|:--|:--|:--|"]
    for key, name in NAMES.items():
        record = source(key)
        rows.append(f"| {name} | {record['reference']} | {record['how']} |")
    return "\n".join(rows) + "\n"


def _whole(word: str) -> str:
    """Write a date or a digest, which is not broken over lines."""
    return f'<span class="icl-whole">{word}</span>'


def changelog(entries: Iterable[dict]) -> str:
    """Write the table of changes to the rules."""
    rows = ["| date | rules | change |", "|:--|:--|:--|"]
    rows += [
        f"| {_whole(e['date'])} | {_whole(e['rules'][:SHORT])} | {' '.join(e['change'].split())} |"
        for e in entries
    ]
    return "\n".join(rows) + "\n"


def confirmatory(found: Sequence[Entry], runs: Sequence[dict]) -> str:
    """Write what the confirmatory run found beside this book, reading by reading."""
    if not runs:
        return "There has been no confirmatory run of the present rules yet.\n"
    again = [e for e in found if e.card and e.confirmed]
    records = [e.card for e in again], [e.confirmed for e in again]
    here, there = (sides(case for card in cards for case in card["cases"]) for cards in records)
    changed = {e.claim.id: (e, d) for e in again if (d := moved(e.card, e.confirmed))}
    verdicts = sum("verdict" in d for _, d in changed.values())
    out = [
        f"{len(again)} statements were judged again by rules `{runs[0]['rules'][:SHORT]}` on "
        f"{runs[0]['date']}: {len(again) - len(changed)} are the same in every reading, {verdicts} differ in "
        f"the verdict, {len(changed) - verdicts} in a reading only. Cases in our own reading: {there}; in "
        f"this book {here}.",
        "",
    ]
    if changed:
        out += ["| claim | verdict here | what differs |", "|:--|:--|:--|"]
        out += [
            f'| <a href="#audit-{i}">{i}</a> | {badge(e.verdict)} | '
            f"{_moves(differences)}{', by an earlier rule' if e.earlier else ''} |"
            for i, (e, differences) in changed.items()
        ]
    if weak := [e.claim.id for e in again if not e.confirmed["control_passed"]]:
        names = ", ".join(f'<a href="#audit-{i}">{i}</a>' for i in weak)
        out += [
            "",
            f"At these sizes the control was not judged as it must be in {len(weak)} of them: {names}.",
        ]
    return "\n".join(out) + "\n"


def replications(runs: Sequence[dict]) -> str:
    """Write the table of replications: which sampled claims changed with fresh random numbers."""
    if not runs:
        return "No replication has been committed yet.\n"
    rows = ["| seed | rules | sampled claims | changed in the verdict or a reading |", "|--:|:--|--:|:--|"]
    for run in sorted(runs, key=lambda run: run["seed"]):
        changed = "; ".join(f"{i}: {_moves(what)}" for i, what in run["changed"].items()) or "none"
        rows.append(f"| {run['seed']} | {_whole(run['rules'][:SHORT])} | {len(run['claims'])} | {changed} |")
    return "\n".join(rows) + "\n"
