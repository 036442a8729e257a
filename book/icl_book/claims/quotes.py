"""Compare the book's quotations with a paper that a reader has: ``python -m icl_book quotes FILE...``.

Letters, digits and signs are compared, in their order. Spaces, fonts, braces, punctuation, hyphens between
letters, and whether a character is raised or lowered are not compared.

The marks ``[...]`` divide a quotation into *pieces*, which must follow each other in the paper. *Likeness* is
the share of equal characters, as RapidFuzz computes it, in percent.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from docutils.utils.math import tex2unichar
from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from icl_book.claims.claim import registry
from icl_book.claims.manuscript import Document, read

GAP = "[...]"
#: From this likeness on a passage counts as nearly the quotation.
NEAR = 80.0
#: Up to this many characters of a word are shown, since a file may have a word of a million.
WORD = 100
#: The largest likeness of a piece that differs in the paper, or stands elsewhere.
NEARLY = 99.0

_SIGNS = set("<>=≠+-±≤≥≪≫→⇒∞⊗∈∑∫√⊤'")
_NAMES = "min max inf sup exp log lim arg argmin argmax dim det diag vec".split()
_SYMBOLS: dict[str, str] = (
    tex2unichar.mathalpha
    | tex2unichar.mathbin
    | tex2unichar.mathop
    | tex2unichar.mathord
    | tex2unichar.mathrel
    | {name: name for name in _NAMES}
    | {"prime": "'", "sqrt": "√", "implies": "⇒"}
)
#: One character for another, so that places in the text stay.
_PLAIN = str.maketrans({"−": "-", "–": "-", "’": "'", "′": "'", "\u00ad": "-"})
_TOKEN = re.compile(
    r"\\(?P<command>[A-Za-z]+)|(?P<hyphen>(?<=[^\W\d_])-\s*(?=[^\W\d_]))|.", re.DOTALL
)


def find_compared(text: str) -> tuple[str, list[int]]:
    """Return the characters of a text that are compared, and where each of them stands in it."""
    found: list[str] = []
    places: list[int] = []
    for match in _TOKEN.finditer(text.translate(_PLAIN)):
        token = "" if match["hyphen"] else match[0]
        # Commands that are not in `_SYMBOLS` set fonts and layout, and have no sign.
        if match["command"]:
            token = _SYMBOLS.get(match["command"], "")
        # NFKD divides ligatures and separates accents, and the stroke of ≠, which is then compared like =.
        for character in unicodedata.normalize("NFKD", token):
            if character.isalnum() or character in _SIGNS:
                found.append(character)
                places.append(match.start())
    return "".join(found), places


@dataclass(frozen=True)
class Found:
    """The passage of a paper that is most like a quotation."""

    #: The likeness in percent; 100 if the paper has all pieces in their order.
    likeness: float
    #: File, and page or line.
    where: str = ""
    #: The words that differ, if the quotation is nearly found.
    differs: str = ""


class Paper:
    """A document in which quotations are searched."""

    def __init__(self, document: Document) -> None:
        self.name, self.pdf = document.name, document.pdf
        # Here pages or lines begin, and one more would.
        self.starts = [0]
        for part in document.parts:
            self.starts.append(self.starts[-1] + len(part) + 1)
        self.text = "\n".join(document.parts)
        self.keyed, self.places = find_compared(self.text)

    def find(self, quote: str) -> Found:
        """Find a quotation. Its place is that of its first piece, its likeness the smallest of its pieces."""
        if not self.keyed:
            return Found(0.0)
        spans = []
        differs = []
        # The search for each piece begins here.
        end = 0
        # The stars are around words that a source has in bold.
        for piece in quote.replace("**", "").split(GAP):
            wanted, _ = find_compared(piece)
            start = self.keyed.find(wanted, end)
            if start >= 0:
                likeness, end = 100.0, start + len(wanted)
            else:
                likeness, start, stop = self._find_nearest(wanted)
                if likeness >= NEAR:
                    passage = self._cut_passage(start, stop)
                    said = _name_differences(piece, passage)
                    # If no word differs, the paper has the piece, but before the end of the previous piece.
                    differs.append(said or f"“{piece.strip()}” is elsewhere")
                likeness = min(likeness, NEARLY)
            spans.append((likeness, start))
        likeness = min(likeness for likeness, _ in spans)
        where = f"{self.name}, {self._name_place(spans[0][1])}"
        return Found(likeness, where, "; ".join(differs))

    def _find_nearest(self, wanted: str) -> tuple[float, int, int]:
        """Return the likeness of the most similar passage, and its start and end in ``self.keyed``."""
        # The library would search a shorter paper in the piece.
        if len(wanted) > len(self.keyed):
            return fuzz.ratio(wanted, self.keyed), 0, len(self.keyed)
        alike = fuzz.partial_ratio_alignment(wanted, self.keyed)
        # The result is None only with a minimum score, which is not given.
        assert alike is not None
        return alike.score, alike.dest_start, alike.dest_end

    def _name_place(self, start: int) -> str:
        """Return the page of a PDF, or the line of another file, on which a compared character stands."""
        # A piece without compared characters may be found after the last place.
        place = self.places[min(start, len(self.places) - 1)]
        number = sum(begin <= place for begin in self.starts)
        return f"{'p.' if self.pdf else 'line'} {number}"

    def _cut_passage(self, start: int, end: int) -> str:
        """Return the passage with the compared characters from ``start`` up to ``end``, which is left out.

        Words at both ends are completed, by at most `WORD` characters.
        """
        first, last = self.places[start], self.places[end - 1]
        before = re.search(r"\S*\Z", self.text[max(0, first - WORD) : first])
        after = re.match(r"\S*", self.text[last : last + WORD])
        assert before is not None and after is not None
        passage = before[0] + self.text[first:last] + after[0]
        # A word that is divided at the end of a line becomes one again.
        return re.sub(r"(?<=\w)-\n(?=\w)", "", passage)


def _name_differences(quote: str, passage: str) -> str:
    """Name the words in which a passage differs from a quotation, e.g. ``“thus” is “so”``."""
    ours, theirs = quote.split(), passage.split()
    our_keys = [find_compared(word)[0] for word in ours]
    their_keys = [find_compared(word)[0] for word in theirs]
    steps = list(Levenshtein.opcodes(our_keys, their_keys))
    # A passage may begin or end with letters of a neighboring word.
    if steps and steps[0].tag == "insert":
        steps = steps[1:]
    if steps and steps[-1].tag == "insert":
        steps = steps[:-1]
    said = []
    for step in steps:
        if step.tag != "equal":
            in_quote = " ".join(ours[step.src_start : step.src_end])
            in_passage = " ".join(theirs[step.dest_start : step.dest_end])
            said.append(f"“{in_quote}” is “{in_passage}”")
    return ", ".join(said)


def compare(files: Sequence[str], paper: str = "") -> list[str]:
    """Return a line for each quotation: found, nearly found or not found; and a line of their numbers.

    Args:
        files: PDF, TeX or text files. For each quotation the file with the most similar passage counts.
        paper: ``"P1"`` or ``"P2"`` for the quotations of one paper, empty for those of both.

    Raises:
        BadInput: If a file cannot be read or has no text.
    """
    papers = [Paper(document) for document in read(files)]
    lines: dict[str, list[str]] = {"found": [], "nearly": [], "not": []}
    for claim in registry().values():
        if not claim.quote or paper not in ("", claim.paper):
            continue
        best = max((candidate.find(claim.quote) for candidate in papers), key=lambda f: f.likeness)
        quotation = f"{claim.id} ({claim.place})"
        if best.likeness == 100:
            lines["found"].append(f"found: {quotation}: {best.where}")
        elif best.likeness >= NEAR:
            lines["nearly"].append(
                f"nearly, {math.floor(best.likeness)} %: {quotation}: {best.where}: {best.differs}"
            )
        else:
            lines["not"].append(f"not found: {quotation}: {' '.join(claim.quote.split())}")
    counts = {name: len(some) for name, some in lines.items()}
    total = "{found} found, {nearly} nearly, {not} not".format(**counts)
    return [*lines["found"], *lines["nearly"], *lines["not"], total]
