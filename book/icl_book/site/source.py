"""A paper that a reader has, against what the book says of it: ``make source PAPER=... FILE=paper.pdf``.

Written are a page of the book, its line in ``_toc.yml``, and ``book/claims/texts/<paper>.yml``, which
`icl_book.claims.registry` lays over the claims. Of the text they keep its checksum, its length and the short
passages on the page.
"""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from icl.files import write_atomically
from icl_book.claims import Claim, registry
from icl_book.claims.quotes import NAMES
from icl_book.claims.registry import COMPARED, NEARLY, VERBATIM
from icl_book.markup import environment
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.site.text import LONGEST, NEAR, NUMBER, Found, Text, key, kind, read

#: The papers of the book, and how the ids of their claims begin.
MAIN = {"collins2024": "P1", "gao2023tensor": "P2"}
HEAD = """\
# What `make source` found of this paper's quotations in its text. A statement that stands there "verbatim" is
# judged as the text's. Write "compared" for "nearly" where both say the same to you; a new run keeps it.
"""
ABOUT = """
*Verbatim*: letters, digits and signs are the same in the same order; a PDF does not say what is raised or
below a bar. *Nearly*: a passage is alike, and words differ, or the way in which the file writes a formula.
*Not*: the closest passage is of something else, or too short to tell.
"""
_ARXIV = re.compile(r"arXiv[: ](\d{4}\.\d{5})")
_NAME = re.compile(
    r"\b(The|Lem|Cor|Pro|Def|Ass|Rem|Fact|Fig|Sec|App)[a-z]*\.? "
    rf"((?:{NUMBER}|[A-Z]\b)(?:(?:, | and ){NUMBER})*)"
)
_CONCORDANCE = re.compile(r"^\| *([^|]*?) *\| *([^|]*?) *\| *\{doc\}", re.MULTILINE)


def papers() -> dict[str, tuple[str, str]]:
    """Return title and arXiv number of each paper that a quotation may be from, by bibliography key."""
    said = {number for claim in registry().values() if claim.quote for number in _said(claim)}
    entries = re.split(r"^@\w+", (ROOT / "book" / "references.bib").read_text(encoding="utf-8"), flags=re.M)
    found = {}
    for entry in entries:
        number = _ARXIV.search(entry)
        if number and number[1] in said:
            title = re.search(r"^  title = \{(.*)\},$", entry, re.MULTILINE)
            found[entry[1 : entry.index(",")]] = (title[1] if title else "", number[1])
    return found


def _said(claim: Claim) -> list[str]:
    """Return the arXiv numbers of the papers that a claim's quotation is said to be from."""
    document = NAMES.get(claim.place.partition(":")[0], "")
    return _ARXIV.findall(claim.source + (document if document.startswith("abstract") else ""))


def names(claim: Claim, number: str) -> set[str]:
    """Return what a claim names of the paper of an arXiv number, e.g. ``{"Lemma C.3", "Figure 8"}``.

    The talk numbers its theorems without a point, paper 1 with one.
    """
    found: set[str] = set()
    mine = next(papers()[k][1] for k, start in MAIN.items() if start == claim.paper)
    text = f"{claim.source}; {claim.quote * (claim.paper == 'P1')}"
    for m in _NAME.finditer(text):
        after = re.match(r"[^;,]*? of arXiv (\d{4}\.\d{5})", text[m.end() :])
        before = _ARXIV.findall(text[: m.start()])
        of = after[1] if after else before[-1] if before else mine
        if of == number:
            talk = claim.paper == "P1" and kind(m[1]) in ("Theorem", "Lemma", "Definition")
            found |= {
                f"{kind(m[1])} {n}" for n in m[2].replace(" and ", ", ").split(", ") if not talk or "." in n
            }
    return found


def _concordance(paper: str) -> dict[str, list[str]]:
    """Return each section, theorem or figure that the front page's table or a claim names, with who does."""
    found: dict[str, list[str]] = {}
    if paper == "collins2024":
        page = (ROOT / "book" / "introduction.md").read_text(encoding="utf-8")
        for talk, name in _CONCORDANCE.findall(page.partition("| talk |")[2]):
            if _NAME.search(name):
                found.setdefault(name, []).append(f"concordance: {talk}")
    for claim in registry().values():
        for name in sorted(names(claim, papers()[paper][1])):
            found.setdefault(name, []).append(claim.id)
    return found


def check(name: str, text: Text) -> str:
    """Say where a text has a numbered part, and how it begins there; under another kind, or not at all."""
    what, _, number = name.partition(" ")
    if text.tex:
        return "not checked: a .tex file has no numbers"
    part = what in ("Section", "Appendix")
    places = {
        n: at
        for n, at in text.items.items()
        if n.split()[1] == number and ("Figure" in (n.split()[0], what)) <= (n == name)
    }
    if part and number in text.sections:
        places = {name: text.sections[number]}
    if not places:
        return "not there"
    there = name if name in places else next(iter(places))
    begins = " ".join(text.whole[places[there] : places[there] + LONGEST].split())
    return f"{'' if there == name or part else f'as {there}, '}{text.where(places[there])}: {begins}"


def compare(paper: str, file: str, root: Path = ROOT) -> list[str]:
    """Compare a paper with its claims, and write page, contents and layer below a repository.

    Args:
        paper: Key in the bibliography, e.g. ``"collins2024"``.
        file: A ``.pdf``, ``.tex`` or ``.txt`` file.
        root: Where the files are written.

    Returns:
        What was found, in lines.

    Raises:
        BadInput: For an unknown paper, a file that cannot be read, or another paper's.
    """
    if paper not in papers():
        raise BadInput(f"PAPER={paper!r}: must be one of {', '.join(papers())}")
    title, number = papers()[paper]
    text = read(file)
    start = Text(text.whole[: 2 * text.keyed[1][min(4000, len(text.keyed[1]) - 1)]].casefold(), [0], "", "")
    if start.closest(key(title.casefold())[0])[0] < NEAR:
        raise BadInput(f"FILE={file!r}: does not begin with the title of PAPER={paper}, {_bare(title)!r}")

    quoted = [c for c in registry().values() if c.quote]
    own = {c.id: text.find(c.quote) for c in quoted if number in _said(c)}
    others = {c.id: text.find(c.quote) for c in quoted if c.paper == MAIN.get(paper) and c.id not in own}
    others = dict(sorted(others.items(), key=lambda item: -item[1].likeness))
    parts = [(name, ", ".join(who), check(name, text)) for name, who in _concordance(paper).items()]
    named = {name for name, _, _ in parts}
    at = [found.start for found in (own | others).values() if found.words != "not"]
    bare = [
        f"{name} ({text.where(start)})"
        for name, start in text.items.items()
        if name not in named and not any(start <= place < text.end(start) for place in at)
    ]

    length = f"{len(text.starts)} {'pages' if text.unit == 'p.' else 'lines'}"
    layer = root / "book" / "claims" / "texts" / f"{paper}.yml"
    _write_layer(layer, paper, text.sha256, length, own | others)
    page = _page(paper, title, f"{length}, SHA-256 `{text.sha256}`", own, others, parts, bare)
    write_atomically(root / "book" / f"text_{paper}.md", page)
    _write_contents(root / "_toc.yml", f"          - file: book/text_{paper}\n")
    lines = [f"{paper}: {length}, sha256 {text.sha256[:16]}..."]
    for what, group in (("quotations of the paper", own), ("statements known from elsewhere", others)):
        lines.append(f"{len(group)} {what}: {_counts(group)}")
        lines += [f"  {i:24} {_said_of(found)}" for i, found in group.items()]
    lines += ["what the book names:", *(f"  {name:24} {there} [{who}]" for name, who, there in parts)]
    lines += [f"no claim covers: {', '.join(bare) or 'none'}"]
    return [
        *lines,
        f"written: {layer.relative_to(root)}, book/text_{paper}.md, _toc.yml; make book shows the page",
    ]


def _bare(title: str) -> str:
    return title.translate({ord(c): None for c in "{}"})


def _counts(group: dict[str, Found]) -> str:
    words = [found.words for found in group.values()]
    return ", ".join(f"{words.count(w)} {w}" for w in (VERBATIM, NEARLY, "not"))


def _said_of(found: Found) -> str:
    if found.words == VERBATIM:
        return f"{VERBATIM}, {found.where}"
    if found.words == NEARLY:
        return f"{NEARLY}, {found.where}: " + "; ".join(f"{a!r} is {b!r}" for a, b in found.differs)
    return f"not, closest {found.where} ({found.likeness:.2f}): {found.passage}" if found.where else "not"


def _write_contents(path: Path, line: str) -> None:
    """List a page below the audit, once."""
    contents, audit, below = (
        path.read_text(encoding="utf-8"),
        "      - file: book/audit\n",
        "        sections:\n",
    )
    if line not in contents:
        there = audit + below * (audit + below in contents)
        write_atomically(path, contents.replace(there, audit + below + line))


def _write_layer(path: Path, paper: str, sha256: str, length: str, found: dict[str, Found]) -> None:
    old = yaml.safe_load(path.read_text(encoding="utf-8"))["claims"] if path.is_file() else {}
    claims = {
        i: {
            "words": COMPARED
            if one.words == NEARLY and old.get(i, {}).get("words") == COMPARED
            else one.words,
            "where": one.where,
        }
        for i, one in found.items()
        if one.words != "not"
    }
    layer = {"sha256": sha256, "length": length, "speaks_for": MAIN.get(paper, ""), "claims": claims}
    path.parent.mkdir(exist_ok=True)
    write_atomically(path, HEAD + yaml.safe_dump(layer, sort_keys=False, allow_unicode=True))


def _page(
    paper: str,
    title: str,
    file: str,
    own: dict[str, Found],
    others: dict[str, Found],
    parts: list[tuple[str, str, str]],
    bare: list[str],
) -> str:
    def table(caption: str, heads: list[str], rows: list[list[str]]) -> str:
        template = environment().get_template("table.html.j2")
        made = template.render(caption=caption, heads=heads, rows=rows, short=True)
        return re.sub(r"\n\s*\n", "\n", made) + "\n"

    def plain(passage: str) -> str:  # of a text, nothing is markup
        return re.sub(r"[$`*\\{}]+", " ", passage)

    def rows(group: dict[str, Found]) -> list[list[str]]:
        return [
            [
                i,
                registry()[i].quote.replace("**", ""),
                found.words,
                found.where,
                plain(found.passage),
                "; ".join(f"“{plain(mine)}” is “{plain(theirs)}”" for mine, theirs in found.differs)
                if found.words == NEARLY
                else "",
            ]
            for i, found in group.items()
        ]

    heads = ["statement", "as the book has it", "in the text", "where", "closest passage", "what differs"]
    pieces = [
        f"# The text of {_bare(title)}\n",
        f"{{cite:t}}`{paper}`, {file}, read by `make source`.",
        ABOUT,
    ]
    for name, group in (("Quotations of the paper", own), ("Statements known from elsewhere", others)):
        pieces.append(f"\n## {name}\n\n{_counts(group).capitalize()}.\n")
        pieces += [table(name, heads, rows(group))] if group else []
    pieces.append("\n## What the book names\n")
    named = [[name, who, plain(there)] for name, who, there in parts]
    pieces += (
        [table("Names, and what stands there", ["name", "named by", "in the text"], named)] if named else []
    )
    pieces.append(f"\n## What no claim covers\n\n{', '.join(bare) or 'Nothing that is numbered'}.\n")
    return "\n".join(pieces)
