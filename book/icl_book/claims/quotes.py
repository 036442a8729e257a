"""Quotations, verified without storing the texts they come from.

For each source ``book/sources/<key>.json`` holds its reference, how it was read, the fingerprints of all
windows of a few words in the order of the text, and how many words stand before each line. A piece of a
quotation is verbatim if its windows follow one another there, and the pieces do in their order.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_right
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

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
    "largeprompt": "abstract of arXiv 2512.11784",
}

#: Words in a window. Three would still be unique almost always, but reveal more of the text.
WINDOW = 4

#: Marks what a quotation leaves out.
GAP = "[...]"

# Spelling of fonts and spaces in LaTeX, which OCR and editions change from line to line, and bold face.
_FONT = re.compile(
    r"\\(?:boldsymbol|mathbf|mathsf|mathcal|mathrm|pmb|bm|bf|text|left|right|quad|qquad|underbrace|Vert|,|;|!)"
    r"(?![a-z])|\*\*"
)
_WORD = re.compile(r"\\?[^\W\d_]+|\d+(?:\.\d+)?|[^\W_]|[<>=+/≤≥→∞±⊗'^_*-]")


def words(text: str) -> list[str]:
    """Split a text into normalized words: numbers, letters and signs without fonts, braces and punctuation.

    Primes, ``^``, ``_``, ``*`` and capitals count.
    """
    plain = _FONT.sub(" ", text.replace("’", "'").replace("\\prime", "'"))
    return [word.lstrip("\\") for word in _WORD.findall(plain)]


def _windows(text: list[str]) -> list[str]:
    """Return the fingerprint of every window of a text's words, in order."""
    return [
        hashlib.sha256(" ".join(text[start : start + WINDOW]).encode()).hexdigest()[:10]
        for start in range(len(text) - WINDOW + 1)
    ]


def fingerprints(text: str) -> dict[str, list[Any]]:
    """Return the fingerprints of all ``windows`` of a text, and the words before each of its ``lines``."""
    lines = [words(line) for line in text.splitlines()]
    before = [0, *accumulate(map(len, lines))][: len(lines)]
    return {
        "windows": _windows([word for line in lines for word in line]),
        "lines": before,
    }


@cache
def source(key: str) -> dict[str, Any]:
    """Return the record of a source: its ``reference``, ``how`` it was read, its ``windows`` and ``lines``.

    Raises:
        ValueError: If there is no such source.
    """
    if key not in NAMES:
        raise ValueError(f"source {key!r} is unknown; there are {', '.join(NAMES)}")
    record: dict[str, Any] = json.loads(
        (SOURCES / f"{key}.json").read_text(encoding="utf-8")
    )
    return record


def problems(quote: str, place: str) -> list[str]:
    """Find what is wrong with a quotation: words that its source lacks, their order, or their line.

    Its ``place`` is document and line of the first word, e.g. ``"talk:309"``. Each problem is a line of text.
    """
    key, _, line = place.partition(":")
    windows, lines = source(key)["windows"], source(key)["lines"]
    known, out, end = set(windows), [], 0
    for number, piece in enumerate(quote.split(GAP)):
        mine = words(piece)
        wanted = _windows(mine)
        lost = next(
            (start for start, window in enumerate(wanted) if window not in known), None
        )
        at = [
            i
            for i in range(len(windows))
            if wanted and windows[i : i + len(wanted)] == wanted
        ]
        here = [i for i in at if number or bisect_right(lines, i) == int(line)]
        after = [i for i in here if i >= end]
        if lost is not None:
            out.append(
                f"{place}: the source does not say {' '.join(mine[lost : lost + WINDOW])!r}"
            )
        elif not at:
            out.append(
                f"{place}: the source says {piece.strip()!r} in no one place of {WINDOW} words or more"
            )
        elif not after:
            first = (
                f"{' '.join(mine[:WINDOW])!r} is on line {bisect_right(lines, at[0])}"
            )
            out.append(
                f"{place}: {first}" + ", not after the piece before it" * bool(here)
            )
        else:
            end = after[0] + len(mine)
    return out
