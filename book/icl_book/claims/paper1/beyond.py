"""Statements beyond the theorems of the first paper: the reviews, the rebuttal and the summary's questions.

The chapters have names that begin with ``beyond``.
"""

from __future__ import annotations

from math import exp, inf

from icl_book.claims.claim import Authority, Choice, Claim, Grade, Verdict

CLAIMS: list[Claim] = [
    Claim(
        id="P1.beyond.smooth",
        authority=Authority.BOOK,
        source="after question 2 of the machine-written summary: sigmoid and tanh classes",
        reading=r"For smooth rotation-invariant classes, those of sigmoid and tanh among them, "
        r"$w^*\sim\big[\tfrac{\mathbb E(\Delta f)^2n}{(d-1)\kappa\sigma^2}\big]^{2/(d+3)}$",
        quantity="exact $w^*$ divided by the law, extrapolated to infinite $n$ linearly in $1/w$; within 2 %",
        rule=lambda case: (0.98, 1.02),
        grade=Grade.EXTRAPOLATED,
        quantifier="in the limit of long contexts",
        implied_by=("P1.PD.smooth-law",),
        unit="relative",
    ),
    Claim(
        id="P1.beyond.networks",
        authority=Authority.BOOK,
        source="random two-layer networks",
        reading=r"One softmax unit cannot tell random two-layer networks of any width from the ReLU class "
        r"with $\sqrt3L$: they have its covariance, and so its risk and its window",
        quantity="window of units trained on networks, divided by the exact one of that ReLU class; median "
        "over seeds; within 10 %",
        rule=lambda case: (0.9, 1.1),
        grade=Grade.SAMPLED,
        quantifier="for the listed widths",
        unit="relative",
    ),
    Claim(
        id="P1.rebuttal.bias",
        authority=Authority.REBUTTAL,
        source="rebuttal, point 1: bias and window",
        quote="the bias of the estimator should increase with an increase in the size of the attention "
        "window (to counteract the decrease in variance), and we establish this for these two function "
        "classes",
        place="openreview:204",
        reading="For affine and ReLU functions, and every other rotation-invariant class, the mean squared "
        "bias of the estimator in long contexts falls with $w$",
        quantity=r"largest local slope of $\log L_{\rm bias}$ in $\log w$ over a grid of $w$, context so "
        "long that the tokens' own variance is negligible; below 0",
        rule=lambda case: (-inf, 0.0),
        grade=Grade.PROVED,
        quantifier="for all $w$, in the limit of long contexts",
        depends_on=(
            Choice(
                r"what the bias is: that of the estimator. $L_{\rm bias}$ at a fixed context length also "
                "contains the variance of the tokens, and rises again in very narrow windows"
            ),
        ),
        unit="in the exponent",
    ),
    Claim(
        id="P1.rebuttal.classification",
        authority=Authority.REBUTTAL,
        source="rebuttal, point 3: classification",
        quote="we expect that the optimal attention weights will again scale with the label noise level and "
        "inversely with the Lipschitzness of the labels",
        place="openreview:210",
        reading="The optimal attention *window* $w^{*-1/2}$ again widens with the label noise and narrows "
        "with the Lipschitzness of the labels",
        quantity=r"local slope of $\log w^{*-1/2}$ in $\log p$ (flip probability), at least 0.025, or in "
        r"$\log L$, at most -0.025",
        rule=lambda case: (0.025, inf) if case["varied"] == "noise" else (-inf, -0.025),
        grade=Grade.EXACT,
        quantifier="for the listed settings",
        depends_on=(
            Choice(
                "that *weights* stands for *window*: *again* refers to regression, where the window, and not "
                "$M$, does this"
            ),
            Choice(
                r"labels $\pm1$ with mean $\tanh(Lq\cdot x)$, flipped with probability $p$, and the squared "
                "loss; the analog of Lipschitzness is left open in the source"
            ),
        ),
        unit="in the exponent",
    ),
    Claim(
        id="P1.rebuttal.collapse",
        authority=Authority.REBUTTAL,
        source="rebuttal, point 3: more layers",
        quote="has to be incorporated into the model and analysis to prevent the tokens from collapsing to a "
        "single point similar to what happens in a power iteration",
        place="openreview:211",
        reading="Without MLP, residual or normalization, layers $M=wI$ of attention among tokens of length "
        "at most one make them collapse to a single point, for every $w$",
        quantity="largest factor by which a layer leaves the range of a coordinate of the tokens, over "
        r"layers, coordinates and token sets; at most $1-e^{-2w}$, which is proved on the page",
        rule=lambda case: (-inf, 1 - exp(-2 * case["w"])),
        grade=Grade.PROVED,
        quantifier="for all $w$ and all tokens",
        unit="in the factor",
    ),
    Claim(
        id="P1.beyond.sphere",
        authority=Authority.BOOK,
        source="collapse with normalization",
        reading="Projecting the tokens to the sphere after each layer, the simplest normalization, delays "
        "the collapse and does not prevent it for wide windows",
        quantity="mean squared distance of the tokens to their mean, relative to the start, after the last "
        "layer; median over token sets; at most 0.001",
        rule=lambda case: (-inf, 1e-3),
        grade=Grade.SAMPLED,
        quantifier="for the listed windows",
        unit="relative",
    ),
    Claim(
        id="P1.rebuttal.layers",
        authority=Authority.REBUTTAL,
        source="rebuttal, point 2: two layers",
        quote="the first layer could learn to project onto the relevant subspace",
        place="openreview:206",
        reading="There is a two-layer unit whose first layer projects: nothing that it returns depends on "
        "the irrelevant part of the tokens",
        quantity=r"irrelevant share of what the first layer returns, without residual, at $M_1=wBB^\top$ and "
        r"$V_1=BB^\top$; at most 1e-9, rounding",
        rule=lambda case: (-inf, 1e-9),
        grade=Grade.IDENTITY,
        quantifier="there is",
        depends_on=(
            Choice("that *could learn* asks for the possibility; what training finds is P1.beyond.projects"),
        ),
        unit="of the variance",
    ),
    Claim(
        id="P1.beyond.projects",
        authority=Authority.BOOK,
        source="trained two-layer units without a residual connection, on low-rank tasks",
        reading="Trained first layers without a residual connection project in part: their output depends "
        "less on the irrelevant part of the tokens than the tokens themselves, whose share is one half",
        quantity="irrelevant share of what the trained first layer returns; median over seeds; below 0.5",
        rule=lambda case: (-inf, 0.5),
        grade=Grade.SAMPLED,
        quantifier="for one kind of unit and one problem",
        unit="of the variance",
    ),
    Claim(
        id="P1.rebuttal.links",
        authority=Authority.REBUTTAL,
        source="rebuttal: hierarchical function classes, shared projection before a nonlinear link",
        quote="the attention weights again learn the projection and implement a nearest neighbors regressor "
        "in the range of the projection with appropriate neighborhood size",
        place="openreview:97",
        reading="Trained on a nonlinear link behind a projection $B$, $M$ is $w^*BB^\\top$, with the exact "
        "window $w^*$ of the link's class in the range of the projection. The authors *suspect* it",
        quantity=r"mean diagonal of $B^\top MB$ of trained $M$ divided by $w^*$, within 3 %; and the norm of "
        "$M$ without that block over that of $M$, at most 0.1; medians over seeds",
        rule=lambda case: (0.97, 1.03) if case["what"] == "window" else (0.0, 0.1),
        grade=Grade.SAMPLED,
        quantifier="for the listed links",
        depends_on=(
            Choice("the link's classes, $d$, $k$, $n$ and $\\sigma$: none is printed"),
            Choice("the largest of several batch sizes: small batches bias where training settles"),
        ),
        unit="relative",
    ),
    Claim(
        id="P1.summary.mlp",
        authority=Authority.SUMMARY,
        source="machine-written summary, contribution 4",
        quote="It provides experiments on nonlinear functions like MLPs validating that conclusions extend "
        "beyond the theoretical settings",
        place="summary1:42",
        expected=Verdict.NOT_TESTABLE,
        why_not="No other source mentions such experiments. What can be computed about random networks is in "
        "P1.beyond.networks; that their window follows $L$ is P1.W.rapid, since they have the covariance of "
        "the ReLU class.",
    ),
]
