"""A paper that a reader has, against what the book says of it: ``make source PAPER=... FILE=paper.pdf``.

Compared are letters, digits and signs, without spaces, hyphens, fonts and braces: columns, ligatures and
words divided at a line's end do not count. A PDF does not say what is raised or below a bar; of a ``.tex``
file that counts as well. Written are a page of the book, its line in ``_toc.yml``, and
``book/claims/texts/<paper>.yml``, which `icl_book.claims.registry` lays over the claims; of the text they
keep its checksum, its length and the short passages on the page.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections import Counter, defaultdict
from difflib import SequenceMatcher
from functools import cache
from hashlib import sha256
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import yaml
from docutils.utils.math import tex2unichar

from icl.files import write_atomically
from icl_book.claims import Authority, Claim
from icl_book.claims.quotes import GAP, NAMES
from icl_book.claims.registry import COMPARED, FOLDER, NEARLY, NOT, VERBATIM, load
from icl_book.markup import environment
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT

#: The papers of the book, by how the ids of their claims begin.
MAIN = {"P1": "collins2024", "P2": "gao2023tensor"}
HEAD = """\
# What `make source` found of this paper's quotations in its text. A statement that stands there "verbatim" is
# judged as the text's. Write "compared" for "nearly" where both say the same to you; a new run keeps it.
"""
#: From this similarity on a passage is nearly the quotation; in manuals of software the best had 0.73.
NEAR = 0.8
#: Fewest characters of a quotation that can be found, and of one that can nearly be.
SHORT, SHORT_NEARLY = 5, 15
#: Longest passage that is printed, and longest part that one claim covers.
LONGEST, PART = 240, 3000
PAGE = "\f\n"  # ends a page
#: Kinds of parts that are numbered together, and those with numbers of their own.
STATED = (
    "Theorem",
    "Lemma",
    "Corollary",
    "Proposition",
    "Definition",
    "Assumption",
    "Remark",
    "Fact",
)
APART = ("Figure", "Section", "Appendix")
_KINDS = {kind[:3]: kind for kind in STATED + APART}
_NUMBER = r"(?:[A-Z]\.?)?\d+(?:\.\d+)*"

_SIGNS = set("<>=≠+−±≤≥≪≫→⇒∞⊗∈∑∫√′⊤")
_SYMBOLS = (
    tex2unichar.mathalpha
    | tex2unichar.mathbin
    | tex2unichar.mathop
    | tex2unichar.mathord
)
_SYMBOLS |= tex2unichar.mathrel | {
    "implies": "⇒",
    "sqrt": "√",
    "frac": "÷",
    "dfrac": "÷",
    "tfrac": "÷",
}
_SYMBOLS |= {
    name: name
    for name in "min max inf sup exp log lim arg argmin argmax dim det diag vec".split()
}
_MATH = re.compile(
    r"(?s)(?<!\\)\$\$.+?\$\$|(?<!\\)\$[^$]+?(?<!\\)\$|\\\[.+?\\\]|\\\(.+?\\\)"
    r"|\\begin\{(equation|align|gather|multline)(\*?)\}.+?\\end\{\1\2\}"
)
_DIVIDED = re.compile(r"(?<=\w)[-\u00ad‐]\s*\n\s*")
_WORD = re.compile(rf"(?:\S*{_DIVIDED.pattern})*\S+")
_TOKEN = re.compile(r"\\([A-Za-z]+)|[\u2044\u0338]=|≠|.", re.DOTALL)
_GROUP = r"(\{(?:[^{}]|\{[^{}]*\})*\}|\\[A-Za-z]+|\w|\+)"
_BOTH = re.compile(rf"_{_GROUP}\s*\^{_GROUP}")
_PART = re.compile(
    rf"""(?mx)^[ \t]*(?P<kind>{"|".join(STATED)}|Figure|Fig)\.?\s*(?P<number>{_NUMBER})(?=\s*[.:(]|\s+[A-Z])
    | ^[ \t]*(?:(?:Appendix|Section)[ ])?(?P<section>(?:[A-Z]|\d{{1,2}})(?:\.\d+)*)\.?\s+[A-Z][a-z]+
    | \\begin\{{(?P<tex>{"|".join(STATED).lower()}|figure)\*?\}}"""
)
_ARXIV = re.compile(r"arXiv[: ](\d{4}\.\d{5})")
_NAME = re.compile(
    rf"\b({'|'.join(_KINDS)})[a-z]*\.? ((?:{_NUMBER}|[A-Z]\b)(?:(?:, | and ){_NUMBER})*)"
)
_CONCORDANCE = re.compile(rf"^\| *([^|]*?) *\| *([A-Z]\w+ {_NUMBER}) *\|", re.MULTILINE)


def formulas(text: str) -> str:
    """Tell the minus and prime of formulas in TeX from hyphen and apostrophe."""
    return _MATH.sub(lambda m: m[0].replace("-", "−").replace("'", "′"), text)


def key(text: str, raised: bool = False) -> str:
    """Return what is compared of a text after `formulas`; if ``raised``, also ``^``, ``_`` and fractions."""
    found = ""
    for match in _TOKEN.finditer(text):
        out = _SYMBOLS.get(match[1], "") if match[1] else match[0]
        struck = (
            "≠" in out or len(out) == 2 and out[-1] == "="
        )  # it would fall apart below
        for c in "≠" if struck else unicodedata.normalize("NFKD", out):
            if (
                (c.isalnum() and unicodedata.category(c) != "Lm")
                or c in _SIGNS
                or (raised and c in "^_÷")
            ):
                found += c
    return found


class Found(NamedTuple):
    """What a text has of a quotation; of several pieces the place is the first's, the likeness the least."""

    words: str
    where: str = ""
    said: str = "nothing alike"  # or the words that differ, or the closest passage
    likeness: float = 0.0
    start: int = -1


class Text:
    """The text of a paper; ``mark`` ends each of its pages, or each of its lines if it has no pages.

    ``parts`` has extent, page and beginning of statements, figures and sections; an appendix is a section. Of
    TeX, which has no numbers, statements are named by their lines.
    """

    def __init__(self, whole: str, mark: str = "\n", tex: bool = False) -> None:
        self.whole, self.mark, self.tex = whole, mark, tex
        self.words = [
            (m.start(), _DIVIDED.sub("", m[0])) for m in _WORD.finditer(whole)
        ]
        keys = [key(word, tex) for _, word in self.words]
        self.keyed = "".join(keys)
        self._word_at = [i for i, characters in enumerate(keys) for _ in characters]
        self._grams = defaultdict(list)
        for start in range(len(self.keyed) - 3):
            self._grams[self.keyed[start : start + 4]].append(start)
        starts: dict[str, int] = {}
        for m in _PART.finditer(whole):
            number = m["number"] or m["section"] or f"in {self.where(m.start())}"
            word = m["kind"] or m["tex"] or "Section"
            starts.setdefault(f"{_KINDS[word[:3].capitalize()]} {number}", m.start())
        ends = dict(pairwise([*sorted(starts.values()), len(whole)]))
        self.parts = {
            name: (
                range(at, min(ends[at], at + PART)),
                self.where(at),
                _short(whole[at : ends[at]]),
            )
            for name, at in starts.items()
        }

    def where(self, place: int) -> str:
        """Return the page or line of a place."""
        return f"{'p.' if self.mark == PAGE else 'line'} {self.whole.count(self.mark, 0, place) + 1}"

    def closest(self, wanted: str) -> tuple[float, int, int]:
        """Return similarity, beginning and end of the passage most like `wanted`, in `keyed`."""
        step, best = max(8, len(wanted) // 4), (0.0, 0, 0)
        votes: Counter[int] = Counter()
        for i in range(len(wanted) - 3):
            places = self._grams.get(wanted[i : i + 4], [])
            for place in places:
                votes[(place - i) // step] += 1000 // len(places)
        for begin, _ in votes.most_common(8):
            first = max(0, (begin - 2) * step)
            window = self.keyed[first : first + len(wanted) + 5 * step]
            blocks = SequenceMatcher(
                None, wanted, window, autojunk=False
            ).get_matching_blocks()
            for i, a in enumerate(blocks):
                same = 0
                for b in blocks[i:]:
                    same += b.size
                    end = b.b + b.size
                    best = max(
                        best,
                        (
                            2 * same / (len(wanted) + end - a.b or 1),
                            first + a.b,
                            first + end,
                        ),
                    )
        return best

    def find(self, quote: str) -> Found:
        """Find a quotation, its pieces in order; of what is raised and lowered either may be first."""
        spans: list[tuple[float, int, int]] = []
        differs: list[str] = []
        end = 0
        pieces = formulas(quote).split(GAP)
        for piece in pieces:
            spellings = [
                (key(p, self.tex), p) for p in (_BOTH.sub(r"^\2_\1", piece), piece)
            ]
            there = [
                at
                for wanted, _ in spellings
                if (at := self.keyed.find(wanted, end)) >= 0
            ]
            if there and (len(spellings[0][0]) >= SHORT or spans):
                like, start, end = 1.0, there[0], there[0] + len(spellings[0][0])
            else:
                (like, start, end), spelling = max(
                    (self.closest(wanted), p) for wanted, p in spellings
                )
                differs += self._differences(spelling, self._passage(start, end))
                if like == 1:
                    differs.append(f"“{piece.strip()}” is “elsewhere”")
            spans.append((like, start, end))
        like, (_, start, end) = min(spans)[0], spans[0]
        if not end:
            return Found(NOT)
        near = (
            like >= NEAR
            and max(len(key(piece, self.tex)) for piece in pieces) >= SHORT_NEARLY
        )
        words = VERBATIM if like == 1 and not differs else NEARLY if near else NOT
        closest = f"alike by {like:.2f}: {_short(self._passage(start, end))}"
        place = self.words[self._word_at[start]][0]
        return Found(
            words,
            self.where(place),
            closest if words == NOT else "; ".join(differs),
            like,
            place,
        )

    def _passage(self, start: int, stop: int) -> str:
        """Return the words of a part of `keyed`."""
        words = (
            self.words[self._word_at[start] : self._word_at[stop - 1] + 1]
            if stop
            else []
        )
        return " ".join(word for _, word in words)

    def _differences(self, quote: str, passage: str) -> list[str]:
        """Return the words in which a quotation and a passage differ, e.g. ``"“thus” is “so”"``."""
        sides = [
            [w for w in text.split() if key(w, self.tex)] for text in (quote, passage)
        ]
        mine, theirs = ([key(w, self.tex) for w in side] for side in sides)
        codes = SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes()
        return [
            f"“{' '.join(sides[0][a:b])}” is “{' '.join(sides[1][c:d])}”"
            for _, a, b, c, d in codes
            if "".join(mine[a:b]) != "".join(theirs[c:d])
        ]


def _short(passage: str) -> str:
    line = " ".join(passage.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 4] + " ..."


# --------------------------------------------------------------------------- reading a file
def read(file: str) -> Text:
    """Read a ``.pdf``, ``.tex`` or ``.txt`` file; raises `BadInput` for one that is none, or has no text."""
    path, suffix = Path(file), Path(file).suffix.lower()
    if suffix not in (".pdf", ".tex", ".txt"):
        raise BadInput(f"FILE={file!r}: must be a .pdf, .tex or .txt file")
    if not path.is_file():
        raise BadInput(f"FILE={file!r}: there is no such file")
    if suffix == ".pdf":
        text = _pdf(path)
    else:
        text = path.read_text(encoding="utf-8", errors="replace").rstrip()
        text = formulas(_tex(text) if suffix == ".tex" else text).replace("\f", PAGE)
    mark = PAGE if suffix == ".pdf" or PAGE in text else "\n"
    found = Text(text + mark, mark, suffix == ".tex")
    if len(found.keyed) < 100 * max(1, found.whole.count(PAGE)):
        raise BadInput(
            f"FILE={file!r}: has next to no text; a scanned paper must be read by OCR first"
        )
    return found


def _pdf(path: Path) -> str:
    """Return the text of all pages, without page numbers and running heads."""
    from pypdf import PdfReader, errors

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        pages = [page.extract_text().splitlines() for page in PdfReader(path).pages]
    except (errors.FileNotDecryptedError, errors.DependencyError) as error:
        raise BadInput(
            f"FILE={str(path)!r}: is encrypted; save a copy without a password"
        ) from error
    except Exception as error:  # of a damaged file pypdf raises whatever its parts do
        raise BadInput(
            f"FILE={str(path)!r}: is no PDF that can be read ({type(error).__name__})"
        ) from error
    bare = [[re.sub(r"[\d\s]", "", line) for line in page] for page in pages]
    often = Counter(line for page in bare for line in {*page[:2], *page[-2:]})
    kept = []
    for page, heads in zip(pages, bare, strict=True):
        inner = range(
            0 if page is pages[0] else 2, len(page) - 2
        )  # the title may head the other pages
        lines = [
            line
            for i, line in enumerate(page)
            if i in inner or (heads[i] and often[heads[i]] < 2)
        ]
        kept.append("\n".join(lines))
    return PAGE.join(kept)


def _tex(text: str) -> str:
    """Return TeX without comments and references, with its own short commands written out."""
    text = re.sub(
        r"(?<!\\)%.*|\\(?:label|ref|eqref|[cC]ref|cite[a-z]*)\*?(?:\[[^]]*\])*\{[^}]*\}",
        "",
        text,
    )
    short = (
        r"\\(?:(?:re)?newcommand\*?|def)\s*\{?\\(\w+)\}?\s*\{((?:[^{}]|\{[^{}]*\})*)\}"
    )
    for name, meaning in re.findall(short, text):
        text = re.sub(rf"\\{name}(?![A-Za-z])", meaning.replace("\\", r"\\"), text)
    return text


# --------------------------------------------------------------------------- what the book says of it
@cache
def claims() -> dict[str, Claim]:
    """Return the claims as committed, whatever texts were read."""
    return load(FOLDER)


@cache
def papers() -> dict[str, tuple[str, str]]:
    """Return title and arXiv number of each paper that a claim quotes, by key of the bibliography."""
    said = {
        number for claim in claims().values() if claim.quote for number in _from(claim)
    }
    found = {}
    for entry in (
        (ROOT / "book" / "references.bib").read_text(encoding="utf-8").split("\n}\n")
    ):
        fields = re.search(
            r"@\w+\{(\w+),.*?^  title = \{(.*?)\},$.*arXiv:([\d.]+)", entry, re.S | re.M
        )
        if fields and fields[3] in said:
            found[fields[1]] = (re.sub("[{}]", "", fields[2]), fields[3])
    return found


def _from(claim: Claim) -> set[str]:
    """Return the arXiv numbers of the papers that a claim's quotation is said to be from."""
    document = NAMES.get(claim.place.partition(":")[0], "")
    return set(_ARXIV.findall(claim.source + document))


def _named(paper: str) -> dict[str, dict[str, None]]:
    """Return each section, theorem or figure that the front page's table or a claim names, with who does.

    Without a point the number of a statement is the talk's.
    """
    found: dict[str, dict[str, None]] = defaultdict(
        dict
    )  # of the inner ones the keys, each once, in order
    if paper == MAIN["P1"]:
        page = (ROOT / "book" / "introduction.md").read_text(encoding="utf-8")
        for talk, name in _CONCORDANCE.findall(page.replace("\N{NO-BREAK SPACE}", " ")):
            found[name][f"concordance: {talk}"] = None
    for claim in claims().values():
        said = f"{claim.source}; {claim.quote * (claim.paper == 'P1')}"
        said = re.sub(rf"([^;,]*) of ({_ARXIV.pattern})", r"\2, \1", said)
        of = papers()[MAIN[claim.paper]][1]
        for arxiv, word, numbers in re.findall(
            rf"{_ARXIV.pattern}|{_NAME.pattern}", said
        ):
            of = arxiv or of
            if word and of == papers()[paper][1]:
                for number in re.split(", | and ", numbers):
                    if "." in number or _KINDS[word] in APART:
                        found[f"{_KINDS[word]} {number}"][claim.id] = None
    return found


def check(name: str, text: Text) -> str:
    """Say where a text has a numbered part, and how it begins there; under another kind, or not at all."""
    if text.tex:
        return "not checked: a .tex file has no numbers"
    what, number = name.replace("Appendix", "Section").split()
    for other in [what] if what in APART else [what, *STATED]:
        if f"{other} {number}" in text.parts:
            _, where, begins = text.parts[f"{other} {number}"]
            return f"as {other} {number}, " * (other != what) + f"{where}: {begins}"
    return "not there"


def compare(paper: str, file: str, root: Path = ROOT) -> list[str]:
    """Compare a paper with its claims, write page, contents and layer, and return in lines what was found.

    Raises:
        BadInput: For an unknown paper, a file that cannot be read, or another paper's.
    """
    if paper not in papers():
        raise BadInput(f"PAPER={paper!r}: must be one of {', '.join(papers())}")
    text, (title, _) = read(file), papers()[paper]
    if Text(text.whole[:15000].casefold()).closest(key(title.casefold()))[0] < NEAR:
        raise BadInput(
            f"FILE={file!r}: does not begin with the title of PAPER={paper}, {title!r}"
        )

    main = next((start for start, own in MAIN.items() if own == paper), "")
    shown = _shown(paper, main, text)
    length = (
        f"{text.whole.count(text.mark)} {'pages' if text.mark == PAGE else 'lines'}"
    )
    head = {
        "sha256": sha256(Path(file).read_bytes()).hexdigest(),
        "length": length,
        "speaks_for": main,
    }
    layer, page = (
        root / "book" / "claims" / "texts" / f"{paper}.yml",
        f"book/text_{paper}",
    )
    _write_layer(layer, head, shown)
    template = environment().get_template("text.md.j2")
    made = template.render(head, paper=paper, title=title, shown=shown, claims=claims())
    write_atomically(root / f"{page}.md", made)
    contents = (root / "_toc.yml").read_text(encoding="utf-8")
    if page not in contents:
        below = rf"\1        sections:\n          - file: {page}\n"
        contents = re.sub(
            r"(      - file: book/audit\n)(        sections:\n)?", below, contents
        )
        write_atomically(root / "_toc.yml", contents)
    lines = [f"{paper}: {length}, sha256 {head['sha256']}"]
    for name, rows in shown.items():
        lines += [
            name,
            *(f"  {row[0]:24} {', '.join(filter(None, row[1:]))}" for row in rows),
        ]
    return [
        *lines,
        f"written: {layer.relative_to(root)}, {page}.md, _toc.yml; make book shows the page",
    ]


def _shown(paper: str, main: str, text: Text) -> dict[str, list[list[str]]]:
    """Return tables of what was found, as rows by title; those of the first two are of claims."""
    number = papers()[paper][1]
    quoted = {i: text.find(claim.quote) for i, claim in claims().items() if claim.quote}
    best_first = sorted(quoted, key=lambda i: -quoted[i].likeness)
    whose = Authority.TEXT if main else Authority.OTHER
    own = [
        i
        for i in quoted
        if number in _from(claims()[i]) and claims()[i].authority is whose
    ]
    others = [i for i in best_first if claims()[i].paper == main and i not in own]
    shown = {}
    for title, group in (
        ("Quotations of the paper", own),
        ("Statements known from elsewhere", others),
    ):
        words = [quoted[i].words for i in group]
        counts = ", ".join(f"{words.count(w)} {w}" for w in (VERBATIM, NEARLY, NOT))
        shown[f"{title}: {counts}"] = [[i, *quoted[i][:3]] for i in group]
    named = _named(paper)
    shown["Names that the book uses"] = [
        [name, check(name, text), f"named by {', '.join(who)}"]
        for name, who in named.items()
    ]
    at = [quoted[i].start for i in (*own, *others) if quoted[i].words != NOT]
    bare = [
        [name, where, begins]
        for name, (extent, where, begins) in text.parts.items()
        if not name.startswith("Section")
        and name not in named
        and not any(i in extent for i in at)
    ]
    return shown | {f"What no claim covers: {len(bare)}": bare}


def _write_layer(
    path: Path, head: dict[str, str], shown: dict[str, list[list[str]]]
) -> None:
    """Write what was found of each claim; what is still nearly the same and was compared stays so."""
    old = (
        yaml.safe_load(path.read_text(encoding="utf-8"))["claims"]
        if path.is_file()
        else {}
    )
    found = {}
    for i, words, where, *_ in chain(*shown.values()):
        if words in (VERBATIM, NEARLY):
            kept = words == NEARLY and old.get(i, {}).get("words") == COMPARED
            found[i] = {"words": COMPARED if kept else words, "where": where}
    path.parent.mkdir(exist_ok=True)
    layer = yaml.safe_dump(
        head | {"claims": found}, sort_keys=False, allow_unicode=True
    )
    write_atomically(path, HEAD + layer)
