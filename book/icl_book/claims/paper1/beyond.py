"""Statements beyond the theorems of the first paper: the reviews, the rebuttal and the summary's questions.

The chapters have names that begin with ``beyond``.
"""

from __future__ import annotations

from math import exp, inf

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Verdict


def _within(percent: int) -> Alternative:
    return Alternative(f"at most {percent} % above the least risk", lambda case: (-inf, 1 + percent / 100))


CLAIMS: list[Claim] = [
    Claim(
        id="P1.beyond.smooth",
        authority=Authority.BOOK,
        source="known: the best bandwidth of kernel regression on spheres (Pelletier 2006; Di Marzio, "
        "Panzera and Taylor 2014); here for the classes of the summary's question 2",
        reading=r"For smooth rotation-invariant classes, those of sigmoid and tanh among them, "
        r"$w^*\sim\big[\tfrac{\mathbb E(\Delta f)^2n}{(d-1)\kappa\sigma^2}\big]^{2/(d+3)}$",
        quantity="exact $w^*$ divided by the law, extrapolated to infinite $n$ linearly in $1/w$; within 2 %",
        rule=lambda case: (0.98, 1.02),
        grade=Grade.EXTRAPOLATED,
        quantifier="in the limit of long contexts",
        implied_by=("P1.PD.smooth-law",),
        unit="relative",
        resolution=0.02,
    ),
    Claim(
        id="P1.beyond.networks",
        authority=Authority.BOOK,
        source="random two-layer networks; known kernel (arc-cosine of degree one, Cho and Saul 2009)",
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
        expected=Verdict.DEPENDS,
        grade=Grade.PROVED,
        quantifier="for all $w$, in the limit of long contexts",
        depends_on=(
            Choice(
                "what the bias is: that of the estimator, its mean taken before the square",
                (
                    Alternative(
                        r"$L_{\rm bias}$ at a fixed context length, the square taken first "
                        "(P1.W.bias-turns): its slope in windows narrower than its best one",
                        late=True,
                    ),
                ),
            ),
        ),
        unit="in the exponent",
    ),
    Claim(
        id="P1.rebuttal.classification",
        authority=Authority.REBUTTAL,
        source="rebuttal, point 3: classification",
        quote="Thus, we expect that the optimal attention weights will again scale with the label noise "
        "level and inversely with the Lipschitzness of the labels",
        place="openreview:210",
        reading="The optimal attention *window* $w^{*-1/2}$ again widens with the label noise and narrows "
        "with the Lipschitzness of the labels",
        quantity=r"local slope of $\log w^{*-1/2}$ in $\log p$ (flip probability), at least 0.025, or in "
        r"$\log L$, at most -0.025",
        rule=lambda case: (0.025, inf) if case["varied"] == "noise" else (-inf, -0.025),
        expected=Verdict.DEPENDS,
        grade=Grade.EXACT,
        quantifier="for the listed settings",
        depends_on=(
            Choice(
                "that *weights* means *window*: *again* refers to regression, where the window does this",
                (
                    Alternative(
                        "by the letter: the attention weight matrix, the exponent of $w^*$", late=True
                    ),
                ),
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
        quote="We believe the post-attention multi-layer perceptron (MLP) block and/or layer normalization "
        "has to be incorporated into the model and analysis to prevent the tokens from collapsing to a "
        "single point similar to what happens in a power iteration",
        place="openreview:211",
        reading="Without MLP, residual or normalization, layers $M=wI$ of attention among tokens of length "
        "at most one make them collapse to a single point, for every $w$",
        quantity="largest factor by which a layer leaves the range of a coordinate of the tokens, over "
        r"layers, coordinates and token sets; at most $1-e^{-2w}$, which is proved on the page",
        rule=lambda case: (-inf, 1 - exp(-2 * case["w"])),
        expected=Verdict.DEPENDS,
        grade=Grade.PROVED,
        quantifier="for all $w$ and all tokens",
        depends_on=(
            Choice(
                '"has to be incorporated" is read as necessary: without any of them tokens collapse',
                (
                    Alternative(
                        '"to prevent" is read as enough: with layers projected to the sphere, tokens '
                        "keep more than a thousandth of their spread (P1.beyond.sphere)",
                        lambda case: (1e-3, inf),
                        late=True,
                    ),
                ),
            ),
        ),
        unit="in the factor",
    ),
    Claim(
        id="P1.beyond.sphere",
        authority=Authority.BOOK,
        source="collapse with normalization",
        reading="Projecting the tokens to the sphere after each layer, the simplest normalization, does "
        "not prevent the collapse: at the widest window listed tokens still collapse",
        quantity="mean squared distance of the tokens to their mean, relative to the start, after the last "
        "layer; median over token sets; at most 0.001",
        rule=lambda case: (-inf, 1e-3),
        grade=Grade.SAMPLED,
        quantifier="there is a window",
        unit="relative",
    ),
    Claim(
        id="P1.rebuttal.deeper",
        authority=Authority.REBUTTAL,
        source="rebuttal, point 3: more layers",
        quote="the covariates themselves change across layers, so a deeper transformer does not simply "
        "implement a kernel estimator with a different kernel",
        place="openreview:211",
        reading="The weights of two examples have a ratio that depends on the other examples, which with a "
        "kernel $K(x_i,x_q)$ it could not",
        quantity="root mean square change of the log of that ratio when all other examples are drawn anew, "
        "over its root mean square, in trained units of two layers; median over seeds; at least 0.01",
        rule=lambda case: (0.01, inf),
        grade=Grade.SAMPLED,
        quantifier="for two kinds of units and one problem",
        control="one layer, whose weights are a kernel",
        unit="relative",
    ),
    Claim(
        id="P1.rebuttal.nature",
        authority=Authority.REBUTTAL,
        source="rebuttal, point 3: classification, first half",
        quote="The nature of the attention estimate will not change based on the loss function, so it will "
        "again be a nearest neighbors estimate in the classification setting",
        place="openreview:210",
        reading="Trained with cross-entropy, $M$ gives more weight to nearer examples, in every direction",
        quantity=r"smallest eigenvalue of $\frac12(M+M^\top)$ over the mean diagonal of $M$, median over "
        "seeds; above zero",
        rule=lambda case: (0.0, inf),
        grade=Grade.SAMPLED,
        quantifier="for the listed settings",
        depends_on=(
            Choice(
                "*nature* is what the sentence goes on to name, nearest neighbors; how wide the window is "
                "does change with the loss"
            ),
        ),
        unit="relative",
    ),
    Claim(
        id="P1.rebuttal.mixture",
        authority=Authority.REBUTTAL,
        source="rebuttal, on Fig. 5",
        quote="A model that is pretrained on Affine, ReLU and Cosine functions performs equally well for "
        "inference on any particular one of those tasks despite not sharing any common structure other than "
        "lipshitzness",
        place="openreview:194",
        reading="One unit pretrained on a mixture of the three classes, each with $L=1$ and one third of the "
        "tasks, has on each of them at most 10 % more than the least risk, which a unit pretrained on that "
        "class alone has",
        quantity="exact risk on a class with the best window of the mixture over the least risk",
        rule=lambda case: (-inf, 1.1),
        expected=Verdict.DEPENDS,
        grade=Grade.EXACT,
        quantifier="for each class and every setting listed",
        depends_on=(
            Choice(
                '"equally well" is read as: as well as a unit of that class alone, at most 10 % lost',
                (
                    *map(_within, (5, 25, 50)),
                    Alternative("the same risk on the three classes: largest over least, at most 10 %"),
                ),
            ),
            Choice(
                r"the formulas of the classes, which no source prints: the cosines are $\cos(u\cdot x)$",
                (Alternative(r"with the cosines $\cos(u\cdot x+\phi)$, $\phi$ uniform, at most 10 %"),),
            ),
            Choice(
                "one model on three classes; in the Fig. 5 of the talk each of three units has one class",
                (Alternative("units of one class on the two others, at most 10 % (P1.T3.sufficient)"),),
            ),
            Choice(
                r"$d$, $n$ and $\sigma$, which no source prints; the contexts are short",
                (Alternative("long contexts, at most 10 %"),),
            ),
        ),
        unit="relative",
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
        reading="Trained on a nonlinear link behind a projection $B$, $M$ is nearly $w^*BB^\\top$, within "
        "3 % of the optimal window $w^*$ of the link's class in its range. The authors *suspect* it",
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
        id="P1.rebuttal.hierarchies",
        authority=Authority.REBUTTAL,
        source="rebuttal: hierarchical function classes, last sentence",
        quote="More complex hierarchies likely require additional layers to learn",
        place="openreview:97",
        reading="On $f(x)=g(|x|)$, a hierarchy that does not begin with a projection, one unit has at least "
        "10 % more test error than a unit to which an earlier layer hands $|x|$",
        quantity="test error of units trained on $x$ over that of units trained on $|x|$, median over seeds",
        rule=lambda case: (1.1, inf),
        grade=Grade.SAMPLED,
        quantifier="for one such hierarchy",
        unit="relative",
    ),
]
