"""Statements beyond the theorems of the first paper: the reviews, the rebuttal and the summary's questions.

The chapters have names that begin with ``beyond``.
"""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Severity, Verdict

CLAIMS: list[Claim] = [
    Claim(
        id="P1.beyond.smooth",
        source="this book, after question 2 of the machine-written summary: sigmoid and tanh classes",
        statement=r"For every smooth rotation-invariant class "
        r"$w^*\sim\big[\tfrac{\mathbb E(\Delta f)^2n}{(d-1)\kappa\sigma^2}\big]^{2/(d+3)}$",
        quantity="exact $w^*$ divided by the law, extrapolated to infinite $n$ linearly in $1/w$",
        rule=lambda case: (1.0, 1.0),
        resolution=0.02,
        control="the mean squared gradient in place of the mean squared Laplacian",
    ),
    Claim(
        id="P1.summary.mlp",
        source="machine-written summary, contribution 4: experiments on nonlinear functions like MLPs",
        statement="The conclusions (a narrower window for more Lipschitz functions) extend to MLPs",
        quantity=r"local slope of $\log w^*$ in $\log L$ at fixed noise, exact; random two-layer networks",
        rule=lambda case: (0.05, inf),
        resolution=0.01,
        control="noise that grows with $L$",
    ),
    Claim(
        id="P1.rebuttal.classification",
        source="rebuttal, point 3: classification",
        statement="The optimal attention weights will again scale with the label noise level and inversely "
        "with the Lipschitzness of the labels",
        quantity=r"local slope of $\log w^*$, $M^*=w^*I$, in $\log p$ (flip probability) or $\log L$; labels "
        r"$\pm1$, squared loss, exact",
        rule=lambda case: (0.05, inf) if case["change"] == "noise" else (-inf, -0.05),
        expected=Verdict.CORRECTED,
        corrected=r"The optimal window $w^{*-1/2}$ does; the weights $M^*=w^*I$ fall with label noise and "
        "grow with Lipschitzness",
        corrected_rule=lambda case: (-inf, -0.05) if case["change"] == "noise" else (0.05, inf),
        resolution=0.01,
        control="the context length changes along: a hundredfold with the noise, to a tenth with $L$",
    ),
    Claim(
        id="P1.rebuttal.collapse",
        source="rebuttal, point 3: more layers",
        statement="Without MLP or normalization, attention layers make the tokens collapse to a single "
        "point, similar to a power iteration",
        quantity="mean squared distance of the tokens to their mean, relative to the start",
        rule=lambda case: (0.0, 1e-3),
        resolution=0.01,
        control="a window so narrow that every token attends to itself only",
    ),
    Claim(
        id="P1.rebuttal.links",
        source="rebuttal: hierarchical function classes, shared projection before a nonlinear link",
        statement="The attention weights again learn the projection and implement a nearest neighbors "
        "regressor in its range, with a neighborhood size that fits Lipschitzness and noise",
        quantity=r"mean diagonal of $B^\top MB$ of pretrained $M$ divided by the exact optimal window of "
        "the projected problem; mean over seeds",
        rule=lambda case: (0.97, 1.03),
        resolution=0.1,
        control="the window of twice the noise",
    ),
]
