"""Statements of the first paper on what whole units learn, and on low rank behind a nonlinear link.

The chapters are learned_parameters and nonlinear_low_rank.
"""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Verdict

#: None of these is in a source.
_SETTINGS = Choice("the laws of tokens and of $w$, $d$, $k$, $n$ and $\\sigma$: none is printed")


def _within_tenth(case: dict):
    return 0.9, 1.1


def _at_most_tenth(case: dict):
    return -inf, 0.1


CLAIMS: list[Claim] = [
    Claim(
        id="P1.B1.rows",
        authority=Authority.REBUTTAL,
        source="rebuttal: the first rows of W_V",
        quote="the estimator does not depend on the first [...] (not columns, as we mistakenly said in "
        "line 135)",
        place="openreview:188",
        reading="The prediction does not depend on the first $d$ rows of $W_V$",
        quantity="largest change of the predictions of random units when these entries of $W_V$ are drawn "
        "anew; zero",
        rule=lambda case: (0.0, 0.0),
        grade=Grade.IDENTITY,
        quantifier="for all $W_V$",
        control="the first $d$ columns are drawn anew instead",
        unit="in the prediction",
    ),
    Claim(
        id="P1.B1.values",
        authority=Authority.REBUTTAL,
        source="rebuttal, Lemma B.1: the optimal W_V ignores the covariates",
        quote="leads to a prediction that ignores the covariates; this is not an assumption",
        place="openreview:188",
        reading=r"With $(v^\top,c)$ the last row of $W_V$, the optimal $v$ is $0$, if attention ignores "
        r"labels (the estimator is $\sum_i\omega_i(cy_i+v^\top x_i)$; the rebuttal, as we have it, prints "
        "the weight with the first term only)",
        quantity=r"by how much a random $v$ raises the squared error, in the mean of a context and its "
        r"mirror image $(-f,-\epsilon)$, divided by the mean of $(v^\top\sum_i\omega_ix_i)^2$; 1 up to "
        "rounding",
        rule=lambda case: (1 - 1e-9, 1 + 1e-9),
        grade=Grade.PROVED,
        quantifier=r"for all laws with $(f,\epsilon)$ as likely as $(-f,-\epsilon)$",
        depends_on=(
            Choice(
                "the condition, which no source has: $(f,\\epsilon)$ as likely as $(-f,-\\epsilon)$, as for "
                "ReLU and affine functions. Where $M=wI$, rotation-invariant functions and tokens do as well"
            ),
        ),
        unit="relative",
    ),
    Claim(
        id="P1.B1.trained",
        authority=Authority.BOOK,
        source="units trained with all matrices free",
        reading=r"Training from random starts finds $v\approx0$",
        quantity=r"$\Vert v\Vert/|c|$ of trained full units; median over seeds; at most 0.1",
        rule=_at_most_tenth,
        grade=Grade.SAMPLED,
        quantifier="for the listed dimensions",
        control=r"functions that all lean the same way, not symmetric under $f\to-f$",
        unit="of the corner",
    ),
    Claim(
        id="P1.P.block",
        authority=Authority.REBUTTAL,
        source="rebuttal, answer 1: trained models have the decomposition of eq. (4)",
        quote="We indeed observe this decomposition empirically",
        place="openreview:55",
        reading=r"All of a trained $W_K^\top W_Q$ outside its token block is nearly zero, if the last column "
        "of $W_Q$ starts at zero",
        quantity=r"norm of all entries outside the token block of trained $W_K^\top W_Q$ divided by that of "
        "the block; for a random start, norm of the last column of $W_Q$ after training divided by "
        "before; median over seeds; at most 0.1",
        rule=_at_most_tenth,
        expected=Verdict.DEPENDS,
        grade=Grade.SAMPLED,
        quantifier="for the listed dimensions",
        depends_on=(
            Choice(
                "how training starts, which is not printed: with zeros in the last column of $W_Q$, which "
                "never gets a gradient (P1.P.column)",
                (Alternative("a random start of all entries"),),
            ),
        ),
        control=r"functions that all lean the same way, not symmetric under $f\to-f$",
        unit="of the token block",
    ),
    Claim(
        id="P1.P.column",
        authority=Authority.BOOK,
        source="the column without a gradient",
        reading="The last column of $W_Q$ meets only the query's empty label slot, gets no gradient, and "
        "keeps what it was at the start",
        quantity="norm of the last column of $W_Q$ after training divided by before; the seed farthest from "
        "one; 1 within 1e-5, single precision",
        rule=lambda case: (1 - 1e-5, 1 + 1e-5),
        grade=Grade.IDENTITY,
        quantifier="for all units",
        control="the first column of $W_Q$, which learns",
        unit="relative",
    ),
    Claim(
        id="P1.P.corner",
        authority=Authority.BOOK,
        source="the free corner of W_V",
        reading=r"A free corner ends at its optimum $c^*=\mathbb E\,pf_q/\mathbb E\,p^2$, below $1$ when "
        "labels are noisy; the authors fix $c=1$ for simplicity",
        quantity="$|c|$ of trained full units; median over seeds; within 0.05 of $c^*$ at the joint optimum "
        "of $c$ and $w$",
        rule=lambda case: (case["optimum"] - 0.05, case["optimum"] + 0.05),
        grade=Grade.SAMPLED,
        quantifier="for the listed classes and noises",
        unit="in the corner",
    ),
    Claim(
        id="P1.P.width",
        authority=Authority.REBUTTAL,
        source="rebuttal, point 3: infinite width",
        quote="increasing the inner dimension of [...] will not change the optimal value of [...] "
        "so our results will not change",
        place="openreview:213",
        reading=r"With an inner dimension of $M_K^\top M_Q$ of at least $d$ the optimal $M$ is the same "
        "(every $M$ can be written so), and training finds it",
        quantity="mean diagonal of the trained token block divided by that at inner dimension $d+1$; median "
        "over seeds; within 10 %",
        rule=_within_tenth,
        grade=Grade.SAMPLED,
        quantifier="for the listed widths",
        control="inner dimension below $d$",
        unit="relative",
    ),
    Claim(
        id="P1.F9.subspace",
        authority=Authority.TALK,
        source="ITA slides, last slide (Fig. 9): GLMs with affine, quadratic and cosine link",
        quote="Softmax Attention Learns Low-Dimensional Structure in Nonlinear Functions",
        place="talk:559",
        quantity=r"sine of the largest principal angle between $\mathrm{col}(B)$ and the leading left "
        "singular subspace of trained $M$; median over seeds; at most 0.1",
        rule=_at_most_tenth,
        grade=Grade.SAMPLED,
        quantifier="for the three links of the slide",
        depends_on=(
            Choice(
                "how small an angle counts as learned: a sine of at most 0.1",
                (Alternative("at most 0.05", lambda case: (-inf, 0.05)),),
            ),
            _SETTINGS,
        ),
        control="linear attention on the two even links",
        unit="in the sine",
    ),
    Claim(
        id="P1.F9.error",
        authority=Authority.TEXT,
        source="abstract, on the slides' three nonlinear low-rank classes (Fig. 9)",
        quote="this adaptivity relies crucially on the softmax activation and thus cannot be replicated by "
        "the linear activation often studied in prior theoretical analyses",
        place="abstract1:1",
        reading="On the three links of the last slide linear attention ends with a larger test error than "
        "softmax attention (on the affine link because it has no intercept)",
        quantity="test error of trained linear attention divided by that of trained softmax attention; "
        "median over seeds; at least 1.1",
        rule=lambda case: (1.1, inf),
        grade=Grade.SAMPLED,
        quantifier="for the three links of the slide",
        implied_by=("P1.LA.fails",),
        depends_on=(
            Choice(
                "how much larger an error counts: 10 %",
                (
                    Alternative("at least 25 %", lambda case: (1.25, inf)),
                    Alternative("at least 50 %", lambda case: (1.5, inf)),
                ),
            ),
            _SETTINGS,
        ),
        unit="in the ratio",
    ),
    Claim(
        id="P1.F9.even",
        authority=Authority.BOOK,
        source="linear attention on even links",
        reading="On even links linear attention has nothing to learn: its optimal $M$ is zero, and no $M$ "
        "predicts better than zero",
        quantity="by how much a random $M$ raises the squared error above that of $M=0$, in the mean of a "
        "context and its image with the query turned round, divided by the mean square of the prediction; "
        "1 up to rounding",
        rule=lambda case: (1 - 1e-9, 1 + 1e-9),
        grade=Grade.PROVED,
        quantifier="for all even functions",
        control="the affine link, whose odd part it does learn",
        unit="relative",
    ),
]
