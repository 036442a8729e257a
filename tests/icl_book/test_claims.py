"""The judge: every verdict, every reading, every refusal."""

import json
import math

import numpy as np
import pytest

from icl.statistics import FALSE_ALARM_RATE
from icl_book import claims, provenance
from icl_book.claims import Card, Case, Claim, Verdict, exact, judge, sampled

INF = math.inf


def claim(expected=Verdict.HOLDS, corrected=False, resolution=INF):
    """ "The number is at least 1"; corrected: it is at least 0."""
    return Claim(
        "T.1",
        "nowhere, page 1",
        "$x \\ge 1$",
        "x",
        lambda p: (p.get("least", 1.0), INF),
        expected,
        corrected="$x \\ge 0$" if corrected else None,
        corrected_rule=(lambda p: (0.0, INF)) if corrected else None,
        resolution=resolution,
        control="x far below",
    )


FAR_BELOW = [exact("far below", -9.0)]


@pytest.mark.parametrize(
    ("cases", "corrected", "verdict"),
    [
        ([exact("a", 2.0), exact("b", 1.0)], False, Verdict.HOLDS),
        ([exact("a", 2.0), exact("b", 0.5)], False, Verdict.FAILS),  # one contradiction is enough
        ([exact("a", 2.0), exact("b", 0.5)], True, Verdict.CORRECTED),
        ([exact("a", 2.0), exact("b", -0.5)], True, Verdict.FAILS),  # the correction is wrong as well
        ([Case("a", 0.9, (0.8, 1.0))], False, Verdict.HOLDS),  # the ends belong to both
        ([Case("a", 0.9, (0.8, 0.99))], False, Verdict.FAILS),
    ],
)
def test_verdicts(cases, corrected, verdict):
    assert judge(claim(corrected=corrected), cases, FAR_BELOW).verdict is verdict


def test_wide_interval_is_inconclusive_not_agreement():
    wide = [Case("a", 2.0, (-5.0, 9.0))]
    assert judge(claim(resolution=1.0), wide, FAR_BELOW).verdict is Verdict.INCONCLUSIVE
    assert judge(claim(resolution=8.0), wide, FAR_BELOW).verdict is Verdict.HOLDS
    inside = [Case("a", 5.0, (1.0, 9.0))]  # wide, but all of it permitted
    assert judge(claim(resolution=1.0), inside, FAR_BELOW).verdict is Verdict.HOLDS
    both = [exact("b", 0.5), *wide]  # contradicts the printed one; undecided on the corrected one
    assert judge(claim(corrected=True, resolution=1.0), both, FAR_BELOW).verdict is Verdict.INCONCLUSIVE


def test_rule_reads_the_parameters():
    assert judge(claim(), [exact("a", 2.0, least=3.0)], FAR_BELOW).verdict is Verdict.FAILS


def test_control_must_be_rejected_or_the_card_is_not_as_expected():
    good = judge(claim(), [exact("a", 2.0)], FAR_BELOW)
    blind = judge(claim(), [exact("a", 2.0)], [exact("a control that agrees", 5.0)])
    mixed = judge(claim(), [exact("a", 2.0)], [*FAR_BELOW, exact("one that agrees", 5.0)])
    assert (good.as_expected, blind.as_expected, mixed.as_expected) == (True, False, False)
    assert "NOT rejected" in blind._html() and "rejected, as it must be" in good._html()


def test_control_of_a_failing_claim_must_be_accepted():
    failing = claim(Verdict.FAILS)
    assert judge(failing, [exact("a", 0.0)], [exact("where it is true", 2.0)]).as_expected
    assert not judge(failing, [exact("a", 0.0)], FAR_BELOW).as_expected


def test_control_of_a_corrected_claim_speaks_about_the_correction():
    between = [exact("rejected as printed only", 0.5)]
    assert not judge(claim(Verdict.CORRECTED, corrected=True), [exact("a", 0.5)], between).control_passed


def test_unexpected_verdict_shows_on_the_card():
    card = judge(claim(Verdict.FAILS), [exact("a", 2.0)], [exact("c", 2.0)])
    assert not card.as_expected
    assert "Not what we expected: fails as printed" in card._html()


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda: judge(claim(), [], FAR_BELOW), "at least one case"),
        (lambda: judge(claim(), [exact("a", 2.0)], []), "at least one case and one control"),
        (lambda: judge("no such claim", [exact("a", 2.0)], FAR_BELOW), "no such claim"),
        (lambda: Case("a", 2.0, (3.0, 4.0)), "outside interval"),
        (lambda: sampled("a", [1.0]), "at least 2"),
        (lambda: Claim("T", "s", "t", rule=lambda p: (0, 1)), "negative control"),
        (lambda: Claim("T", "s", "t"), "needs a rule"),
        (lambda: Claim("T", "s", "t", expected=Verdict.NOT_TESTABLE), "why_not"),
        (lambda: Claim("T", "s", "t", rule=lambda p: (0, 1), control="c", corrected="x"), "go together"),
        (
            lambda: judge(
                Claim("T", "s", "t", expected=Verdict.NOT_TESTABLE, why_not="lost"), [exact("a", 1)], []
            ),
            "not testable: lost",
        ),
    ],
)
def test_bad_input(broken, message):
    with pytest.raises((ValueError, KeyError), match=message):
        broken()


def test_sampled_interval_is_student_t_at_the_declared_rate():
    from scipy.stats import t

    values = [0.0, 1.0, 2.0, 5.0]
    case = sampled("a", values)
    half = t.isf(FALSE_ALARM_RATE / 2, 3) * np.std(values, ddof=1) / 2
    assert case.measured == 2.0 and case.samples == 4
    np.testing.assert_allclose(case.interval, (2 - half, 2 + half), rtol=1e-12)


def test_record_is_strict_json_and_complete():
    card = judge(claim(corrected=True), [exact("a", 0.5)], FAR_BELOW)
    record = json.loads(json.dumps(card.record(), allow_nan=False))  # an infinite range is a string
    assert record["verdict"] == "holds corrected" and record["cases"][0]["permitted"] == [1.0, "inf"]
    assert record["control_cases"][0]["measured"] == -9.0
    assert set(card._repr_mimebundle_()) == {"text/html", "text/plain", provenance.CARD_MIME}


def test_card_escapes_text_and_renders_mathematics():
    printed = Claim("T<1>", "a & b", "If $a<b$ then <b>", "x", lambda p: (0, 1), control="c")
    page = Card(printed, Verdict.HOLDS, (exact("<i>", 0.0),), (exact("c", 5.0),), True)._html()
    assert "<b>" not in page and "<i>" not in page and "a &amp; b" in page
    assert r'<span class="math notranslate nohighlight">\(a&lt;b\)</span>' in page


def test_registry_is_sound():
    registry = claims.registry()
    for name, entry in registry.items():
        assert name == entry.id and name.split(".")[0] in ("P1", "P2"), name
        assert entry.source and entry.statement and entry.statement.count("$") % 2 == 0, name
        if entry.rule is not None:
            assert entry.quantity, name
        if entry.expected is Verdict.CORRECTED:
            assert entry.corrected, name
        assert entry.expected is not Verdict.INCONCLUSIVE, name


# ------------------------------------------------------------------------------- arrays of cases
def test_arrays_of_cases_are_the_single_cases():
    values, d, n = np.arange(6.0).reshape(2, 3), np.array([2, 5]), np.array([10.0, 100.0, 1000.0])
    many = exact("d = {d}, n = {n:g}, $x_{{1}}$", values, [0.1, 0.2, 0.3], d=d[:, None], n=n)
    one_by_one = [
        exact(f"d = {d[i]}, n = {n[j]:g}, $x_{{1}}$", values[i, j], 0.1 * (j + 1), d=int(d[i]), n=float(n[j]))
        for i in range(2)
        for j in range(3)
    ]
    assert [c.name for c in many] == [c.name for c in one_by_one]
    assert many[4].parameters == {"d": 5, "n": 100.0} and type(many[4].parameters["d"]) is int
    assert np.allclose([c.interval for c in many], [c.interval for c in one_by_one])


def test_arrays_of_sampled_cases_are_the_single_cases():
    values = np.random.default_rng(0).standard_normal((2, 2, 9))
    many = sampled("{a}, {b}", values, a=np.array(["x", "y"])[:, None], b=[1, 2])
    assert many[2] == sampled("y, 1", values[1, 0], a="y", b=1) and many[2].samples == 9


def test_judge_takes_nested_cases():
    claim = Claim("X", "here", "s", "q", rule=lambda case: (0, case["top"]), control="c")
    inside = exact("{top}", np.array([0.5, 1.5]), top=[1, 2])
    card_ = judge(claim, [inside, [exact("one", 0.0, top=1)]], exact("far", 5.0, top=1))
    assert [c.name for c in card_.cases] == ["1", "2", "one"] and card_.control_passed
