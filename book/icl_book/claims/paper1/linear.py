"""Statements of the first paper on softmax attention against its rivals: linear attention, nearest neighbors.

The chapter is linear_attention.
"""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Verdict

_DEFINITION = Choice(
    r"the definition of linear attention, $\frac1n\sum_iy_i\,x_i^\top Mx_q$, that of the literature the "
    "talk cites"
)


def risk_growth(label: str, dim: int) -> float:
    """Return the exponent in n by which linear attention falls behind on a nonlinear class."""
    return 3 / (dim + 2) if label == "ReLU" else 4 / (dim + 3)


CLAIMS: list[Claim] = [
    Claim(
        id="P1.LA.fails",
        authority=Authority.TEXT,
        source="abstract, last sentence",
        quote="this adaptivity relies crucially on the softmax activation and thus cannot be replicated by "
        "the linear activation often studied in prior theoretical analyses",
        place="abstract1:1",
        reading='"This adaptivity" is that to a landscape of nonlinear tasks: on them linear attention falls '
        "behind softmax attention without bound as the context grows, even if it is spared the constant part "
        "of the functions",
        quantity=r"slope in $\log n$ of the log of the least risk of linear attention over that of softmax "
        "attention, exact, far out",
        rule=lambda case: (0.0, inf),
        resolution=lambda case: risk_growth(case["label"], case["d"]),
        expected=Verdict.DEPENDS,
        grade=Grade.EXTRAPOLATED,
        quantifier="for $n$ to infinity, for each class and dimension listed",
        depends_on=(
            _DEFINITION,
            Choice(
                "linear attention is spared the constant part, as if it had an intercept",
                (Alternative("the classes as they are, intercept included"),),
            ),
            Choice(
                "the tasks: ReLU functions, squares and cosines of one projection; the sentence before "
                'speaks of "low-rank, linear problems", where linear attention can learn the projection '
                "as well and wins (P1.LA.wins)",
                (Alternative("low-rank, linear problems, both units with the projection", late=True),),
            ),
        ),
        control="tasks that are not nonlinear: purely linear functions",
        unit="in the exponent",
    ),
    Claim(
        id="P1.LA.floor",
        authority=Authority.BOOK,
        source="exact floor of linear attention, by parity",
        reading=r"For every $M$, $n$ and $\sigma$ the risk of linear attention is at least the power of the "
        r"class outside degree one: $\frac{L^2}3$ (affine), $\frac{L^2}3+\frac{L^2}{6d}$ (ReLU), all of it "
        "for even functions",
        quantity="error on fresh contexts of units trained over all matrices $M$, minus the floor, in "
        "units of the floor, median over seeds; 5 % are left to the luck of the test contexts",
        rule=lambda case: (-0.05, inf),
        grade=Grade.PROVED,
        quantifier=r"for all $M$, $n$ and $\sigma$",
        depends_on=(_DEFINITION,),
        control="purely linear functions against the floor of the affine class",
        unit="relative to the floor",
    ),
    Claim(
        id="P1.LA.closed-form",
        authority=Authority.BOOK,
        source="closed form of the best linear attention",
        reading="The best linear attention is $M=mI$, "
        r"$m=\frac{a_1}d\big/\big[\frac{k(1)+\sigma^2}{nd}+(1-\frac1n)\frac{a_1}{d^2}\big]$",
        quantity="mean diagonal of the minimizer of the paper's empirical loss over all matrices, divided "
        "by $m$; median over seeds, within 20 %",
        rule=lambda case: (0.8, 1.2),
        grade=Grade.PROVED,
        quantifier=r"for all rotation-invariant classes, $n$ and $\sigma$",
        depends_on=(_DEFINITION,),
        unit="relative",
    ),
    Claim(
        id="P1.LA.wins",
        authority=Authority.BOOK,
        source="where linear attention wins",
        reading="On purely linear functions linear attention has no floor, and for long contexts it beats "
        "softmax attention",
        quantity="least risk of linear attention over least risk of softmax attention at the longest "
        "context, exact; at most one half",
        rule=lambda case: (-inf, 0.5),
        grade=Grade.EXACT,
        quantifier="in each dimension listed, at one context length",
        depends_on=(_DEFINITION,),
        control="the same functions with an intercept",
        unit="relative",
    ),
    Claim(
        id="P1.LA.neighbors",
        authority=Authority.TEXT,
        source="abstract, fifth sentence",
        quote="an attention unit learns a window that it uses to implement a nearest-neighbors predictor "
        "adapted to the landscape of the pretraining tasks",
        place="abstract1:1",
        reading="With the best window a unit does the work of a nearest-neighbors predictor whose number "
        "of neighbors is adapted to the tasks: its risk is at most 10 % above that of the mean over the "
        "$k$ nearest tokens with the best $k$",
        quantity="least risk of softmax attention over that of the mean over the $k$ nearest tokens with the "
        "best $k$, both exact",
        rule=lambda case: (-inf, 1.1),
        expected=Verdict.DEPENDS,
        grade=Grade.EXACT,
        quantifier="for each class listed, in one dimension at one context length",
        depends_on=(
            Choice(
                "the sentence names no measure: ours is the risk, ten percent the limit",
                (Alternative("at most 5 % more", lambda case: (-inf, 1.05)),),
            ),
            Choice(
                "the contexts are short, which is where units are trained; in long ones hard edges win",
                (Alternative("affine functions in long contexts, in five dimensions and more", late=True),),
            ),
        ),
        control="one neighbor in place of the best number of them, against the unit",
        unit="relative",
    ),
]
