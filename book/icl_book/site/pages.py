"""Generated pages: the verdict table, the provenance, the API, the README's block.

Statements are MyST markdown with mathematics, so these functions write markdown, never
finished HTML; only badges and links to a card's anchor are inline HTML.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from icl_book.claims import Verdict
from icl_book.markup import badge
from icl_book.site.audit import Entry, group, sure
from icl_book.site.sources import Names, page_of


def _line(markdown: str) -> str:
    return " ".join(markdown.split())


def refused(found: Sequence[Entry]) -> list[Entry]:
    """Return the authors' own statements that do not simply hold: corrected, failed, or open to readings."""
    shown = (Verdict.CORRECTED, Verdict.FAILS, Verdict.DEPENDS, Verdict.INCONCLUSIVE)
    return [e for e in found if group(e) == "authors" and e.verdict in shown]


def verdict_table(found: Sequence[Entry]) -> str:
    """Write the introduction's lists of the authors' statements that do not simply hold.

    The audit has the readings of each.
    """
    out = []
    for verdict in Verdict:
        mine = [e for e in refused(found) if e.verdict == verdict]
        out += [f"{badge(verdict)}", ""] if mine else []
        for e in mine:
            severity = f" (in the {e.claim.severity})" if e.claim.severity else ""
            true = f" True is: {_line(e.claim.corrected)}." if e.claim.corrected else ""
            link = f'<a href="audit.html#audit-{e.claim.id}">{e.claim.id}</a>'
            out.append(f"- {link}{severity}: {_line(e.claim.quote)}.{true}")
        out += [""] if mine else []
    return "\n".join(out)


def provenance(runs: Sequence[dict], built: dict) -> str:
    """Write the table of runs with their parameters, machine and duration.

    Args:
        runs: What `icl_book.runner.record.collect` says of each executed notebook.
        built: Versions of the tools that built the pages, by name.
    """
    wheres = [
        f"{_cell(r['device'])}; {_cell(r['machine']['cpu'])}, {r['machine']['cores']} cores" for r in runs
    ]
    same = len(set(wheres)) == 1  # then it is said once
    out = ["| notebook | preset | seconds | commit |" + " where |" * (not same)]
    out.append("|:--|:--|--:|:--|" + ":--|" * (not same))
    for r, where in zip(runs, wheres, strict=True):
        commit = r["commit"]
        state = f"`{commit['id'][:7]}`" + (", changed" if commit["dirty"] else "") if commit else "unknown"
        link = f"[{r['name']}](../notebooks/{r['name']}.ipynb)"
        cells = [link, r["preset"], f"{r['seconds']:.1f}", state, *([] if same else [where])]
        out.append(f"| {' | '.join(cells)} |")
    total = sum(r["seconds"] for r in runs)
    out += [
        "",
        f"Together the notebooks took {total:.0f} s{f', all on {wheres[0]}' * same}.",
        "",
        "## Parameters",
    ]
    for r in runs:
        out += [
            "",
            f":::{{admonition}} {r['name']}",
            ":class: dropdown",
            "",
            "| parameter | value |",
            "|:--|:--|",
        ]
        out += [f"| `{k}` | `{_cell(v)}` |" for k, v in r["parameters"].items()]
        out.append(":::")
    out += ["", "## Versions", "", "| what | version |", "|:--|:--|"]
    versions = {k: v for r in runs for k, v in r["versions"].items()} | built
    return "\n".join([*out, *(f"| {k} | {_cell(v)} |" for k, v in versions.items()), ""])


def _cell(value) -> str:
    return str(value).replace("|", "\\|").replace("$", "\\$")


def api(names: Names) -> dict[str, str]:
    """Write the API pages: each room with its map and public names, then its modules that chapters use.

    Returns:
        Text by page, in a reader's order; see `icl_book.site.sources.page_of`.
    """
    out: dict[str, list[str]] = {}
    for module, objects in names.sections.items():
        top = module.count(".") == 1
        lines = out.setdefault(page_of(module), [])
        lines += [f"{'##' if top else '###'} `{module}`", ""]
        lines += ["```{eval-rst}", f".. automodule:: {module}", ""]
        for name in (f"{module}.{name}" for name in objects):
            members = ["   :members:"] if names.kinds[name] == "class" else []
            lines += [f".. auto{names.kinds[name]}:: {name}", *members, ""]
        lines += ["```", ""]
    return {page: "\n".join(lines) for page, lines in out.items()}


README_BLOCK = re.compile(r"(<!-- verdicts:begin -->\n).*?(<!-- verdicts:end -->)", re.S)


def readme_block(found: Sequence[Entry]) -> str:
    """Write the README's verdicts, the authors' own statements only: totals, then what is corrected or fails.

    GitHub's tables allow no bar inside mathematics.
    """
    papers = sorted({e.claim.paper for e in found})
    roots = [e for e in found if group(e) == "authors" and not e.claim.implied_by]
    out = []
    for paper in papers:
        counts = Counter(e.verdict for e in roots if e.claim.paper == paper and not sure(e))
        certain = sum(e.claim.paper == paper and sure(e) for e in roots)
        total = sum(n for v, n in counts.items() if v != Verdict.NOT_TESTABLE)
        each = ", ".join(f"*{v}* {counts[v]}" for v in Verdict if counts[v] and v != Verdict.NOT_TESTABLE)
        lost = counts[Verdict.NOT_TESTABLE]
        said = [
            f"{total} tested, {each}" if total else "",
            f"{certain} are identities or cannot fail" if certain else "",
            f"{lost} cannot be tested from what is public" if lost else "",
        ]
        out.append(f"- {paper}, statements of its authors: {'; '.join(filter(None, said))}.")
    wrong = [e for e in roots if e.verdict in (Verdict.CORRECTED, Verdict.FAILS)]
    if wrong:
        out += ["", "| where | as printed | corrected |", "|:--|:--|:--|"]
        out += [
            f"| {_line(e.claim.source)} ({e.claim.severity}) | "
            f"{_github(e.claim.quote)} | {_github(e.claim.corrected or 'no correction')} |"
            for e in wrong
        ]
    return "\n".join(out) + "\n"


def _github(markdown: str) -> str:
    return re.sub(
        r"\$[^$]*\$", lambda m: m[0].replace("\\|", "\\Vert ").replace("|", "\\vert "), _line(markdown)
    )


def readme(text: str, found: Sequence[Entry]) -> str:
    """Rewrite the verdict block of the README's text.

    Raises:
        ValueError: If the block's markers are missing.
    """
    if not README_BLOCK.search(text):
        raise ValueError("README.md has no '<!-- verdicts:begin -->' ... '<!-- verdicts:end -->' block")
    return README_BLOCK.sub(lambda m: m[1] + readme_block(found) + m[2], text)
