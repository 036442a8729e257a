"""Statements of the first paper on softmax attention against its rivals: linear attention, nearest neighbors.

The chapter is linear_attention.
"""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Severity, Verdict

CLAIMS: list[Claim] = [
    Claim(
        id="P1.LA.fails",
        source='machine-written summary of the paper, contribution 4 (the abstract\'s "linear attention")',
        statement="The adaptivity enabled by softmax is crucial: linear attention fails at ICL for basic "
        "nonlinear tasks",
        quantity=r"share of $\mathbb E(f-b)^2$, $b$ the constant part of the class, that the best linear "
        "attention leaves at $n=10^{12}$ although it is given $b$, exact",
        rule=lambda case: (0.1, 1.0),
        resolution=1e-6,
        control="tasks that are not nonlinear: purely linear and affine functions",
    ),
    Claim(
        id="P1.LA.floor",
        source="this book: exact floor of linear attention, by parity",
        statement=r"For every $M$, $n$ and $\sigma$ the risk of linear attention is at least the power of "
        r"the class outside degree one: $\frac{L^2}3$ (affine), $\frac{L^2}3+\frac{L^2}{6d}$ "
        "(ReLU), all of it for even functions",
        quantity="least risk over all matrices $M$ at the length of the context, sampled, minus the floor, "
        "in units of the floor",
        rule=lambda case: (0.0, inf),
        resolution=0.05,
        control="purely linear functions against the floor of the affine class",
    ),
    Claim(
        id="P1.LA.closed-form",
        source="this book: closed form of the best linear attention",
        statement=r"The best linear attention is $M=mI$, "
        r"$m=\frac{a_1}d\big/\big[\frac{k(1)+\sigma^2}{nd}+(1-\frac1n)\frac{a_1}{d^2}\big]$",
        quantity="mean diagonal of the minimizer of the paper's empirical loss over all matrices, divided by "
        "$m$; mean over seeds",
        rule=lambda case: (1.0, 1.0),
        resolution=0.2,
        control="the $m$ of purely linear functions for units trained on affine ones",
    ),
    Claim(
        id="P1.LA.wins",
        source="this book: where linear attention wins",
        statement="On purely linear functions linear attention has no floor, and for long contexts it "
        "beats softmax attention",
        quantity="least risk of linear attention over least risk of softmax attention at the longest "
        "context, exact",
        rule=lambda case: (0.0, 0.5),
        resolution=1e-6,
        control="the same functions with an intercept",
    ),
    Claim(
        id="P1.LA.neighbors",
        source="machine-written summary of the paper, contribution 2",
        statement="Softmax attention implements a nearest neighbors predictor adapted to the landscape of "
        "pretraining tasks",
        quantity="risk of the plain nearest neighbor over the least risk of softmax attention, exact, over "
        "all context lengths: adapting must pay",
        rule=lambda case: (1.05, inf),
        resolution=1e-6,
        control="a context of one token",
    ),
]
