"""The judge: every verdict, every reading, every refusal; and the registry as a whole."""

import json
import math
import re

import numpy as np
import pytest

from icl.statistics import FALSE_ALARM_RATE, median_interval
from icl_book import claims, provenance
from icl_book.claims import (
    Alternative,
    Authority,
    Case,
    Choice,
    Claim,
    Grade,
    Severity,
    Verdict,
    exact,
    extrapolated,
    found,
    judge,
    sampled,
)
from icl_book.claims.card import limits_in_words
from icl_book.claims.claim import OWN
from icl_book.claims.judge import detection_limits, outcome

INF = math.inf
QUOTE = {"quote": "the number is at least one", "place": "talk:1"}


def claim(expected=None, corrected=False, readings=(), own=False, **changes):
    """ "The number is at least 1"; corrected: it is at least 0."""
    refused = expected in (Verdict.CORRECTED, Verdict.FAILS)
    given = {
        "id": "P1.T",
        "authority": Authority.BOOK if own else Authority.TALK,
        "source": "nowhere, page 1",
        "reading": "$x \\ge 1$",
        "quantity": "x",
        "rule": lambda p: (p.get("least", 1.0), INF),
        "expected": expected,
        "grade": Grade.PROVED,
        "severity": Severity.CONSTANT if refused else None,
        "corrected": "$x \\ge 0$" if corrected else None,
        "corrected_rule": (lambda p: (0.0, INF)) if corrected else None,
        "depends_on": (Choice("a choice", tuple(readings)),) if readings else (),
    }
    return Claim(**given | ({} if own else QUOTE) | changes)


WIDER, NARROWER = Alternative("wider", lambda p: (0.0, INF)), Alternative("narrower", lambda p: (5.0, INF))
MEASURED = Alternative("measured anew")


@pytest.mark.parametrize(
    ("cases", "corrected", "verdict"),
    [
        ([exact("a", 2.0), exact("b", 1.0)], False, Verdict.HOLDS),
        ([exact("a", 2.0), exact("b", 0.5)], False, Verdict.FAILS),  # one contradiction is enough
        ([exact("a", 2.0), exact("b", 0.5)], True, Verdict.CORRECTED),
        ([exact("a", 2.0), exact("b", -0.5)], True, Verdict.FAILS),  # the correction is wrong as well
        ([Case("a", 1.1, (1.0, 1.2))], False, Verdict.HOLDS),  # the ends belong to both
        ([Case("a", 0.9, (0.8, 1.0))], False, Verdict.INCONCLUSIVE),  # touching is not inside
        ([Case("a", 0.9, (0.8, 0.99))], False, Verdict.FAILS),
        ([Case("a", 2.0, (-5.0, 9.0))], False, Verdict.INCONCLUSIVE),
        ([exact("b", 0.5), Case("a", 2.0, (-5.0, 9.0))], True, Verdict.INCONCLUSIVE),
    ],
)
def test_verdicts(cases, corrected, verdict):
    assert judge(claim(corrected=corrected), cases).verdict is verdict


@pytest.mark.parametrize(
    ("value", "readings", "verdict", "stability"),
    [
        (2.0, [WIDER], Verdict.HOLDS, "agrees in 2 of 2 readings"),
        (2.0, [WIDER, NARROWER], Verdict.DEPENDS, "contradicted in 1 of 3 readings"),
        (0.5, [WIDER], Verdict.DEPENDS, "contradicted in 1 of 2 readings"),  # the author is right in one
        (0.5, [NARROWER], Verdict.FAILS, "contradicted in 2 of 2 readings"),
    ],
)
def test_no_accusation_that_a_fair_reading_does_not_support(value, readings, verdict, stability):
    card = judge(claim(readings=readings), exact("a", value))
    assert card.verdict is verdict and card.stability == stability
    assert stability.capitalize() in card._html()


def test_a_reading_can_have_cases_of_its_own():
    asked = claim(readings=[MEASURED])
    assert (
        judge(asked, exact("a", 0.5), readings={"measured anew": exact("b", 3.0)}).verdict is Verdict.DEPENDS
    )
    assert judge(asked, exact("a", 0.5), readings={"measured anew": exact("b", 0.3)}).verdict is Verdict.FAILS
    with pytest.raises(ValueError, match="'measured anew' are missing"):
        judge(asked, exact("a", 0.5))
    with pytest.raises(ValueError, match="no alternative is called 'other'"):
        judge(claim(), exact("a", 2.0), readings={"other": exact("b", 3.0)})


def test_the_books_own_statements_have_words_of_their_own():
    words = [judge(claim(own=True), c).verdict for c in (exact("a", 2), exact("a", 0), Case("a", 1, (0, 2)))]
    assert words == [Verdict.ESTABLISHED, Verdict.REFUTED, Verdict.OPEN]
    assert judge(claim(own=True, readings=[NARROWER]), exact("a", 2)).verdict is Verdict.OPEN


def test_rule_reads_the_parameters():
    assert judge(claim(), exact("a", 2.0, least=3.0)).verdict is Verdict.FAILS


def test_control_must_be_rejected_or_the_card_is_not_as_expected():
    asked, below = claim(control="x far below"), exact("far below", -9.0)
    good = judge(asked, exact("a", 2.0), below)
    blind = judge(asked, exact("a", 2.0), exact("one that agrees", 5.0))
    mixed = judge(asked, exact("a", 2.0), [below, exact("one that agrees", 5.0)])
    assert (good.as_expected, blind.as_expected, mixed.as_expected) == (True, False, False)
    assert "NOT rejected" in blind._html() and "rejected, as it must be" in good._html()
    # A rule that rejects the evidence, without a correction, must show that it can accept.
    failing = claim(Verdict.FAILS, readings=[NARROWER], control="where it is true")
    assert judge(failing, exact("a", 0.0), exact("true", 2.0)).as_expected
    assert not judge(failing, exact("a", 0.0), below).as_expected
    # With a correction the control speaks about that one.
    corrected = claim(Verdict.CORRECTED, corrected=True, readings=[NARROWER], control="c")
    assert not judge(corrected, exact("a", 0.5), exact("rejected as printed only", 0.5)).control_passed


def test_unexpected_verdict_shows_on_the_card():
    card = judge(claim(Verdict.FAILS, readings=[NARROWER]), exact("a", 7.0))
    assert not card.as_expected
    assert "Not what we expected: fails as printed" in card._html()


@pytest.mark.parametrize(
    ("cases", "rule"),
    [
        ([exact("a", 2.0), exact("b", 3.0)], lambda p: (1.0, INF)),
        ([exact("a", 2.0)], lambda p: (1.0, 2.2)),
        ([Case("a", 2.0, (1.9, 2.1)), exact("b", 1.5, 0.1)], lambda p: (1.0, 2.2)),
        (
            [exact("a", 2.0, lower=True), exact("b", 0.5, 0.1, lower=False)],
            lambda p: (1.0, INF) if p["lower"] else (-INF, 1),
        ),
    ],
)
def test_detection_limits_are_those_of_bisection(cases, rule):
    def contradicts(case, shift):
        ends = tuple(e + shift for e in case.interval)
        return outcome(claim(), Case(case.name, case.measured + shift, ends, case.parameters), rule)

    limits = []
    for case in cases:
        sides = []
        for sign in (-1.0, 1.0):
            low, high = 0.0, 1e3
            if contradicts(case, sign * high) != "contradicts":
                continue
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (
                    (low, middle) if contradicts(case, sign * middle) == "contradicts" else (middle, high)
                )
            sides.append(high)
        limits.append(max(sides))
    assert detection_limits(cases, rule) == pytest.approx((min(limits), max(limits)), rel=1e-9)


def test_the_least_sensitive_case_speaks_too():
    card = judge(claim(), [exact("sharp", 1.25, 0.01), Case("blunt", 8.0, (2.0, 14.0))])
    assert card.limits == pytest.approx((0.26, 13.0))
    assert (
        "0.26 would be seen in the most sensitive case; in the least sensitive one it takes 13"
        in card._html()
    )


def test_detection_limit_of_a_blind_rule_is_infinite_and_none_without_agreement():
    assert detection_limits([exact("a", 2.0)], lambda p: (-INF, INF)) == (INF, INF)
    assert judge(claim(), exact("a", 0.5, 0.1)).limits is None
    assert judge(claim(corrected=True), exact("a", 0.5, 0.1)).limits == pytest.approx((0.6, 0.6))


# ---------------------------------------------------------------------- what evidence can say
def at_most_one(**changes):
    return claim(rule=lambda p: (-INF, 1.0), **changes)


def test_a_search_can_contradict_an_upper_bound_and_never_establish_it():
    assert judge(at_most_one(), found("a bad search", -100.0)).verdict is Verdict.INCONCLUSIVE
    assert judge(at_most_one(), found("a good search", 1.5)).verdict is Verdict.FAILS
    assert judge(at_most_one(), found("with a proof", 0.5, 1.0)).verdict is Verdict.HOLDS
    assert judge(claim(), found("there is one", 2.0)).verdict is Verdict.HOLDS
    least = judge(claim(), found("smallest found", 2.0, least=True))
    assert least.verdict is Verdict.INCONCLUSIVE and least.cases[0].interval == (-INF, 2.0)
    assert judge(claim(), found("smallest, proved", 2.0, 1.5, least=True)).verdict is Verdict.HOLDS
    with pytest.raises(ValueError, match="outside interval"):
        found("beyond its proof", 2.0, 1.0)
    both = judge(at_most_one(), [*found("{k}", [0.1, 0.5], [0.7, 1.0], k=[1, 2])])
    assert "attained, no more than 0.7 by proof" in both._html()


def test_an_extrapolation_has_the_error_that_a_known_case_shows():
    case = extrapolated("a", 2.0, 0.1, known=(1.3, 0.1, 1.0))  # misses by three times its change
    assert case.interval == pytest.approx((1.7, 2.3))
    assert extrapolated("a", 2.0, 0.1, known=(1.05, 0.1, 1.0)).interval == pytest.approx((1.9, 2.1))
    assert extrapolated("a", 2.0, 0.1, known=(1.5, 0.0, 1.0)).interval == (-INF, INF)
    assert extrapolated("a", 2.0, remainder=0.2).interval == (1.8, 2.2)
    many = extrapolated("{d}", [2.0, 3.0], [0.1, 0.1], known=([1.2, 1.5], [0.1, 0.1], 1.0), d=[2, 3])
    assert np.allclose([c.interval for c in many], [(1.8, 2.2), (2.5, 3.5)])
    for given in ({}, {"change": 0.1}, {"known": (1, 1, 1)}, {"change": 0.1, "remainder": 0.1}):
        with pytest.raises(ValueError, match="needs a remainder, or a change and a known case"):
            extrapolated("a", 2.0, **given)


def test_an_extrapolation_that_tells_nothing_apart_is_undecided_in_one_sided_rules_too():
    wide, narrow = extrapolated("a", 5.0, remainder=3.5), extrapolated("a", 5.0, remainder=0.1)
    assert judge(claim(resolution=0.5), narrow).verdict is Verdict.HOLDS
    assert judge(claim(resolution=0.5), wide).verdict is Verdict.INCONCLUSIVE
    far = extrapolated("a", -9.0, remainder=3.5, d=8)
    assert judge(claim(resolution=lambda case: 1 / case["d"]), far).verdict is Verdict.INCONCLUSIVE
    with pytest.raises(ValueError, match="extrapolated, but the claim has no resolution"):
        judge(claim(), narrow)


def test_an_exact_number_carries_its_error_unless_it_is_whole():
    with pytest.raises(ValueError, match="needs the error that the code computed"):
        judge(claim(grade=Grade.EXACT), exact("a", 1.5))
    assert judge(claim(grade=Grade.EXACT), exact("a count", 3.0)).verdict is Verdict.HOLDS
    assert judge(claim(grade=Grade.IDENTITY), exact("a", 1.5)).verdict is Verdict.HOLDS
    assert judge(claim(), exact("a", 1.0 + 1e-3, 1e-2)).verdict is Verdict.INCONCLUSIVE


def test_a_reading_added_after_its_data_rescues_nothing():
    late = Alternative("late", lambda p: (0.0, INF), late=True)
    assert judge(claim(readings=[NARROWER, late]), exact("a", 0.5, 0.1)).verdict is Verdict.FAILS
    early = Alternative("early", late.rule)
    assert judge(claim(readings=[NARROWER, early]), exact("a", 0.5, 0.1)).verdict is Verdict.DEPENDS
    against = Alternative("late", NARROWER.rule, late=True)
    assert judge(claim(readings=[against]), exact("a", 2.0)).verdict is Verdict.DEPENDS


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda: judge(claim(), []), "at least one case"),
        (lambda: judge(claim(control="c"), exact("a", 2.0)), "control cases go with"),
        (lambda: judge(claim(), exact("a", 2.0), exact("c", 0.0)), "control cases go with"),
        (lambda: judge("no such claim", exact("a", 2.0)), "no such claim"),
        (lambda: Case("a", 2.0, (3.0, 4.0)), "outside interval"),
        (lambda: sampled("a", [1.0]), "at least 2"),
        (lambda: claim(rule=None), "needs a rule"),
        (lambda: claim(grade=None), "needs a grade"),
        (lambda: claim(Verdict.NOT_TESTABLE, rule=None, grade=None), "why_not"),
        (lambda: claim(corrected=True, corrected_rule=None), "go together"),
        (lambda: claim(quote=""), "a quote"),
        (lambda: claim(place=""), "quote and place"),
        (
            lambda: claim(own=True, quote="q", place="talk:1"),
            "a quote and its place go with every authority but",
        ),
        (lambda: claim(own=True, expected=Verdict.HOLDS), "own are established"),
        (lambda: claim(Verdict.ESTABLISHED), "only this book's own"),
        (lambda: claim(Verdict.FAILS), "names no alternative reading"),
        (lambda: claim(Verdict.CORRECTED, corrected=True), "names no alternative reading"),
        (lambda: claim(Verdict.FAILS, readings=[WIDER], severity=None), "severity"),
        (lambda: claim(readings=[WIDER, WIDER]), "share a name"),
    ],
)
def test_bad_input(broken, message):
    with pytest.raises((ValueError, KeyError), match=message):
        broken()


# ------------------------------------------------------------------------------- intervals
def test_sampled_interval_is_distribution_free():
    case = sampled("a", np.arange(32.0))
    middle, low, high, miss = median_interval(np.arange(32.0))
    assert (case.measured, case.interval, case.miss) == (middle, (low, high), miss) and middle == 15.5

    def misses(k):  # fewer than k of 32 values lie below the median, or above
        return 2 * sum(math.comb(32, i) for i in range(k)) / 2**32

    k = int(low) + 1
    assert high == 32 - k and miss == pytest.approx(misses(k))
    assert misses(k) <= FALSE_ALARM_RATE < misses(k + 1)


def test_few_seeds_have_the_range_and_very_few_have_no_interval():
    ten = sampled("a", np.arange(10.0))
    assert ten.interval == (0.0, 9.0) and ten.miss == pytest.approx(2 / 2**10)
    assert sampled("a", np.arange(7.0)).interval == (-INF, INF)
    assert judge(claim(), sampled("a", [2.0, 3.0])).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("law", ["standard_normal", "exponential", "chisquare", "lognormal", "half normal"])
def test_intervals_cover_the_median_of_skew_laws_as_often_as_they_say(law):
    rng, draws, m = np.random.default_rng(5), 20_000, 10
    values, median = {
        "standard_normal": lambda: (rng.standard_normal((draws, m)), 0.0),
        "exponential": lambda: (rng.exponential(size=(draws, m)), math.log(2)),
        "chisquare": lambda: (rng.chisquare(1, (draws, m)), 0.454936423119573),
        "lognormal": lambda: (rng.lognormal(size=(draws, m)), 1.0),
        "half normal": lambda: (abs(rng.standard_normal((draws, m))), 0.674489750196082),
    }[law]()
    _, low, high, miss = median_interval(values)
    misses = np.sum((median < low) | (median > high))
    # Binomial with mean 39: 5.5 standard deviations, a false alarm in fewer than 1e-6 of all runs
    assert abs(misses - draws * miss) < 5.5 * math.sqrt(draws * miss)


def test_kinds_of_cases():
    assert exact("a", 1.0, 0.5).interval == (0.5, 1.5) and exact("a", 1.0).kind == "exact"
    assert extrapolated("a", 1.0, remainder=0.5).kind == "extrapolated" and found("a", 1.0).kind == "found"


# ------------------------------------------------------------------------------- cards
def test_record_is_strict_json_and_complete():
    card = judge(claim(corrected=True, readings=[NARROWER], control="c"), exact("a", 0.5), exact("far", -9.0))
    record = json.loads(json.dumps(card.record(), allow_nan=False))  # an infinite range is a string
    assert record["verdict"] == "holds corrected" and record["cases"][0]["permitted"] == [1.0, "inf"]
    assert (
        record["control_cases"][0]["measured"] == -9.0 and record["authority"] == "authors' talk, read by OCR"
    )
    assert record["readings"] == {"as we read it": "contradicts", "narrower": "contradicts"}
    assert set(card._repr_mimebundle_()) == {"text/html", "text/plain", provenance.CARD_MIME}


def test_card_escapes_text_renders_mathematics_and_keeps_the_voices_apart():
    asked = claim(id="P1.<1>", source="a & b", quote="If $a<b$ then <b> follows", rule=lambda p: (0, 1))
    page = judge(asked, exact("<i>", 0.0))._html()
    assert "<b>" not in page and "<i>" not in page and "a &amp; b" in page
    assert r'<span class="math notranslate nohighlight">\(a&lt;b\)</span>' in page
    assert '<blockquote class="icl-quote">' in page and "ITA slides, line 1</footer>" in page
    assert page.count("<footer>authors&#x27; talk, read by OCR: ITA slides") == 1
    summary = claim(authority=Authority.SUMMARY, quote="words", place="summary2:7")
    assert (
        "<footer>machine-written summary of arXiv 2307.02419, line 7<"
        in judge(summary, exact("a", 2.0))._html()
    )
    heard = claim(authority=Authority.TEXT, quote="words", place="notes2:7")
    assert (
        "<footer>authors&#x27; text, found among the formulas of other"
        in judge(heard, exact("a", 2.0))._html()
    )
    assert "an error of 210 decades" in limits_in_words(2.1e2, 2.1e2, "decades")
    assert "it takes 9.9e+09 x" in limits_in_words(1.0, 9.9e9, "x")
    assert "an error of 0.051 x" in limits_in_words(0.0512, 0.0512, "x") and "1e-09 x" in limits_in_words(
        1e-9, 1e-9, "x"
    )
    assert "We judge: " in page and "This book states: " in judge(claim(own=True), exact("a", 2.0))._html()


# ------------------------------------------------------------------------------- the registry
def test_registry_is_sound():
    registry = claims.registry()
    for name, entry in registry.items():
        assert name == entry.id and entry.paper in ("P1", "P2"), name
        assert entry.source and entry.statement.count("$") % 2 == 0 and entry.quote.count("$") % 2 == 0, name
        assert entry.rule is None or entry.quantity, name
        assert "](" not in entry.statement + entry.quantity + (entry.corrected or ""), f"{name}: a link"
        assert entry.expected is not Verdict.INCONCLUSIVE, name
        for i in entry.implied_by:
            assert i in registry and i != name, name


def contradicted_elsewhere(claims):
    """Choices that name another testable claim, and have no alternative to be judged with."""
    return [
        (entry.id, name)
        for entry in claims.values()
        for choice in entry.depends_on
        for name in re.findall(r"P[12]\.[\w-]+(?:\.[\w-]+)?", choice.what)
        if name in claims and claims[name].rule is not None and not choice.alternatives
    ]


def test_a_result_that_a_choice_names_enters_the_verdict():
    assert contradicted_elsewhere(claims.registry()) == []


def test_a_choice_that_names_a_result_without_judging_it_is_found():
    loose = claim(depends_on=(Choice("the other case is P1.X"),))
    assert contradicted_elsewhere({"P1.T": loose, "P1.X": claim(id="P1.X")}) == [("P1.T", "P1.X")]
    assert (
        contradicted_elsewhere({"P1.T": claim(depends_on=(Choice("P1.X", (WIDER,)),)), "P1.X": claim()}) == []
    )


@pytest.mark.parametrize("few", [(0.0, INF), (-INF, INF)])
def test_a_reading_that_some_cases_cannot_contradict_is_refused(few):
    escape = Alternative("where it was seen", lambda p: (0.5, 2.0) if p["d"] <= 5 else few)
    with pytest.raises(ValueError, match="'where it was seen' permits everything in some cases"):
        judge(claim(readings=[escape]), exact("d = {d}", [1.0, 3.0], d=[5, 8]))


def test_nothing_implies_itself_in_a_circle():
    registry = claims.registry()

    def roots(name, above=()):
        assert name not in above, above
        for i in registry[name].implied_by:
            roots(i, (*above, name))

    for name in registry:
        roots(name)


def test_only_abstracts_talk_and_rebuttal_are_the_authors_own():
    """No machine's and no other paper's sentence is counted under a paper's authors."""
    documents = {"abstract1", "abstract2", "talk", "openreview"}
    for entry in claims.registry().values():
        key = entry.place.partition(":")[0]
        if entry.authority in OWN:
            assert key in documents, entry.id
        elif key in ("abstract1", "abstract2", "talk"):
            raise AssertionError(f"{entry.id}: quoted from the authors, credited to {entry.authority}")


# ------------------------------------------------------------------------------- arrays of cases
def test_arrays_of_cases_are_the_single_cases():
    values, d, n = np.arange(6.0).reshape(2, 3), np.array([2, 5]), np.array([10.0, 100.0, 1000.0])
    many = exact("d = {d}, n = {n:g}, $x_{{1}}$", values, [0.1, 0.2, 0.3], d=d[:, None], n=n)
    one_by_one = [
        exact(f"d = {d[i]}, n = {n[j]:g}, $x_{{1}}$", values[i, j], 0.1 * (j + 1), d=int(d[i]), n=float(n[j]))
        for i in range(2)
        for j in range(3)
    ]
    assert [c.name for c in many] == [c.name.replace("{", "{").replace("}", "}") for c in one_by_one]
    assert many[4].parameters == {"d": 5, "n": 100.0} and type(many[4].parameters["d"]) is int
    assert np.allclose([c.interval for c in many], [c.interval for c in one_by_one])


def test_arrays_of_sampled_cases_are_the_single_cases():
    values = np.random.default_rng(0).standard_normal((2, 2, 9))
    many = sampled("{a}, {b}", values, a=np.array(["x", "y"])[:, None], b=[1, 2])
    assert many[2] == sampled("y, 1", values[1, 0], a="y", b=1) and many[2].samples == 9


def test_judge_takes_nested_cases():
    asked = claim(rule=lambda case: (0, case["top"]), control="c")
    inside = exact("{top}", np.array([0.5, 1.5]), top=[1, 2])
    card = judge(asked, [inside, [exact("one", 0.0, top=1)]], exact("far", 5.0, top=1))
    assert [c.name for c in card.cases] == ["1", "2", "one"] and card.control_passed


def test_only_a_sampled_interval_may_miss():
    (case,) = exact("x", [1.0], 0.1)
    assert case.miss == 0 and case.kind == "exact"
