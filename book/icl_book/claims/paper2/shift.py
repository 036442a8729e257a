"""Statements of the second paper and its predecessor on in-context learning as gradient descent.

A move of the weights, or of the data, is the same as a shift of the target. The chapter is
icl_as_gradient_descent.
"""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Severity, Verdict
from icl_book.claims.paper2.sources import BELOW, CLOSENESS, HALF, IDENTITY, SUMMARY, TLDR

CLAIMS: list[Claim] = [
    Claim(
        id="P2.icl.identity",
        source=f"Theorems 5.1 and 5.2 of {CLOSENESS} as described in its public reviews; the target "
        "is written out by this book",
        statement="Moving the weights, or the data, is equivalent to replacing the target $B$ by a "
        r"$\tilde B$: the loss has the same value",
        quantity="largest relative difference of the two values of the loss along a path of gradient descent",
        control="the target moved the other way",
        **IDENTITY,
    ),
    Claim(
        id="P2.icl.equivalence",
        source=f"{SUMMARY}, Key Results and Mechanism 1",
        statement="In-context learning updates are mathematically equivalent to gradient descent steps on "
        "attention parameters",
        quantity="smallest relative difference along the path: of the values of the loss, and of the "
        "gradients, after the weights moved and after the target moved instead",
        rule=lambda case: (0.0, 0.0),
        resolution=1e-9,
        expected=Verdict.CORRECTED,
        corrected="The residual and the value of the loss are the same; the gradient, and with it the next "
        "step, is not",
        corrected_rule=lambda case: (0.0, 0.0) if case["what"] == "value" else (1e-3, inf),
        control="value and gradient exchanged",
    ),
    Claim(
        id="P2.icl.weights",
        source=f"Theorem 5.1 of {CLOSENESS}, constant from the {TLDR.replace('2307.02419', '2304.13276')}",
        statement=r"$\Vert\tilde b-b\Vert_2\le M\,\Vert x_{t+1}-x_t\Vert_2$ with $M=n^{1.5}e^{10R^2}$",
        quantity="log10 of the largest ratio found (path of gradient descent, worst-case construction) "
        "divided by the bound",
        control=HALF + ", R/2",
        **BELOW,
    ),
    Claim(
        id="P2.icl.data",
        source=f"Theorem 5.2 of {CLOSENESS}, constant from the {TLDR.replace('2307.02419', '2304.13276')}",
        statement=r"$\Vert\tilde b-b\Vert_2\le M\,\Vert A_{t+1}-A_t\Vert$ with $M=n^{1.5}e^{10R^2}$",
        quantity="log10 of the largest ratio found (path of data moves, worst-case construction) divided by "
        "the bound",
        control=HALF + ", R/2",
        **BELOW,
    ),
    Claim(
        id="P2.icl.constants",
        source=TLDR,
        statement="The main results on in-context learning, normalized and rescaled version: a bound on the "
        "shift of the target for a move of the weights and for a move of the data",
        expected=Verdict.NOT_TESTABLE,
        why_not="the constants are in none of our sources; the page gives sharp ones for both versions",
    ),
    Claim(
        id="P2.icl.sharp",
        source="this book: sharp shift of the target, normalized",
        statement=r"$\Vert\tilde B-B\Vert_F\le\frac12\Vert A_1\Vert\,\Vert A_2\Vert\,\Vert\Delta X\Vert_F$, "
        r"and shifts of successive steps add up: $\tilde B_T-B=F(X_0)-F(X_T)$",
        quantity="for bounds, the largest ratio of the two sides along the path; for the sum, the relative "
        "difference of the two sides",
        rule=lambda case: (0.0, 1.0) if case["what"] == "bound" else (0.0, 0.0),
        resolution=1e-9,
        control="the rescaled shift put in place of the normalized one",
    ),
    Claim(
        id="P2.icl.rescaled",
        source="this book: shift of the target, rescaled",
        statement=r"$\Vert\tilde b-b\Vert\le\sqrt2\,e^{\delta}\,\Vert A\,\Delta x\Vert$ with "
        r"$\delta=\Vert A\,\Delta x\Vert_\infty$, for $b$ in the simplex",
        quantity="largest ratio of the two sides, over a search for it",
        rule=lambda case: (0.9, 1.0 + 1e-9),
        resolution=0.01,
        control=r"$e^\delta$ left out, at moves that are not small",
    ),
    Claim(
        id="P2.icl.separation",
        source="this book: the two versions compared",
        statement=r"The worst $\Vert\tilde b-b\Vert/\Vert\Delta x\Vert$ over "
        r"$\Vert A\Vert,\Vert x\Vert\le R$ grows exponentially in $R^2$ for the rescaled version "
        "and at most linearly in $R$ for the normalized one",
        quantity=r"growth rate of the natural logarithm of the worst ratio in $R^2$, between the two "
        r"largest $R$",
        rule=lambda case: (0.5, inf) if case["kind"] == "rescaled" else (-inf, 0.1),
        resolution=0.01,
        control="the labels exchanged",
    ),
    Claim(
        id="P2.icl.linear-attention",
        source="this book: the data move that imitates a gradient step",
        statement="With $X_t$ invertible, one linear self-attention layer with residual, "
        r"$A_1'=A_1-\eta\,(A_1A_1^\top)(PA_2X_t^{-1})$, gives exactly the scores of one step of "
        "gradient descent",
        quantity="largest relative difference of the two score matrices along the path",
        control="softmax weights in place of the linear ones",
        **IDENTITY,
    ),
    Claim(
        id="P2.icl.similarity",
        source=f"abstract of {CLOSENESS}",
        statement="Upper bounds on the data transformations of a self-attention layer and of gradient "
        "descent imply that the models learned by gradient descent and Transformers show great "
        "similarity",
        quantity="cosine between the step of gradient descent and another move of the scores that obeys the "
        "same bound; great similarity is read as at least 0.9",
        rule=lambda case: (0.9, 1.0 + 1e-9),
        resolution=0.01,
        expected=Verdict.FAILS,
        control="the linear attention layer, which really makes the step",
    ),
]
