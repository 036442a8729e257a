r"""Text of cards, tables and pages as HTML: numbers, intervals, ``$...$`` mathematics, verdict badges."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence

_CODE = re.compile(r"`([^`]+)`")
_EMPHASIS = re.compile(r"(?<![\w*\\])\*(?=\S)([^*]+?)(?<=[^\s\\])\*(?![\w*])")
_INTERVAL = re.compile(r"\[[^\[\]\s]+, [^\[\]\s]+\]")


def number(value: float, digits: str = ".5g") -> str:
    """Format a number; zero has neither sign nor exponent (no ``-0.00``, no ``0e+00``)."""
    text = format(value, digits)
    return text if re.search("[1-9a-z]", text.partition("e")[0]) else text.lstrip("-").partition("e")[0]


def interval(ends: Sequence[float], digits: str | None = ".2f") -> str:
    """Format an interval in plain text, e.g. ``[0.98, 1.02]``.

    Args:
        ends: The lower and the upper end; an infinite end makes it a bound, e.g. ``≥ 0.98``.
        digits: Format of both ends. None stands for five significant digits, more where the ends would look
            alike, and one number where they are equal.

    Returns:
        The text.
    """
    low, high = ends
    plain = digits or ".5g"
    if math.isinf(low) or math.isinf(high):
        if math.isinf(low) and math.isinf(high):
            return "any number"
        return f"≤ {number(high, plain)}" if math.isinf(low) else f"≥ {number(low, plain)}"
    if digits is None:
        if low == high:
            return number(low)
        if low * high > 0:  # enough digits to tell the ends apart
            gap = math.log10((high - low) / max(abs(low), abs(high)))
            plain = f".{min(12, max(5, 2 - math.floor(gap)))}g"
    return f"[{number(low, plain)}, {number(high, plain)}]"


def prose(markdown: str) -> str:
    """Convert text with ``$...$`` mathematics to HTML that MathJax renders, in the book and in Jupyter.

    Outside mathematics ``d = 5``, ``3 %`` and intervals do not break across lines; emphasis and code are
    marked as in markdown.
    """

    def whole(plain: str) -> str:
        plain = _EMPHASIS.sub(r"<em>\1</em>", _CODE.sub(r"<code>\1</code>", plain)).replace("\\*", "*")
        plain = _INTERVAL.sub(lambda found: found[0].replace(" ", "\u00a0"), plain)
        return plain.replace(" = ", "\u00a0=\u00a0").replace(" %", "\u00a0%")

    parts = html.escape(" ".join(markdown.split()), quote=False).split("$")
    return "".join(
        rf'<span class="math notranslate nohighlight">\({part}\)</span>' if i % 2 else whole(part)
        for i, part in enumerate(parts)
    )


def style_class(verdict: str) -> str:
    """Return the style-sheet class of a verdict, e.g. ``icl-holds-corrected``."""
    return f"icl-{verdict.replace(' ', '-')}"


def badge(verdict: str) -> str:
    """Format a verdict as a badge that says it in words and in color."""
    return f'<span class="icl-badge {style_class(verdict)}">{html.escape(verdict)}</span>'
