"""A paper that a reader has, against what the book says of it: ``make source PAPER=... FILE=paper.pdf``.

Written are a page of the book, its line in ``_toc.yml``, and ``book/claims/texts/<paper>.yml``, which
`icl_book.claims.registry` lays over the claims. Of the text they keep its checksum, its length and the short
passages on the page.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import yaml

from icl.files import write_atomically
from icl_book.claims import Authority, Claim
from icl_book.claims.quotes import NAMES
from icl_book.claims.registry import COMPARED, FOLDER, NEARLY, NOT, VERBATIM, load
from icl_book.markup import environment
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.site.text import NEAR, NUMBER, Found, Text, key, kind, read

#: The papers of the book, and how the ids of their claims begin.
MAIN = {"collins2024": "P1", "gao2023tensor": "P2"}
HEAD = """\
# What `make source` found of this paper's quotations in its text. A statement that stands there "verbatim" is
# judged as the text's. Write "compared" for "nearly" where both say the same to you; a new run keeps it.
"""
ABOUT = """\
*Verbatim*: letters, digits and signs are the same in the same order; a PDF does not say what is raised or
below a bar. *Nearly*: a passage is alike, and words differ, or the way in which the file writes a formula.
*Not*: the closest passage is of something else, or too short to tell.
"""
QUOTE = "as the book has it"
_ARXIV = re.compile(r"arXiv[: ](\d{4}\.\d{5})")
_NAME = re.compile(
    r"\b(The|Lem|Cor|Pro|Def|Ass|Rem|Fact|Fig|Sec|App)[a-z]*\.? "
    rf"((?:{NUMBER}|[A-Z]\b)(?:(?:, | and ){NUMBER})*)"
)
_CONCORDANCE = re.compile(r"^\| *([^|]*?) *\| *([^|]*?) *\| *\{doc\}", re.MULTILINE)


@cache
def claims() -> dict[str, Claim]:
    """Return the claims as committed, whatever texts were read."""
    return load(FOLDER)


@cache
def papers() -> dict[str, tuple[str, str]]:
    """Return title and arXiv number of each paper that a claim quotes, by key of the bibliography."""
    said = {number for claim in claims().values() if claim.quote for number in _from(claim)}
    found = {}
    for entry in (ROOT / "book" / "references.bib").read_text(encoding="utf-8").split("\n}\n"):
        fields = re.search(r"@\w+\{(\w+),.*?^  title = \{(.*?)\},$.*arXiv:([\d.]+)", entry, re.S | re.M)
        if fields and fields[3] in said:
            found[fields[1]] = (re.sub("[{}]", "", fields[2]), fields[3])
    return found


def _from(claim: Claim) -> set[str]:
    """Return the arXiv numbers of the papers that a claim's quotation is said to be from."""
    document = NAMES.get(claim.place.partition(":")[0], "")
    return set(_ARXIV.findall(claim.source + document))


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


def _named(paper: str) -> dict[str, list[str]]:
    """Return each section, theorem or figure that the front page's table or a claim names, with who does."""
    found: dict[str, list[str]] = {}
    if paper == "collins2024":
        page = (
            (ROOT / "book" / "introduction.md").read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
        )
        for talk, name in _CONCORDANCE.findall(page.partition("| talk |")[2]):
            if _NAME.search(name):
                found.setdefault(name, []).append(f"concordance: {talk}")
    for claim in claims().values():
        for name in sorted(names(claim, papers()[paper][1])):
            found.setdefault(name, []).append(claim.id)
    return found


def check(name: str, text: Text) -> str:
    """Say where a text has a numbered part, and how it begins there; under another kind, or not at all."""
    if text.tex:
        return "not checked: a .tex file has no numbers"
    what, _, number = name.replace("Appendix", "Section").partition(" ")
    same = {n.partition(" ")[0]: at for n, at in text.parts.items() if n.endswith(f" {number}")}
    apart = ("Figure", "Section")  # numbered for themselves
    there = what if what in (*same, *apart) else next((k for k in same if k not in apart), what)
    if there not in same:
        return "not there"
    other = "" if there == what else f"as {there} {number}, "
    return f"{other}{text.where(same[there])}: {text.begins(same[there])}"


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
    text = read(file)
    title = papers()[paper][0]
    first = Text(text.whole[: text.keyed[1][:10000][-1]].casefold(), [0], "", "")
    if first.closest(key(title.casefold())[0])[0] < NEAR:
        raise BadInput(f"FILE={file!r}: does not begin with the title of PAPER={paper}, {title!r}")

    shown = _shown(paper, text)
    length = f"{len(text.starts)} {'pages' if text.unit == 'p.' else 'lines'}"
    layer, page = root / "book" / "claims" / "texts" / f"{paper}.yml", f"book/text_{paper}"
    found = {row[0]: {"words": row[1], "where": row[2]} for _, _, rows in shown[:2] for row in rows}
    _write_layer(layer, {"sha256": text.sha256, "length": length, "speaks_for": MAIN.get(paper, "")}, found)
    _write_page(root / f"{page}.md", paper, f"{length}, SHA-256 `{text.sha256}`", shown)
    _write_contents(root / "_toc.yml", f"          - file: {page}\n")
    lines = [f"{paper}: {length}, sha256 {text.sha256}"]
    for name, _, rows in shown:
        lines += [name, *(f"  {row[0]:24} {', '.join(filter(None, row[1:4]))}" for row in rows)]
    return [*lines, f"written: {layer.relative_to(root)}, {page}.md, _toc.yml; make book shows the page"]


def _shown(paper: str, text: Text) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return tables of what was found: title, heads, rows; those of the first two are of claims."""
    number, main = papers()[paper][1], MAIN.get(paper)
    quoted = {i: text.find(claim.quote) for i, claim in claims().items() if claim.quote}
    best_first = sorted(quoted, key=lambda i: -quoted[i].likeness)
    whose = Authority.TEXT if main else Authority.OTHER
    own = [i for i in quoted if number in _from(claims()[i]) and claims()[i].authority is whose]
    others = [i for i in best_first if claims()[i].paper == main and i not in own]
    tables = []
    for name, group in (("Quotations of the paper", own), ("Statements known from elsewhere", others)):
        words = [quoted[i].words for i in group]
        counts = ", ".join(f"{words.count(w)} {w}" for w in (VERBATIM, NEARLY, NOT))
        heads = ["statement", "in the text", "where", "what differs, or the closest passage", QUOTE]
        rows = [[i, *_words(quoted[i]), claims()[i].quote.replace("**", "")] for i in group]
        tables.append((f"{name}: {counts}", heads, rows))
    named = _named(paper)
    rows = [[name, check(name, text), f"named by {', '.join(who)}"] for name, who in named.items()]
    tables.append(("Names that the book uses", ["name", "in the text", "named by"], rows))
    at = [quoted[i].start for i in (*own, *others) if quoted[i].words != NOT]
    bare = [
        [name, text.where(start), text.begins(start)]
        for name, start in text.parts.items()
        if not name.startswith("Section")
        and name not in named
        and not any(start <= place < text.end(start) for place in at)
    ]
    return [*tables, (f"What no claim covers: {len(bare)}", ["name", "where", "how it begins"], bare)]


def _words(found: Found) -> tuple[str, str, str]:
    """Write what was found, where, and what differs or the closest passage."""
    differs = "; ".join(f"“{mine}” is “{theirs}”" for mine, theirs in found.differs)
    closest = f"alike by {found.likeness:.2f}: {found.passage}" if found.passage else "nothing alike"
    return found.words, found.where, {VERBATIM: "", NEARLY: differs}.get(found.words, closest)


def _write_contents(path: Path, line: str) -> None:
    """List a page below the audit, once."""
    contents, audit = path.read_text(encoding="utf-8"), "      - file: book/audit\n"
    below = "        sections:\n"
    if line not in contents:
        there = audit + below * (audit + below in contents)
        write_atomically(path, contents.replace(there, audit + below + line))


def _write_layer(path: Path, head: dict[str, str], found: dict[str, dict[str, str]]) -> None:
    """Write what was found of each claim; what is still nearly the same and was compared stays so."""
    old = yaml.safe_load(path.read_text(encoding="utf-8"))["claims"] if path.is_file() else {}
    for i, entry in found.items():
        if entry["words"] == NEARLY and old.get(i, {}).get("words") == COMPARED:
            entry["words"] = COMPARED
    layer = head | {"claims": {i: entry for i, entry in found.items() if entry["words"] != NOT}}
    path.parent.mkdir(exist_ok=True)
    write_atomically(path, HEAD + yaml.safe_dump(layer, sort_keys=False, allow_unicode=True))


def _write_page(
    path: Path, paper: str, file: str, shown: list[tuple[str, list[str], list[list[str]]]]
) -> None:
    table = environment().get_template("table.html.j2")
    pieces = [f"# The text of {papers()[paper][0]}\n", f"{{cite:t}}`{paper}`: {file}.\n\n{ABOUT}"]
    for name, heads, rows in shown:
        # of a text nothing is markup
        plain = [
            [c if h == QUOTE else re.sub(r"[$`*\\{}]+", " ", c) for h, c in zip(heads, row, strict=True)]
            for row in rows
        ]
        made = table.render(caption=name, heads=heads, rows=plain, short=True)
        pieces.append(f"## {name}\n\n" + (re.sub(r"\n\s*\n", "\n", made) if rows else "None.\n"))
    write_atomically(path, "\n".join(pieces))
