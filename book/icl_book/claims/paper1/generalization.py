"""Statements of the first paper on generalization: is a shared Lipschitz constant necessary, and sufficient?

The sentence of the talk, what a review says of the paper's Theorem 3.5, and Fig. 5. The chapter is
theorem3_generalization.
"""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Rule, Verdict

_SETTING = Choice(
    r"dimension, context length and noise of Fig. 5, which are in no source: $d=3$, $n=20$, $\sigma=0.1$",
    (Alternative(r"cosines $\cos(Lu\cdot x)$ in eight dimensions, best windows, exact"),),
)
_FORMULAS = "the formulas of the affine and the cosine class, which are in no source"
_PHASE = Alternative(r"cosines $\cos(Lu\cdot x+\phi)$, $\phi$ uniform, best windows, exact")


def _around(exponent: float) -> tuple[float, float]:
    return exponent - 0.01, exponent + 0.01


def _above(percent: int) -> Alternative:
    return Alternative(f"more than {percent} % above the least risk", lambda case: (1 + percent / 100, inf))


def _within(percent: int) -> Alternative:
    return Alternative(f"at most {percent} % above the least risk", lambda case: (-inf, 1 + percent / 100))


def _reproduced(percent: int) -> Alternative:
    return Alternative(f"at most {percent} % more than the unit of the class tested", _rule(percent))


def _rule(percent: int) -> Rule:
    limit = 1 + percent / 100
    return lambda case: (-inf, limit) if case.get("same", True) else (limit, inf)


_LIMIT = '"generalizes" is read as: at most 10 % more error'

CLAIMS: list[Claim] = [
    Claim(
        id="P1.T3.sufficient",
        authority=Authority.TALK,
        source="Generalization Guarantees: sufficient",
        quote="Shared Lipschitzness across (train, test) is both **necessary** and **sufficient** for ICL.",
        place="talk:374",
        reading="Sufficient: on another class of the same $L$ a unit has at most 10 % more than the least "
        "risk (affine and ReLU class, short contexts)",
        quantity="exact risk with the window of another class of the same $L$ over the least risk",
        rule=lambda case: (-inf, 1.1),
        expected=Verdict.DEPENDS,
        grade=Grade.EXACT,
        quantifier="for every pair of classes and every setting listed",
        depends_on=(
            Choice('"generalizes" is read as: at most 10 % lost', (_within(5),)),
            Choice(
                "the classes: affine and ReLU; no source prints the formula of the cosine class",
                (
                    Alternative(r"with the cosines $\cos(Lu\cdot x+\phi)$, $\phi$ uniform, at most 10 %"),
                    Alternative(r"with the cosines $\cos(Lu\cdot x)$, at most 10 %"),
                ),
            ),
            Choice(
                "the contexts have 20 or 100 tokens",
                (Alternative("long contexts, from affine to ReLU functions, at most 10 %"),),
            ),
        ),
        unit="relative",
    ),
    Claim(
        id="P1.T3.necessary",
        authority=Authority.TALK,
        source="Generalization Guarantees: necessary",
        quote="Shared Lipschitzness across (train, test) is both **necessary** and **sufficient** for ICL.",
        place="talk:374",
        reading="Necessary: on the ReLU class of an $L'$ at least four times smaller or larger a unit has "
        "more than 10 % above the least risk, for long contexts",
        quantity=r"exact risk with the window of $L$ over the least risk, both on $D(\mathcal F_{L'}^+)$",
        rule=lambda case: (1.1, inf),
        expected=Verdict.DEPENDS,
        grade=Grade.EXACT,
        quantifier="for each $L'/L$ and dimension listed, at one context length",
        depends_on=(
            Choice('"fails to generalize" is read as: more than 10 % lost', (_above(25), _above(50))),
            Choice("how far $L'$ is from $L$", (Alternative("$L'$ near $L$, more than 10 %"),)),
            Choice(
                r"$n\to\infty$ at fixed $L/\sigma$",
                (Alternative(r"$L/\sigma=1000$ at a fixed short context, more than 10 %"),),
            ),
        ),
        unit="relative",
    ),
    Claim(
        id="P1.T3.sufficient-rate",
        authority=Authority.BOOK,
        source="one L, two classes, long contexts",
        reading="On ReLU functions the risk with the window of the affine class of the same $L$ over the "
        r"least risk grows like $\Lambda^{\frac3{(d+2)(d+3)}}$: the kink asks for a narrower window at "
        "every $L$",
        quantity=r"slope of the log of that ratio in $\log n$, exact, extrapolated to $n\to\infty$, within "
        "0.01",
        rule=lambda case: _around(3 / ((case["dim"] + 2) * (case["dim"] + 3))),
        resolution=0.01,
        grade=Grade.EXTRAPOLATED,
        quantifier="for $n$ to infinity, in each dimension listed",
        unit="in the exponent",
    ),
    Claim(
        id="P1.T3.any",
        authority=Authority.REVIEW,
        source="a review, on the paper's Theorem 3.5",
        quote="whose test data are any arbitrary L−Lipschitz task",
        place="openreview:71",
        reading="The bound of the talk's Theorem 3 for every $L$-Lipschitz test function: pretrained on "
        r"$D(\mathcal F_L^+)$, $\mathcal L(M)\le O\big(L^2\Lambda^{-\frac1{d+2}}\big)$",
        quantity=r"slope in $\log n$ of a number that no $L$-Lipschitz function exceeds, exact",
        rule=lambda case: (-inf, -1 / (case["dim"] + 2)),
        resolution=lambda case: 1 / (case["dim"] + 2),  # from the printed exponent to the sharp one
        grade=Grade.CERTIFIED,
        quantifier="for all $L$-Lipschitz functions, at three context lengths",
        depends_on=(
            Choice("the formula of Theorem 3.5 is in no source; the rate is that of the talk's Theorem 3"),
            Choice(
                'the "d-dimensional hypersphere" of the talk is $S^{d-1}$',
                (
                    Alternative(
                        "the exponent for tokens on $S^d$", lambda case: (-inf, -1 / (case["dim"] + 1))
                    ),
                ),
            ),
        ),
        control=r"functions that are not $L$-Lipschitz: $\cos(\sqrt{w^*}\,u\cdot x)$ of amplitude $L$",
        unit="in the exponent",
    ),
    Claim(
        id="P1.F5.sufficient",
        authority=Authority.TALK,
        source="Empirical Generalization: three units with L = 1, tested on three classes",
        quote="All three attention units generalize to all test distributions since L is the same",
        place="talk:392",
        reading="Reproduced: each unit has at most 10 % more error than the unit of the class tested; the "
        "even cosine class leaves the sign of $w$ open, and units that found $-w$ are turned to $+w$",
        quantity="sampled error of a unit over that of the unit pretrained on the class tested, median "
        "over seeds",
        rule=_rule(10),
        expected=Verdict.DEPENDS,
        grade=Grade.SAMPLED,
        quantifier="for each pair of classes, in one setting",
        depends_on=(
            Choice(_LIMIT, (_reproduced(5),)),
            _SETTING,
            Choice(_FORMULAS, (_PHASE,)),
            Choice(
                r"Lemma 1 of the talk has $w_{KQ}\ge0$; trained from zero, a unit of the even class finds "
                "$+w$ or $-w$",
                (Alternative("cosine units that look at the opposite side, $-w$"),),
            ),
        ),
        unit="relative",
    ),
    Claim(
        id="P1.F5.necessary",
        authority=Authority.TALK,
        source="Empirical Generalization: three units, tested on cosine L = 1",
        quote="Test on Cosine tasks with L=1 [...] Only pretraining on the same Lipschitzness generalizes",
        place="talk:402",
        reading="Reproduced: of units pretrained on affine $L=1$, cosine $L=0.1$ and cosine $L=10$ only "
        "the first has at most 10 % more error than the unit of the class tested",
        quantity="sampled error on cosine $L=1$ over that of the unit pretrained there, median over seeds",
        rule=_rule(10),
        expected=Verdict.DEPENDS,
        grade=Grade.SAMPLED,
        quantifier="for each of the three units, in one setting",
        depends_on=(
            Choice(_LIMIT, (_reproduced(5), _reproduced(25), _reproduced(50))),
            _SETTING,
            Choice(
                _FORMULAS,
                (_PHASE, Alternative(r"cosines $\cos(Lu\cdot x+\phi)$, $\phi$ uniform, in eight dimensions")),
            ),
        ),
        unit="relative",
    ),
    Claim(
        id="P1.F5.values",
        authority=Authority.TALK,
        source="Empirical Generalization: the curves shown",
        quote="Tested on (Left) Affine, (Middle) ReLU, (Right) Cosine, with L=1",
        place="talk:391",
        reading="The values of the curves of test error during pretraining",
        expected=Verdict.NOT_TESTABLE,
        why_not="Dimension, context length, noise, optimizer and the formulas of two of the three classes "
        "are in no source available to us. What the talk says of the curves is judged, with our declared "
        "choices, in P1.F5.sufficient and P1.F5.necessary.",
    ),
    Claim(
        id="P1.3-5.formula",
        authority=Authority.TALK,
        source="Empirical Generalization: the paper's Theorem 3.5",
        quote="Please see paper for formal results (Theorem 3.5)",
        place="talk:404",
        reading="The bounds of the paper's Theorem 3.5 on the test loss",
        expected=Verdict.NOT_TESTABLE,
        why_not="The formula of Theorem 3.5 is in none of the sources available to us. What the talk "
        "prints of it is judged above, and so is what a review says of it (P1.T3.any).",
    ),
]
