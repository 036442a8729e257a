"""Numbers, intervals, mathematics and badges as text."""

import math

import pytest

from icl_book import markup
from icl_book.claims import Verdict
from icl_book.provenance import ROOT
from icl_book.site.card import load_macros

INF = math.inf


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(-0.001, ".2f", "0.00"), (0.0, ".0e", "0"), (-2e-7, ".0e", "-2e-07"), (-INF, ".5g", "-inf")],
)
def test_zero_has_neither_sign_nor_exponent(value, digits, text):
    assert markup.format_number(value, digits) == text


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ((-INF, 2.0), "≤ 2"),
        ((2.0, INF), "≥ 2"),
        ((-INF, INF), "any number"),
        ((1.0, 1.0), "1"),
        ((1.0, 1.0000123), "[1, 1.000012]"),
        ((-1e-5, 1e-5), "[-1e-05, 1e-05]"),
    ],
)
def test_intervals(ends, text):
    assert markup.format_interval(ends) == text


def test_badges_have_a_class_for_every_verdict():
    sheet = (ROOT / "book/_static/icl.css").read_text()
    for verdict in Verdict:
        assert (
            f".{markup.style_class(verdict)}" in sheet
            and f">{verdict}</span>" in load_macros().badge(verdict)
        )


@pytest.mark.parametrize(
    "markdown, shown",
    [
        ("that is *weights*, not w* of a *b*", "that is <em>weights</em>, not w* of a <em>b</em>"),
        ("`_LEAST`: least", "<code>_LEAST</code>: least"),
        ("-1.5e-06, 1e+06, 5-7, x <= 3", "−1.5·10⁻⁶, 10⁶, 5-7, x ≤ 3"),
        ("`-1.5e-06` ± 0.1", "<code>-1.5e-06</code>\u00a0±\u00a00.1"),
        (
            "If $a*b*c<b$\n then d = 5, 3 % of [0.1, 0.2] & 2 * 3 * [two words here]",
            'If <span class="math notranslate nohighlight">\\(a*b*c&lt;b\\)</span> then d\u00a0=\u00a05, '
            "3\u00a0% of [0.1,\u00a00.2] &amp; 2 * 3 * [two words here]",
        ),
    ],
)
def test_prose_marks_up_words_mathematics_and_numbers(markdown, shown):
    assert markup.write_html(markdown) == shown


@pytest.mark.parametrize("text", ["$5", "`5", "$"])
def test_a_mark_that_is_not_closed_stays(text):
    assert markup.write_html(text) == text
