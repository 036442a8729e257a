"""Statements of the second paper on sizes and Lipschitz constants.

Where nothing else is said, A is one block A_j of the Kronecker product and x = vec(X). The chapter is
lipschitz_bounds.
"""

from __future__ import annotations

from math import inf, log10

from icl.tensor_trick.lipschitz import LIPSCHITZ, SIZES
from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Severity, Verdict
from icl_book.claims.paper2.sources import BELOW, H2O, HALF, SIBLING, SUMMARY, TLDR

#: Printed preconditions of the bounds.
_WITHIN = r"for $\Vert A\Vert,\Vert x\Vert,\Vert y\Vert\le R$, $R\ge4$"
_NAMES = {"u": "u", "alpha": r"\alpha", "1/alpha": r"\alpha^{-1}", "f": "f"}


def _lipschitz_claims() -> list[Claim]:
    """One claim for each printed bound on a size or a Lipschitz constant."""
    sizes = [
        Claim(
            id=f"P2.size.{b.id}",
            source=b.source,
            statement=rf"$\Vert {_NAMES[b.function]}(x)\Vert\le {b.tex}$ {_WITHIN}",
            quantity="log10 of the largest size found divided by the bound; largest over $R\\ge4$",
            control="the bound on the length of x dropped: x three times as long"
            if b.function != "f"
            else "a planted misprint: 1/2 in place of 1",
            **BELOW,
        )
        for b in SIZES
    ]
    return sizes + [
        Claim(
            id=f"P2.lip.{b.id}",
            source=b.source,
            statement=rf"$\Vert {_NAMES[b.function]}(x)-{_NAMES[b.function]}(y)\Vert\le {b.tex}\,"
            r"\Vert x-y\Vert$ " + _WITHIN,
            quantity="log10 of the largest quotient found divided by the bound; largest over $R\\ge4$",
            control=HALF,
            **BELOW,
        )
        for b in LIPSCHITZ
    ]


CLAIMS: list[Claim] = [
    Claim(
        id="P2.size.beta",
        source=f"Lemma 6.2 of arXiv 2307.02419, as cited by the {SIBLING}, Lemma E.3",
        statement=r"$\beta:=\min\langle\exp(Ax),1_n\rangle\ge e^{-R^2}$ for $\Vert A\Vert,\Vert x\Vert\le R$",
        quantity="log10 of the smallest normalizer found divided by the bound; smallest over $R$",
        rule=lambda case: (0.0, inf),
        resolution=0.01,
        control="the bound on the length of x dropped: x three times as long, few tokens",
    ),
    *_lipschitz_claims(),
    Claim(
        id="P2.lip.inner",
        source=f"{SIBLING}, Lemma E.5, parts 4 and 5",
        statement=r"$\vert\langle f(x),v\rangle-\langle f(y),v\rangle\vert\le n^{1.5}e^{7R^2}\,\Vert "
        r"x-y\Vert$ for $\Vert v\Vert\le R^2$ (and the same after subtracting a "
        "constant), " + _WITHIN,
        quantity="log10 of the largest quotient found divided by the bound; largest over $R\\ge4$",
        control=HALF,
        **BELOW,
    ),
    Claim(
        id="P2.lip.R0",
        source=f"{SIBLING}, Lemma E.6; that one number serves all functions before it is our reading",
        statement=r"$R_0=n^{1.5}e^{10R^2}$ bounds the Lipschitz constants of $u$, $\alpha$, $\alpha^{-1}$ "
        r"and $f$ " + _WITHIN,
        quantity="log10 of the largest quotient found divided by the bound; largest over $R\\ge4$",
        control=HALF,
        **BELOW,
    ),
    Claim(
        id="P2.lip.hessian-row",
        source=f"{SIBLING}, Appendix E.2",
        statement=r"The Hessian of $\frac12(\langle f(x),v\rangle-e)^2$ is $n^{1.5}e^{30R^2}$-Lipschitz "
        r"(with $\Vert v\Vert\le R^2$, $\vert e\vert\le R$) " + _WITHIN,
        quantity="log10 of the largest third derivative found divided by the bound; largest over $R\\ge4$",
        control="the bound without its exponential and powers of n: 1",
        **BELOW,
    ),
    Claim(
        id="P2.lip.hessian-total",
        source=f"{SIBLING}, Appendix E.1",
        statement=r"The Hessian of the sum of $nd$ such terms is Lipschitz with $M=nd\,n^{1.5}e^{30R^2}$ "
        + _WITHIN,
        quantity="log10 of $nd$ times the largest third derivative found, divided by the bound; largest over "
        "$R\\ge4$",
        control="the bound without its exponential and powers of n: 1",
        **BELOW,
    ),
    Claim(
        id="P2.lip.hessian-pieces",
        source=f"{SIBLING}, Appendix E.1",
        statement=r"$\max_k\Vert G_k(x)-G_k(\tilde x)\Vert\le n^{1.5}e^{20R^2}\Vert x-\tilde x\Vert$ for the "
        "terms $G_k$ of the Hessian",
        expected=Verdict.NOT_TESTABLE,
        why_not="the terms belong to a printed formula for the Hessian whose coefficients are wrong (Def. "
        "D.3), so there is no agreed list of them",
    ),
    Claim(
        id="P2.lip.hessian-h2o",
        source=f"{H2O}, App. D.48",
        statement=r"The Hessian of $L_{\exp}+L_{\rm sparse}+L_{\rm reg}$ is $n^2e^{40R^2}$-Lipschitz "
        + _WITHIN,
        quantity="log10 of the largest third derivative found (times the cube of R) divided by the bound; "
        "largest over $R\\ge4$",
        control="the bound without its exponential and powers of n: 1",
        **BELOW,
    ),
    Claim(
        id="P2.lip.sharp",
        source="this book: the suprema of the Lipschitz quotients",
        statement=r"The supremum of $\Vert g(x)-g(y)\Vert/\Vert x-y\Vert$ over "
        r"$\Vert A\Vert,\Vert x\Vert,\Vert y\Vert\le R$ is "
        r"$R\sup_{\Vert s\Vert\le R^2}\Vert J_g(s)\Vert$, attained by explicit data; a search that "
        "knows nothing of them finds the same numbers",
        quantity="log10 of the largest quotient found by ascent divided by that of the construction; the "
        "case furthest from zero over $R$",
        rule=lambda case: (log10(0.95), log10(1.01)),
        resolution=0.01,
        control="random data alone, as many draws as the search has starts",
    ),
    Claim(
        id="P2.lip.half",
        source="this book: sharp constant of softmax regression",
        statement=r"$\Vert f(x)-f(y)\Vert\le\frac R2\Vert x-y\Vert$ for every $R>0$ and all $x,y$ however "
        "long, and no smaller constant serves",
        quantity=r"log10 of the largest quotient found divided by $R/2$; for the largest $R$, and with x "
        "up to ten times as long as R",
        rule=lambda case: (log10(0.95), 1e-9),
        resolution=0.01,
        control="u, which is not normalized, in place of f",
    ),
    Claim(
        id="P2.lip.context",
        source="this book: the same functions of the context",
        statement=r"As a function of $A$ with $x$ fixed, $\Vert x\Vert\le R$, the supremum of "
        r"$\Vert g(Ax)-g(\tilde Ax)\Vert/\Vert A-\tilde A\Vert$ is the same number",
        quantity="log10 of the largest quotient found by ascent over moves of A, divided by the construction "
        "for moves of x; the case furthest from zero over $R$",
        rule=lambda case: (log10(0.95), log10(1.01)),
        resolution=0.01,
        control="random data alone, as many draws as the search has starts",
    ),
    Claim(
        id="P2.lip.required",
        source=f"{SUMMARY}, Limitations",
        statement=r"The Lipschitz analysis requires strict constraints ($R\ge4$, bounded $\infty$-norms)",
        quantity="log10 of the largest quotient found, with the constraint dropped, divided by the printed "
        "bound; a constraint that is required lets it exceed zero",
        rule=lambda case: (0.0, inf),
        resolution=0.01,
        expected=Verdict.FAILS,
        control=r"a constraint that is required: $\Vert x\Vert\le R$ for the bounds on u and alpha",
    ),
    Claim(
        id="P2.lip.break",
        source=f"{SUMMARY}, Mechanism 3, break condition",
        statement="If the input data violates the bounded norm assumptions, the Lipschitz bounds may not "
        "hold",
        quantity="log10 of the largest quotient found with x longer than R divided by the printed bound",
        rule=lambda case: (0.0, inf),
        resolution=0.01,
        expected=Verdict.CORRECTED,
        corrected=r"True of $u$, $\alpha$ and $\alpha^{-1}$. The normalized $f$ keeps its bound however "
        r"long $x$ is",
        corrected_rule=lambda case: (-inf, 0.0) if case["normalized"] else (0.0, inf),
        control="the labels exchanged: u presented as normalized, f as not",
    ),
    Claim(
        id="P2.lip.losses",
        source=f"{SUMMARY}, Mechanism 3",
        statement="Lipschitz bounds for the losses (normalized, rescaled, sparse, cross-entropy, entropy) "
        "guarantee that small changes in context lead to small changes in gradients",
        quantity="exponent with which the largest change of the gradient follows the size of the change of "
        r"$A_1,A_2$, between sizes 1e-3 and 1e-6",
        rule=lambda case: (0.99, inf),
        resolution=0.01,
        control=r"the loss $\sum\vert f-b\vert$, whose gradient jumps, at data that fit exactly",
    ),
    Claim(
        id="P2.lip.constants",
        source=TLDR,
        statement="Lipschitz constants for the losses and for their gradients",
        expected=Verdict.NOT_TESTABLE,
        why_not="announced, but the constants themselves are in none of our sources; the page computes the "
        "true ones",
    ),
]
