"""Quotations, verified without storing the texts they come from.

For each source ``book/sources/<key>.json`` holds its reference, how it was read, and the fingerprints of all
windows of a few words: with a window goes the line it starts on. A quotation is verbatim if each of its
windows is there, and one changed word changes several.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "sources"

#: Short names of the sources, as a card prints them.
NAMES = {
    "abstract1": "abstract of arXiv 2402.11639",
    "talk": "ITA slides",
    "openreview": "OpenReview page of arXiv 2402.11639",
    "summary1": "machine-written summary of arXiv 2402.11639",
    "notes1": "this project's notes on paper 1",
    "abstract2": "abstract of arXiv 2307.02419",
    "summary2": "machine-written summary of arXiv 2307.02419",
    "tldr2": "machine-written TL;DR of arXiv 2307.02419",
    "notes2": "formulas of other papers in this project's notes",
    "closeness": "abstract of arXiv 2304.13276",
    "closeness-tldr": "machine-written TL;DR of arXiv 2304.13276",
    "largeprompt": "abstract of arXiv 2512.11784",
}

#: Words in a window. Three would still be unique almost always, but reveal more of the text.
WINDOW = 4

#: Marks what a quotation leaves out.
GAP = "[...]"

# Spelling of fonts and spaces in LaTeX, which OCR and editions change from line to line.
_FONT = re.compile(
    r"\\(?:boldsymbol|mathbf|mathsf|mathcal|mathrm|pmb|bm|bf|text|left|right|quad|qquad|underbrace|Vert|,|;|!)"
    r"(?![a-z])"
)
_WORD = re.compile(r"\\?[^\W_]+|[<>=+/≤≥→∞±⊗-]")


def words(text: str) -> list[str]:
    """Split a text into normalized words: lower case, without fonts, braces and punctuation."""
    return [word.lstrip("\\").lower() for word in _WORD.findall(_FONT.sub(" ", text))]


def _fingerprint(window: Iterable[str]) -> str:
    return hashlib.sha256(" ".join(window).encode()).hexdigest()[:10]


def fingerprints(text: str) -> dict[str, list[int]]:
    """Return the fingerprint of every window of a text, with the lines (from 1) it starts on."""
    numbered = [(word, i) for i, line in enumerate(text.splitlines(), 1) for word in words(line)]
    found: dict[str, list[int]] = {}
    for start in range(len(numbered) - WINDOW + 1):
        window = numbered[start : start + WINDOW]
        lines = found.setdefault(_fingerprint(word for word, _ in window), [])
        if window[0][1] not in lines:
            lines.append(window[0][1])
    return found


@cache
def source(key: str) -> dict:
    """Return the record of a source: its ``reference``, ``how`` it was read, its ``windows``.

    Raises:
        ValueError: If there is no such source.
    """
    if key not in NAMES:
        raise ValueError(f"source {key!r} is unknown; there are {', '.join(NAMES)}")
    return json.loads((SOURCES / f"{key}.json").read_text(encoding="utf-8"))


def place_in_words(place: str) -> str:
    """Return a place such as ``"talk:309"`` in words: the source's short name and the line."""
    key, _, line = place.partition(":")
    return f"{NAMES[key]}, line {line}"


def problems(quote: str, place: str) -> list[str]:
    """Find what is wrong with a quotation: windows its source lacks, or another line than the one given.

    Args:
        quote: The verbatim words; `GAP` between pieces.
        place: Document and line of the first word, e.g. ``"talk:309"``.

    Returns:
        Problems, one line each; none if the quotation is verbatim and begins on that line.
    """
    key, _, line = place.partition(":")
    windows, out = source(key)["windows"], []
    for number, piece in enumerate(quote.split(GAP)):
        mine = words(piece)
        if len(mine) < WINDOW:
            out.append(f"{place}: {piece.strip()!r} has fewer than {WINDOW} words")
            continue
        for start in range(len(mine) - WINDOW + 1):
            window = mine[start : start + WINDOW]
            lines = windows.get(_fingerprint(window))
            if lines is None:
                out.append(f"{place}: the source does not say {' '.join(window)!r}")
            elif number == start == 0 and int(line) not in lines:
                out.append(f"{place}: {' '.join(window)!r} is on line {lines[0]}")
    return out
