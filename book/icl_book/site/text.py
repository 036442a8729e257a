"""The text of a paper from a file, and what it has of a quotation.

Compared are letters, digits and signs, without spaces, hyphens, fonts and braces: columns, ligatures and
words divided at a line's end do not count. A PDF does not say what is raised or below a bar; of a ``.tex``
file that counts as well.
"""

from __future__ import annotations

import hashlib
import logging
import re
import unicodedata
from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from docutils.utils.math import tex2unichar

from icl_book.claims.quotes import GAP
from icl_book.claims.registry import NEARLY, NOT, VERBATIM
from icl_book.parameters import BadInput

#: From this similarity on a passage is nearly the quotation; in manuals of software the best had 0.73.
NEAR = 0.8
#: Fewest characters of a quotation that can be found, and of one that can nearly be.
SHORT, SHORT_NEARLY = 5, 15
#: Longest passage that is printed.
LONGEST = 240

_SIGNS = set("<>=≠+−±≤≥≪≫→⇒∞⊗∈∑∫√′⊤")
_SYMBOLS = tex2unichar.mathalpha | tex2unichar.mathbin | tex2unichar.mathop | tex2unichar.mathord
_SYMBOLS |= tex2unichar.mathrel | {"implies": "⇒", "sqrt": "√", "frac": "÷", "dfrac": "÷", "tfrac": "÷"}
_SYMBOLS |= {name: name for name in "min max inf sup exp log lim arg argmin argmax dim det diag vec".split()}
_MATH = re.compile(
    r"(?<!\\)\$\$.+?\$\$|(?<!\\)\$[^$]+?(?<!\\)\$|\\\[.+?\\\]|\\\(.+?\\\)"
    r"|\\begin\{(equation|align|gather|multline)(\*?)\}.+?\\end\{\1\2\}",
    re.DOTALL,
)
_TOKEN = re.compile(r"\\([A-Za-z]+)|[\u2044\u0338]=|≠|.", re.DOTALL)
_GROUP = r"(\{(?:[^{}]|\{[^{}]*\})*\}|\\[A-Za-z]+|\w|\+)"
_BOTH = re.compile(rf"_{_GROUP}\s*\^{_GROUP}")
NUMBER = r"(?:[A-Z]\.?)?\d+(?:\.\d+)*"
_STATED = "Theorem Lemma Corollary Proposition Definition Assumption Remark Fact Figure"
_KINDS = {kind[:3].lower(): kind for kind in f"{_STATED} Section Appendix".split()}
_ITEM = re.compile(
    rf"^[ \t]*({_STATED.replace(' ', '|')}|Fig)\.?\s*({NUMBER})(?=\s*[.:(]|\s+[A-Z])", re.MULTILINE
)
_TEX_ITEM = re.compile(rf"\\begin\{{({_STATED.lower().replace(' ', '|')})\*?\}}")
_SECTION = re.compile(
    r"^[ \t]*(?:Appendix |Section )?((?:[A-Z]|\d{1,2})(?:\.\d+)*)\.?\s+[A-Z][a-z]+", re.MULTILINE
)


def formulas(text: str) -> str:
    """Tell the minus and prime of formulas in TeX from hyphen and apostrophe."""
    return _MATH.sub(lambda m: m[0].replace("-", "−").replace("'", "′"), text)


def key(text: str, raised: bool = False) -> tuple[str, list[int]]:
    """Return the characters that are compared, and the place of each in the text.

    Args:
        text: Plain text, or TeX after `formulas`.
        raised: Whether ``^``, ``_`` and fractions count.
    """
    found: list[str] = []
    at: list[int] = []
    for match in _TOKEN.finditer(text):
        out = _SYMBOLS.get(match[1], "") if match[1] else match[0]
        struck = "≠" in out or len(out) == 2 and out[-1] == "="  # it would fall apart below
        for c in "≠" if struck else unicodedata.normalize("NFKD", out):
            if (c.isalnum() and unicodedata.category(c) != "Lm") or c in _SIGNS or (raised and c in "^_÷"):
                found.append(c)
                at.append(match.start())
    return "".join(found), at


@dataclass(frozen=True)
class Found:
    """What a text has of a quotation.

    Attributes:
        words: ``"verbatim"``, ``"nearly"`` or ``"not"``.
        where: Page or line of the closest passage, e.g. ``"p. 5"``.
        passage: The passage, its first 240 characters.
        differs: Pairs of words, the quotation's and the text's.
        likeness: Similarity of the least similar piece, one for the same.
        start: Place of the passage in the text.
    """

    words: str
    where: str = ""
    passage: str = ""
    differs: tuple[tuple[str, str], ...] = ()
    likeness: float = 0.0
    start: int = -1


@dataclass(frozen=True)
class Text:
    """The text of a paper.

    Attributes:
        whole: All of it.
        starts: Where each page begins, or each line.
        unit: ``"p."`` or ``"line"``.
        sha256: Checksum of the file.
        tex: Whether it is a ``.tex`` file.
    """

    whole: str
    starts: list[int]
    unit: str
    sha256: str
    tex: bool = False

    @cached_property
    def keyed(self) -> tuple[str, list[int]]:
        """Return `key` of the whole."""
        return key(self.whole, self.tex)

    @cached_property
    def _grams(self) -> dict[str, list[int]]:
        found = defaultdict(list)
        for start in range(len(self.keyed[0]) - 3):
            found[self.keyed[0][start : start + 4]].append(start)
        return found

    def where(self, place: int) -> str:
        """Return the page or line of a place."""
        return f"{self.unit} {bisect_right(self.starts, place)}"

    def closest(self, wanted: str) -> tuple[float, int, int]:
        """Return similarity, beginning and end of the passage most like `wanted`, in `keyed`."""
        votes: Counter[int] = Counter()
        step, best = max(8, len(wanted) // 4), (0.0, 0, 0)
        for i in range(len(wanted) - 3):
            places = self._grams.get(wanted[i : i + 4], [])
            for place in places:
                votes[(place - i) // step] += 1000 // len(places)
        for bin_, _ in votes.most_common(8):
            first = max(0, (bin_ - 2) * step)
            window = self.keyed[0][first : first + len(wanted) + 5 * step]
            blocks = SequenceMatcher(None, wanted, window, autojunk=False).get_matching_blocks()
            for i, a in enumerate(blocks):
                same = 0
                for b in blocks[i:]:
                    same += b.size
                    end = b.b + b.size
                    best = max(best, (2 * same / (len(wanted) + end - a.b or 1), first + a.b, first + end))
        return best

    def find(self, quote: str) -> Found:
        """Find a quotation, its pieces in order; a PDF has what is raised before what is lowered."""
        swapped = quote if self.tex else _BOTH.sub(r"^\2_\1", quote)
        return max((self._find(q) for q in dict.fromkeys((swapped, quote))), key=lambda f: f.likeness)

    def _find(self, quote: str) -> Found:
        pieces = [(piece, key(piece, self.tex)[0]) for piece in formulas(quote).split(GAP)]
        spans: list[tuple[float, int, int]] = []
        differs: list[tuple[str, str]] = []
        end = 0
        for piece, wanted in pieces:
            at = self.keyed[0].find(wanted, end)
            if at >= 0 and (len(wanted) >= SHORT or spans):
                spans.append((1.0, at, at + len(wanted)))
            else:
                spans.append(self.closest(wanted))
                differs += _differences(piece, self._cut(*spans[-1][1:]), self.tex)
                if spans[-1][0] == 1:
                    differs.append((piece.strip(), "elsewhere"))
            end = spans[-1][2]
        longest = max(len(wanted) for _, wanted in pieces)
        like, (_, start, stop) = min(spans)[0], spans[0]
        near = like >= NEAR and longest >= SHORT_NEARLY
        words = VERBATIM if not differs and like == 1 and longest >= SHORT else NEARLY if near else NOT
        if not stop:
            return Found(words)
        place = self.keyed[1][start]
        return Found(words, self.where(place), _short(self._cut(start, stop)), tuple(differs), like, place)

    def _cut(self, start: int, stop: int) -> str:
        """Return the passage of a part of `keyed`, with whole words, on one line."""
        if stop <= start:
            return ""
        low, high = self.keyed[1][start], self.keyed[1][stop - 1] + 1
        while low and not self.whole[low - 1].isspace():
            low -= 1
        while high < len(self.whole) and not self.whole[high].isspace():
            high += 1
        return " ".join(re.sub(r"(?<=\w)[-\u00ad‐]\n\s*", "", self.whole[low:high]).split())

    @cached_property
    def parts(self) -> dict[str, int]:
        """Return the places of statements, figures and sections by name; an appendix is a section.

        Of TeX, which has no numbers, statements are named by their lines.
        """
        found: dict[str, int] = {}
        for m in (_TEX_ITEM if self.tex else _ITEM).finditer(self.whole):
            number = f"in {self.where(m.start())}" if self.tex else m[2]
            found.setdefault(f"{kind(m[1])} {number}", m.start())
        for m in _SECTION.finditer(self.whole):
            found.setdefault(f"Section {m[1]}", m.start())
        return found

    def end(self, place: int) -> int:
        """Return where a part that begins at a place ends: at the next, or after a page or so."""
        return min([at for at in self.parts.values() if at > place] + [place + 3000])

    def begins(self, place: int) -> str:
        """Return how what is at a place begins, on one line."""
        return _short(" ".join(self.whole[place : min(self.end(place), place + 2 * LONGEST)].split()))


def _short(passage: str) -> str:
    return passage if len(passage) <= LONGEST else passage[: LONGEST - 4] + " ..."


def _differences(quote: str, passage: str, tex: bool) -> list[tuple[str, str]]:
    """Return the words in which a quotation and a passage differ, the quotation's first."""
    sides = [[w for w in text.split() if key(w, tex)[0]] for text in (quote, passage)]
    mine, theirs = ([key(w, tex)[0] for w in side] for side in sides)
    codes = SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes()
    return [
        (" ".join(sides[0][a:b]), " ".join(sides[1][c:d]))
        for _, a, b, c, d in codes
        if "".join(mine[a:b]) != "".join(theirs[c:d])
    ]


def kind(word: str) -> str:
    """Return the name of what a word such as ``"Fig."`` or ``"Lemmas"`` numbers."""
    return _KINDS[word[:3].lower()]


# --------------------------------------------------------------------------- reading a file
def read(file: str) -> Text:
    """Read a ``.pdf``, ``.tex`` or ``.txt`` file.

    Raises:
        BadInput: If it cannot be read, or has no text.
    """
    path, suffix = Path(file), Path(file).suffix.lower()
    if suffix not in (".pdf", ".tex", ".txt"):
        raise BadInput(f"FILE={file!r}: must be a .pdf, .tex or .txt file")
    if not path.is_file():
        raise BadInput(f"FILE={file!r}: there is no such file")
    if suffix == ".pdf":
        pages = _pdf(path)
    else:
        text = path.read_text(encoding="utf-8", errors="replace")
        pages = formulas(_tex(text) if suffix == ".tex" else text).split("\f")
    paged = suffix == ".pdf" or len(pages) > 1
    parts = [page + "\n" for page in pages] if paged else pages[0].splitlines(keepends=True)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    starts = [0, *accumulate(map(len, parts))][: max(1, len(parts))]
    found = Text("".join(parts), starts, "p." if paged else "line", digest, suffix == ".tex")
    if len(found.keyed[0]) < 100 * (len(pages) if paged else 1):
        raise BadInput(f"FILE={file!r}: has next to no text; a scanned paper must be read by OCR first")
    return found


def _pdf(path: Path) -> list[str]:
    """Return the text of each page, without page numbers and running heads."""
    from pypdf import PdfReader, errors

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(path)
        if reader.is_encrypted and not reader.decrypt(""):
            raise errors.WrongPasswordError
        pages = [page.extract_text().splitlines() for page in reader.pages]
    except (errors.WrongPasswordError, errors.DependencyError) as error:
        raise BadInput(f"FILE={str(path)!r}: is encrypted; save a copy without a password") from error
    except Exception as error:  # of a damaged file pypdf raises whatever its parts do
        raise BadInput(f"FILE={str(path)!r}: is no PDF that can be read ({type(error).__name__})") from error
    bare = [[re.sub(r"[\d\s]", "", line) for line in page] for page in pages]
    often = Counter(line for page in bare for line in {*page[:2], *page[-2:]})
    heads = {line for line, count in often.items() if count > 1} | {""}
    edges = [{0, 1, len(page) - 2, len(page) - 1} for page in pages]
    return [
        "\n".join(line for i, line in enumerate(page) if i not in edge or bare_[i] not in heads)
        for page, bare_, edge in zip(pages, bare, edges, strict=True)
    ]


def _tex(text: str) -> str:
    """Return TeX without comments and references, with its own short commands written out."""
    text = re.sub(r"(?<!\\)%.*", "", text)
    short = r"\\(?:(?:re)?newcommand\*?|def)\s*\{?\\(\w+)\}?\s*\{((?:[^{}]|\{[^{}]*\})*)\}"
    for name, meaning in re.findall(short, text):
        text = re.sub(rf"\\{name}(?![A-Za-z])", meaning.replace("\\", r"\\"), text)
    return re.sub(r"\\(?:label|ref|eqref|[cC]ref|cite[a-z]*)\*?(?:\[[^]]*\])*\{[^}]*\}", "", text)
