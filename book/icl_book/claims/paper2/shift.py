"""Statements of the second paper and its predecessor on in-context learning as gradient descent.

A move of the weights, or of the data, is the same as a shift of the target. The chapter is
icl_as_gradient_descent.
"""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Verdict
from icl_book.claims.paper2.sources import ABSTRACT, BELOW, CLOSENESS, SUMMARY, identity

_NOTES = Choice("the theorem as our notes have it, from public reviews and a machine-written abstract")


def _sharp(case: dict) -> tuple[float, float]:
    """Permit what the normalized shift does: no more than the bound, and sums that telescope."""
    return (0.0, 1.0 + 1e-9) if case["what"] == "bound" else (0.0, 1e-10)


#: What the median cosine of a layer may be, and what shrinking a token has to come to.
_COSINES = {"own": (0.9, 0.999), "shared": (0.4, 0.8), "exact": (1 - 1e-9, 1 + 1e-9), "shrinks": (0.9, 1.0)}

_PROBLEMS = Choice(
    "the problems: standard normal tokens, $X$ the identity plus standard normal over $d$, rows of $B$ the "
    r"softmax of standard normal numbers; the layer: sharpness $c=1$ of those in the figure; the fit: least "
    "squares, each goal divided by its length"
)


CLAIMS: list[Claim] = [
    Claim(
        id="P2.icl.identity",
        authority=Authority.BOOK,
        source="this book: the shift of the target, written out",
        reading=r"With $\tilde B=B+F(S)-F(S')$ (normalized), or $\tilde b_j=f_j-\frac{a_j'}{a_j}(f_j'-b_j)$ "
        r"(rescaled), the loss has the same value after the scores moved from $S$ to $S'$, by a move of the "
        r"weights or of the data, and after $B$ moved to $\tilde B$ instead",
        quantity="largest relative difference of the two values of the loss along a path of gradient "
        "descent; 1e-10 is allowed for rounding",
        quantifier="for all data and moves: the shift is defined by it",
        **identity(1e-10),
    ),
    Claim(
        id="P2.icl.equivalence",
        authority=Authority.SUMMARY,
        source=f"{SUMMARY}, Key Results and Mechanism 1",
        quote="In-context learning updates are mathematically equivalent to gradient descent steps on "
        "attention parameters.",
        place="summary2:48",
        reading="After a step of gradient descent, and after the target moved instead, the loss has the "
        "same value",
        quantity="largest relative difference along the path of what should be equal; 1e-10 is allowed for "
        "rounding",
        expected=Verdict.DEPENDS,
        depends_on=(
            Choice(
                "in what the two are equivalent: the value of the loss (ours), the next step too, or the "
                "scores after a data move that is allowed to know the step",
                (
                    Alternative("the same gradient, so the same next step"),
                    Alternative("the same scores, by one linear attention layer that knows the residual"),
                ),
            ),
        ),
        **identity(1e-10),
    ),
    Claim(
        id="P2.icl.break",
        authority=Authority.SUMMARY,
        source=f"{SUMMARY}, Mechanism 1, break condition",
        quote="If the Lipschitz conditions are violated (e.g., gradients become too large or sparse updates "
        "occur), the equivalence breaks down.",
        place="summary2:54",
        reading="With $x$ sixteen times as long as $R$ the rescaled shift of the target exceeds the bound "
        r"$n^{1.5}e^{10R^2}\Vert x_{t+1}-x_t\Vert$",
        quantity="log10 of the shift divided by its bound; for the value of the loss, log10 of its relative "
        "difference to 1e-6",
        rule=lambda case: (0.0, inf),
        expected=Verdict.DEPENDS,
        grade=Grade.EXACT,
        quantifier="there is",
        depends_on=(
            Choice(
                "what breaks: the bound on the shift, with the constant of another paper, for the rescaled "
                "version (ours) or for the normalized one; or the value of the loss",
                (
                    Alternative("the bound on the normalized shift"),
                    Alternative("the value of the loss is no longer the same"),
                ),
            ),
        ),
        unit="decades",
    ),
    Claim(
        id="P2.icl.shift",
        authority=Authority.OTHER,
        source=f"Theorems 5.1 and 5.2 of {CLOSENESS}, constant from its machine-written TL;DR",
        quote=r"$\|\tilde b-b\|_2\le M\|x_{t+1}-x_t\|_2$ [...] $\|\tilde b-b\|_2\le M\|A_{t+1}-A_t\|$ [...] "
        r"$M=n^{1.5}e^{10R^2}$",
        place="notes2:103",
        reading=r"Moving the weights, $x_t\to x_{t+1}$, or the data, $A_t\to A_{t+1}$, is the same as "
        r"replacing the target $b$ by a $\tilde b$ within these bounds, for $\Vert A\Vert,\Vert x\Vert\le R$",
        quantity="log10 of the largest ratio found (a small step from the worst data) divided by the bound; "
        "what it cannot pass is $R/2$, proved",
        grade=Grade.PROVED,
        quantifier="for all data and moves; numbers for some $n$ and $R\\ge4$",
        depends_on=(_NOTES,),
        implied_by=("P2.lip.half", "P2.icl.identity"),
        **BELOW,
    ),
    Claim(
        id="P2.icl.constants",
        authority=Authority.TEXT,
        source=ABSTRACT,
        quote="Upon completing the lipschitz analysis of our regression function, we have derived our main "
        "result concerning in-context learning.",
        place="abstract2:1",
        expected=Verdict.NOT_TESTABLE,
        why_not="neither the analysis nor the result is in any of our sources; the pages give sharp "
        "constants for the regression functions, and sharp shifts of the target for both versions",
    ),
    Claim(
        id="P2.icl.sharp",
        authority=Authority.BOOK,
        source="this book: sharp shift of the target, normalized",
        reading=r"$\Vert\tilde B-B\Vert_F\le\frac12\Vert A_1\Vert\,\Vert A_2\Vert\,\Vert\Delta X\Vert_F$, "
        r"and shifts of successive steps add up: $\tilde B_T-B=F(X_0)-F(X_T)$",
        quantity="for bounds, the largest ratio of the two sides along the path; for the sum, the relative "
        "difference of the two sides, of which 1e-10 is allowed for rounding",
        rule=_sharp,
        grade=Grade.PROVED,
        quantifier="for all data and moves; numbers on one path",
        implied_by=("P2.lip.half",),
        control="the rescaled shift put in place of the normalized one",
        unit="relative",
    ),
    Claim(
        id="P2.icl.rescaled",
        authority=Authority.BOOK,
        source="this book: shift of the target, rescaled",
        reading=r"$\Vert\tilde b-b\Vert\le\sqrt2\,e^{\delta}\,\Vert A\,\Delta x\Vert$ with "
        r"$\delta=\Vert A\,\Delta x\Vert_\infty$, for $b$ in the simplex, and $\sqrt2$ is reached as "
        r"$\delta\to0$",
        quantity=r"largest ratio of the two sides, over a search for it; at small $\delta$ at least 0.9",
        rule=lambda case: (0.9 if case["delta"] <= 0.1 else 0.0, 1.0 + 1e-9),
        grade=Grade.PROVED,
        quantifier="for all data and moves; that it is reached, by search",
        control=r"$e^\delta$ left out, at moves that are not small",
        unit="relative",
    ),
    Claim(
        id="P2.icl.separation",
        authority=Authority.BOOK,
        source="this book: the two versions compared",
        reading=r"The worst $\Vert\tilde b-b\Vert/\Vert\Delta x\Vert$ over "
        r"$\Vert A\Vert,\Vert x\Vert\le R$ grows exponentially in $R^2$ for the rescaled version "
        "and is at most $R/2$ for the normalized one",
        quantity=r"rescaled: the natural logarithm of the worst ratio found, divided by $R^2$; at least 0.5 "
        "counts as exponential. Normalized: the worst ratio found, divided by $R$; at most 0.5 by proof, "
        "and 1e-9 for rounding",
        rule=lambda case: (0.5, inf) if case["kind"] == "rescaled" else (-inf, 0.5 + 1e-9),
        grade=Grade.SEARCHED,
        quantifier="in the limit; eight tokens and two $R$",
        depends_on=(Choice("the threshold; the rates found are far from it"),),
        unit="in the rate, and in the ratio over $R$",
    ),
    Claim(
        id="P2.icl.linear-attention",
        authority=Authority.BOOK,
        source="this book: the data move that imitates a gradient step",
        reading="With $X_t$ invertible, one linear self-attention layer with residual, "
        r"$A_1'=A_1-\eta\,(A_1A_1^\top)(PA_2X_t^{-1})$, gives exactly the scores of one step of "
        "gradient descent",
        quantity="largest relative difference of the two moves of the scores along the path; 1e-9 is "
        "allowed for rounding, which the inverse amplifies",
        depends_on=(
            Choice(
                "the steps compared: those up to the first that moves the scores by less than a millionth of "
                "their length, where the difference of two scores is mostly rounding"
            ),
        ),
        control="softmax weights in place of the linear ones",
        **identity(1e-9),
    ),
    Claim(
        id="P2.icl.imitates",
        authority=Authority.BOOK,
        source="this book: softmax layers with fitted values, and none",
        reading="Fitted to one random problem a softmax layer nearly makes the step of gradient descent, "
        "but not exactly; one layer for all problems has a median cosine of about 0.6 with it. Neither "
        "needs attention: a matrix on each token makes the first step exactly, and shrinking every token "
        "by the same factor does as well as the second",
        quantity="median cosine of the moves of the scores by a layer and by a step of gradient descent, "
        "over problems that the shared layer was not fitted to: fitted to one problem 0.9 to 0.999, one for "
        "all and shrinking 0.4 to 0.8, a matrix on each token 1 to rounding",
        rule=lambda case: _COSINES[case["what"]],
        grade=Grade.SAMPLED,
        quantifier="for random problems of the listed sizes",
        depends_on=(_PROBLEMS,),
        control="the layer fitted to another problem's step; the layer for all problems on targets that the "
        "weights $2X$ fit",
        unit="in the cosine",
    ),
    Claim(
        id="P2.icl.shrinks",
        authority=Authority.BOOK,
        source="this book: what a layer for all problems does",
        reading="One layer for all random problems multiplies every token (its softmax average) by nearly a "
        "negative multiple of the identity, with attention and without",
        quantity=r"cosine between its matrix $V$ and $-1$: at least 0.9",
        rule=lambda case: _COSINES[case["what"]],
        grade=Grade.SAMPLED,
        quantifier="for random problems of the listed sizes",
        depends_on=(_PROBLEMS,),
        control="targets that the weights $2X$ fit: the layer stretches the tokens",
        unit="in the cosine",
    ),
    Claim(
        id="P2.icl.orthogonal",
        authority=Authority.BOOK,
        source="this book: what an upper bound on two moves does not imply",
        reading="Two moves of the data that are equally long, and so obey the same upper bound, can move "
        "the scores in orthogonal and in opposite directions",
        quantity="cosine between the moves of the scores by a step of gradient descent and by another move "
        "of the data, of the same length; 1e-9 is allowed for rounding",
        rule=lambda case: (case["cosine"] - 1e-9, case["cosine"] + 1e-9),
        grade=Grade.IDENTITY,
        quantifier="there is",
        control="the linear attention layer, which really makes the step",
        unit="in the cosine",
    ),
    Claim(
        id="P2.icl.similarity",
        authority=Authority.OTHER,
        source=f"abstract of {CLOSENESS}",
        quote="when training self-attention-only Transformers for fundamental regression tasks, the models "
        "learned by gradient-descent and Transformers show great similarity",
        place="closeness:1",
        expected=Verdict.NOT_TESTABLE,
        why_not="how similar trained Transformers are is for that paper's experiments, which this book does "
        "not repeat; whether upper bounds alone imply it is P2.icl.orthogonal",
    ),
]
