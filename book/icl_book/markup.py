r"""Text of cards, tables and pages as HTML: numbers, intervals, ``$...$`` mathematics; and templates."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Sequence
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

MARKS = ("✓", "(?)", "✗")
_MATH = re.compile(r"(\$[^$]*\$|`[^`]+`)")
#: Patterns of escaped text as it is typed, and what is printed in their place.
_PRINTED: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    # Stars stand around emphasis.
    (r"(?<![\w*])\*(?=\S)([^*]+?)(?<=\S)\*(?![\w*])", r"<em>\1</em>"),
    # Floats are typed as 1.5e-06.
    (r"(?<![\w.])(\d+(?:\.\d+)?)e([+-])0*(\d+)(?!\w|\.\d)", lambda m: _write_power(*m.groups())),
    # A hyphen before a number is a minus, unless it follows a word, a bracket or a dash.
    (r"(?<![\w.)\]–-])-(?=\.?\d)", "−"),
    # Lines do not break inside these.
    (r"\[[^\[\]\s]+, [^\[\]\s]+\]| = |(?<=\d) %| ± ", lambda m: m[0].replace(" ", "\u00a0")),
    (r"&lt;=", "≤"),
    (r"&gt;=", "≥"),
    (r"\|\|(\w+)\|\|", r"‖\1‖"),
)


def format_number(value: float | str, digits: str = ".5g") -> str:
    """Format a number, without the sign and the exponent of what ``digits`` rounds to zero."""
    text = format(float(value), digits)
    # A number that is not rounded to zero has one of these before its exponent, and so have inf and nan.
    return (
        text
        if re.search("[1-9a-z]", text.partition("e")[0])
        else text.lstrip("-").partition("e")[0]
    )


def format_interval(ends: Sequence[float | str], digits: int = 5) -> str:
    """Format an interval in plain text, e.g. ``[0.98, 1.02]``, or ``≥ 0.98`` if one end is infinite.

    The ends have at least five significant digits, and up to twelve if they would look alike.
    """
    low, high = map(float, ends)
    if math.isinf(low) and math.isinf(high):
        return "any number"
    if math.isinf(low) or math.isinf(high):
        sign, end = ("≤", high) if math.isinf(low) else ("≥", low)
        return f"{sign} {format_number(end, f'.{max(5, digits)}g')}"
    if low == high:
        return format_number(low)
    # Ends of different signs never look alike.
    needed = 0
    if low * high > 0:
        # With this many digits the ends differ by about ten units of the last digit, or more.
        needed = 2 - math.floor(math.log10((high - low) / max(abs(low), abs(high))))
    form = f".{min(12, max(5, digits, needed))}g"
    return f"[{format_number(low, form)}, {format_number(high, form)}]"


def write_html(markdown: str) -> Markup:
    """Convert text with ``$...$`` mathematics to HTML that MathJax renders, in the book and in Jupyter.

    Outside mathematics and code, emphasis is marked as in markdown, and -1.5e-06 is printed −1.5·10⁻⁶.
    """
    return Markup("".join(map(_convert_piece, _MATH.split(" ".join(markdown.split())))))


def _convert_piece(text: str) -> str:
    """Convert ``$...$``, code in backticks, or what is between them."""
    sign = text[0] if _MATH.fullmatch(text) else ""
    inner = html.escape(text[1:-1] if sign else text, quote=False)
    if sign == "$":
        return rf'<span class="math notranslate nohighlight">\({inner}\)</span>'
    if sign == "`":
        return f"<code>{inner}</code>"
    for typed, printed in _PRINTED:
        inner = re.sub(typed, printed, inner)
    return inner


def _write_power(head: str, sign: str, digits: str) -> str:
    raised = f"{sign.strip('+')}{digits}".translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if head == "1" else f"{head}·10{raised}"


def strip_tex(markdown: str) -> str:
    """Write a title without TeX commands as plain text, for a tooltip: ``$w^{d/2}$`` is ``w^(d/2)``."""
    return markdown.replace("$", "").replace("{", "(").replace("}", ")")


def mark(verdict: str) -> str:
    """Return the mark of a verdict: ✗ if the statement is false, ✓ if it holds, and (?) if it is open."""
    if verdict.startswith(("false", "refuted")):
        return "✗"
    return "✓" if verdict in ("holds", "established", "proved", "computed", "measured") else "(?)"


def style_class(verdict: str) -> str:
    """Return the style-sheet class of a verdict, e.g. ``icl-false-as-we-have-it-corrected``."""
    return f"icl-{verdict.replace(',', '').replace(' ', '-')}"


def row_id(claim_id: str, case: str) -> str:
    """Return the anchor of a case in the table of its card, e.g. ``claim-P1.T2.near-ReLU-d-5``."""
    return f"claim-{claim_id}-" + re.sub(r"[^A-Za-z0-9.+]+", "-", case).strip("-")


@cache
def environment() -> Environment:
    """Return the environment of templates, whose names are paths in `icl_book`."""
    made = Environment(
        loader=PackageLoader("icl_book", "."),
        autoescape=select_autoescape(["html.j2"], default=False),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters |= {
        "prose": write_html,
        "format_number": format_number,
        "interval": format_interval,
        "row_id": row_id,
        "style_class": style_class,
    }
    return made
