"""Generated pages: the verdict table, the audit, the provenance, the API, the README's block.

Statements are MyST markdown with mathematics, so these functions write markdown, never
finished HTML; only badges and links to a card's anchor are inline HTML.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from icl_book.claims import Claim, Verdict
from icl_book.markup import badge, style_class
from icl_book.site.sources import Names

PAPERS = {
    "P1": "Paper 1: Softmax Attention Adapts to Function Lipschitzness",
    "P2": "Paper 2: From Single to Multiple Softmax Regression via a Tensor Trick",
}


@dataclass(frozen=True)
class Entry:
    """A claim with what the notebooks found.

    Attributes:
        claim: The claim, from the registry.
        card: Its card's record; None for a claim that is not testable.
        notebook: The notebook that judged it, without suffix.
        paper: The record from the committed paper-preset results, if there is one.
        device: The device of that result.
    """

    claim: Claim
    card: dict | None = None
    notebook: str = ""
    paper: dict | None = None
    device: str = ""

    @property
    def verdict(self) -> str:
        return self.card["verdict"] if self.card else str(self.claim.expected)


def entries(registry: dict, runs: Iterable[dict], paper_runs: Iterable[dict] = ()) -> list[Entry]:
    """Join the claims, in the registry's order, with their cards."""
    cards = {c["id"]: (c, run["name"]) for run in runs for c in run["cards"]}
    paper = {c["id"]: (c, run.get("device", "")) for run in paper_runs for c in run["cards"]}
    nothing = (None, "")
    return [Entry(c, *cards.get(i, nothing), *paper.get(i, nothing)) for i, c in registry.items()]


def evidence(card: dict | None) -> str:
    """Describe the evidence of a card: "exact, 12 cases" or "Monte Carlo, 4 cases, n = 200"."""
    if card is None:
        return "none"
    samples = [c["samples"] for c in card["cases"] if c["samples"] is not None]
    count, parts = len(card["cases"]), []
    if count > len(samples):
        parts.append(f"exact, {_cases(count - len(samples))}")
    if samples:
        low, high = min(samples), max(samples)
        to = f" to ${high}$" if high > low else ""
        parts.append(f"Monte Carlo, {_cases(len(samples))}, $n = {low}${to}")
    return "; ".join(parts)


def _cases(count: int) -> str:
    return f"{count} case" + "s" * (count != 1)


def _line(markdown: str) -> str:
    return " ".join(markdown.split())


def _link(entry: Entry, text: str) -> str:
    if not entry.card:
        return text
    return f'<a href="../notebooks/{entry.notebook}.html#claim-{entry.claim.id}">{text}</a>'


def _paper(entry: Entry) -> str:
    return entry.claim.id.split(".")[0]


def counts(found: Sequence[Entry]) -> str:
    """Write a table of the numbers of claims by verdict and paper."""
    tally = Counter((_paper(e), e.verdict) for e in found)
    verdicts = [v for v in Verdict if v != "inconclusive" or any(key[1] == v for key in tally)]
    papers = sorted({_paper(e) for e in found})
    rows = [
        "| verdict | " + " | ".join(f"paper {p[1:]}" for p in papers) + " |",
        "|:--|" + "--:|" * len(papers),
    ]
    rows += [f"| {badge(v)} | " + " | ".join(str(tally[p, v]) for p in papers) + " |" for v in verdicts]
    return "\n".join(rows) + "\n"


def verdict_table(found: Sequence[Entry]) -> str:
    """Write the introduction's table: one row a claim that does not simply hold, linked to its card."""
    out = [
        ":::{list-table}",
        ":header-rows: 1",
        ":widths: 25 75",
        ":class: icl-verdicts",
        "",
        "* - verdict",
        "  - statement as printed, and where",
    ]
    for e in (e for e in found if e.verdict != "holds"):
        out += [
            f"* - {badge(e.verdict)}<br>{_link(e, e.claim.id)}",
            f"  - {_line(e.claim.statement)}",
            "",
            f'    <span class="icl-source">{html.escape(_line(e.claim.source))}</span>',
        ]
    return "\n".join([*out, ":::", ""])


def audit(found: Sequence[Entry], rate: float, title: Callable[[str], str] = str) -> str:
    """Write the audit: counts, the false-alarm budget, then every claim in full, chapter by chapter.

    Args:
        found: All claims.
        rate: False-alarm rate of one sampled number.
        title: From a notebook's name to the title of its chapter.

    Returns:
        Markdown.
    """
    cases = [c for e in found if e.card for c in e.card["cases"] + e.card["control_cases"]]
    total, sampled = len(cases), sum(c["samples"] is not None for c in cases)
    out = [
        counts(found),
        "## False alarms",
        "",
        f"Numbers judged on this page, negative controls included: {total}, of which {sampled} sampled "
        "and the rest exact. The interval of a sampled number is two-sided and misses with probability at "
        f"most ${_power(rate)}$, so by the union bound chance alone contradicts any true statement on "
        f"this page with probability at most ${_power(sampled * rate) if sampled else 0}$.",
        "",
    ]
    for paper in sorted({_paper(e) for e in found}):
        out += [f"## {PAPERS.get(paper, paper)}", ""]
        mine = [e for e in found if _paper(e) == paper]
        for notebook in sorted(dict.fromkeys(e.notebook for e in mine), key=lambda name: not name):
            chapter = f"[{title(notebook)}](../notebooks/{notebook}.ipynb)" if notebook else "Not testable"
            out += [f"### {chapter}", ""]
            out += [_audit_entry(e) for e in mine if e.notebook == notebook]
    return "\n".join(out)


def _power(x: float) -> str:
    mantissa, exponent = f"{x:.1e}".split("e")
    mantissa = mantissa.removesuffix(".0")
    return (f"{mantissa} \\times " if mantissa != "1" else "") + f"10^{{{int(exponent)}}}"


def _audit_entry(e: Entry) -> str:
    claim = e.claim
    out = [
        f"::::{{div}} icl-card icl-entry {style_class(e.verdict)}",
        f'<span class="icl-head" id="audit-{claim.id}">'
        f"{badge(e.verdict)} <strong>{claim.id}</strong> {html.escape(_line(claim.source))}</span>",
        "",
        f"{_line(claim.statement)}",
        "",
    ]
    if claim.corrected:
        out += [f"**Corrected.** {_line(claim.corrected)}", ""]
    if e.card is None:
        return "\n".join([*out, f"**Not tested.** {_line(claim.why_not)}", "::::", ""])
    must = {"contradicts": "rejected", "agrees": "accepted"}[claim.control_reading]
    passed = f"{must}, as it must be" if e.card["control_passed"] else f"**not** {must}"
    out += [
        f"**Measured.** {_line(claim.quantity)} ({evidence(e.card)}). {_link(e, 'All numbers')}.",
        "",
        f"**{claim.control_kind}.** {_line(claim.control)}: {passed}.",
        "",
    ]
    if e.paper:
        out += [
            f"**Paper preset** ({html.escape(e.device)}): {badge(e.paper['verdict'])} {evidence(e.paper)}.",
            "",
        ]
    return "\n".join([*out, "::::", ""])


def provenance(runs: Sequence[dict], built: dict) -> str:
    """Write the table of runs with their parameters, machine and duration.

    Args:
        runs: What `icl_book.runner.collect` says of each executed notebook.
        built: Versions of the tools that built the pages, by name.
    """
    out = ["| notebook | preset | seconds | device | processor | commit |", "|:--|:--|--:|:--|:--|:--|"]
    for r in runs:
        machine, commit = r["machine"], r["commit"]
        where = f"`{commit['id'][:10]}`" + (", changed" if commit["dirty"] else "") if commit else "unknown"
        out.append(
            f"| [{r['name']}](../notebooks/{r['name']}.ipynb) | {r['preset']} | {r['seconds']:.1f} | "
            f"{_cell(r['device'])} | {_cell(machine['cpu'])}, {machine['cores']} cores | {where} |"
        )
    total = sum(r["seconds"] for r in runs)
    out += [
        "",
        f"Together the notebooks took {total:.0f} s.",
        "",
        "## Parameters",
        "",
        "| notebook | parameter | value |",
        "|:--|:--|:--|",
    ]
    out += [f"| {r['name']} | `{k}` | `{_cell(v)}` |" for r in runs for k, v in r["parameters"].items()]
    out += ["", "## Versions", "", "| what | version |", "|:--|:--|"]
    versions = {k: v for r in runs for k, v in r["versions"].items()} | built
    return "\n".join([*out, *(f"| {k} | {_cell(v)} |" for k, v in versions.items()), ""])


def _cell(value) -> str:
    return str(value).replace("|", "\\|").replace("$", "\\$")


def api(names: Names) -> str:
    """Write the API page: each room with its map and public names, then its modules that chapters use."""
    out = []
    for module, objects in names.sections.items():
        top = module.count(".") == 1
        out += [f"{'##' if top else '###'} `{module}`", "", "```{eval-rst}", f".. automodule:: {module}", ""]
        for name in (f"{module}.{name}" for name in objects):
            members = ["   :members:"] if names.kinds[name] == "class" else []
            out += [f".. auto{names.kinds[name]}:: {name}", *members, ""]
        out += ["```", ""]
    return "\n".join(out)


README_BLOCK = re.compile(r"(<!-- verdicts:begin -->\n).*?(<!-- verdicts:end -->)", re.S)


def readme_block(found: Sequence[Entry]) -> str:
    """Write the README's verdicts: counts, then all that does not simply hold.

    GitHub's tables allow no bar inside mathematics.
    """
    papers = sorted({_paper(e) for e in found})
    tally = Counter((e.verdict, _paper(e)) for e in found)
    rows = ["| verdict | " + " | ".join(papers) + " |", "|:--|" + "--:|" * len(papers)]
    rows += [
        f"| {v} | " + " | ".join(str(tally[v, p]) for p in papers) + " |"
        for v in Verdict
        if any(tally[v, p] for p in papers)
    ]
    rows += [
        "",
        "All that does not hold as printed, and what cannot be tested:",
        "",
        "| claim | verdict | statement as printed | where |",
        "|:--|:--|:--|:--|",
    ]
    for e in found:
        if e.verdict == "holds":
            continue
        math = re.sub(
            r"\$[^$]*\$",
            lambda m: m[0].replace("\\|", "\\Vert ").replace("|", "\\vert "),
            _line(e.claim.statement),
        )
        rows.append(f"| {e.claim.id} | **{e.verdict}** | {math} | {_line(e.claim.source)} |")
    return "\n".join(rows) + "\n"


def readme(text: str, found: Sequence[Entry]) -> str:
    """Rewrite the verdict block of the README's text.

    Raises:
        ValueError: If the block's markers are missing.
    """
    if not README_BLOCK.search(text):
        raise ValueError("README.md has no '<!-- verdicts:begin -->' ... '<!-- verdicts:end -->' block")
    return README_BLOCK.sub(lambda m: m[1] + readme_block(found) + m[2], text)
