"""Statements of the second paper and its siblings on sizes and Lipschitz constants.

Where nothing else is said, A is one block A_j of the Kronecker product and x = vec(X). All printed constants
come from notes on other papers. Each upper bound follows from the sharp constants, so the cards on them say
by how much. The chapter is lipschitz_bounds.
"""

from __future__ import annotations

from math import inf, log10

from icl_book.claims.claim import Authority, Choice, Claim, Grade, Verdict
from icl_book.claims.paper2.sources import H2O, SIBLING, SUMMARY, TLDR

#: Printed preconditions of the bounds.
_WITHIN = r"for $\Vert A\Vert,\Vert x\Vert,\Vert y\Vert\le R$, $R\ge4$"
_GRID = "for all data, pairs and $R\\ge4$; numbers for some $n$ and $R$"
_NOTES = Choice("the formulas as our notes on those papers have them; the papers were not among our sources")

#: Evidence about an upper bound is log10(bound / proven constant): zero is the limit.
_SLACK = {"rule": lambda case: (0.0, inf), "unit": "decades, the slack of the tightest bound"}
_SMALLEST = "log10 of the printed bound divided by our proven constant; smallest over $R\\ge4$"


def _reached(case: dict) -> tuple[float, float]:
    """Permit 1 % below the proven constant, for 1/alpha below 1/sqrt(n) of it, and nothing above."""
    return log10(0.99) - (log10(case["n"]) / 2 if case["g"] == r"$\alpha^{-1}$" else 0.0), 1e-9


CLAIMS: list[Claim] = [
    Claim(
        id="P2.size.beta",
        authority=Authority.OTHER,
        source=f"{SIBLING}, Lemma E.3, which cites Lemma 6.2 of arXiv 2307.02419",
        quote=r"$\beta\ge e^{-R^2}$",
        place="notes2:18",
        reading=r"$\beta:=\min\langle\exp(Ax),1_n\rangle\ge e^{-R^2}$ for $\Vert A\Vert,\Vert x\Vert\le R$",
        quantity="log10 of the smallest normalizer divided by the bound; smallest over $R$",
        rule=lambda case: (0.0, inf),
        grade=Grade.PROVED,
        quantifier="for all data and $R$; numbers for some $n$ and $R$",
        depends_on=(_NOTES,),
        control="the bound on the length of x dropped: x three times as long, few tokens",
        unit="decades, the slack",
    ),
    Claim(
        id="P2.size.printed",
        authority=Authority.OTHER,
        source=f"{SIBLING}, Lemma E.4",
        quote=r"$\Vert u_j\Vert;\ \alpha_j;\ \alpha_j^{-1};\ \Vert f_j\Vert$ [...] "
        r"$\sqrt ne^{R^2};\ ne^{R^2};\ e^{R^2};\ 1$",
        place="notes2:67",
        reading=r"$\Vert u\Vert\le\sqrt ne^{R^2}$, $\alpha\le ne^{R^2}$, $\alpha^{-1}\le e^{R^2}$ and "
        r"$\Vert f\Vert\le1$ " + _WITHIN,
        quantity="log10 of the largest size, by proof and by search, divided by the printed bound; largest "
        "over $R\\ge4$; 1e-9 is allowed for rounding",
        rule=lambda case: (-inf, 1e-9),
        grade=Grade.PROVED,
        quantifier=_GRID,
        depends_on=(_NOTES,),
        control="the bound on the length of x dropped: x three times as long",
        unit="decades, the slack of the tightest bound",
    ),
    Claim(
        id="P2.lip.u",
        authority=Authority.OTHER,
        source=f"{H2O}, App. D.48 (restating arXiv 2304.10411); {SIBLING}, Lemma E.5, parts 1 and 2",
        quote=r"$2\sqrt nRe^{R^2}\Vert x-y\Vert$ [...] $\sqrt ne^{2R^2}$ [...] $\sqrt nRe^{R^2}$ [...] "
        r"$\sqrt n\Vert u(x)-u(y)\Vert\to2nRe^{R^2}$ [...] $ne^{4R^2}\Vert x-y\Vert$",
        place="notes2:68",
        reading=r"The Lipschitz constant of $u$ is at most $2\sqrt nRe^{R^2}$ (the first paper), "
        r"$\sqrt ne^{2R^2}$ and $\sqrt nRe^{R^2}$ (the second: statement and proof); that of $\alpha$ at "
        r"most "
        r"$2nRe^{R^2}$, that of $\alpha^{-1}$ at most $ne^{4R^2}$, " + _WITHIN,
        quantity=_SMALLEST,
        grade=Grade.PROVED,
        quantifier=_GRID,
        depends_on=(
            _NOTES,
            Choice(
                r"the bound on $\alpha$ is the second paper's step from $u$ with the first paper's factor"
            ),
        ),
        implied_by=("P2.lip.sharp",),
        **_SLACK,
    ),
    Claim(
        id="P2.lip.f",
        authority=Authority.OTHER,
        source=f"{SIBLING}, Lemma E.5, parts 3 to 5",
        quote=r"$n^{1.5}Re^{6R^2}$ [...] $n^{1.5}e^{6R^2}$ [...] $\langle f,v\rangle$, "
        r"$\langle f,v\rangle-b$, $\Vert v\Vert\le R^2$ [...] $n^{1.5}e^{7R^2}$",
        place="notes2:71",
        reading=r"The Lipschitz constant of $f$ is at most $n^{1.5}Re^{6R^2}$ (statement) and "
        r"$n^{1.5}e^{6R^2}$ (proof), that of $\langle f,v\rangle$ with $\Vert v\Vert\le R^2$, less any "
        r"constant, at most $n^{1.5}e^{7R^2}$, " + _WITHIN,
        quantity=_SMALLEST + "; the statement at $n=32$ also for $R=4$ and $R=6$ alone",
        grade=Grade.PROVED,
        quantifier=_GRID,
        depends_on=(_NOTES,),
        implied_by=("P2.lip.half",),
        **_SLACK,
    ),
    Claim(
        id="P2.lip.hessian",
        authority=Authority.OTHER,
        source=f"{SIBLING}, Appendices E.1 and E.2; {H2O}, App. D.48",
        quote=r"$n^{1.5}e^{30R^2}$; $nd\cdot n^{1.5}e^{30R^2}=:M=e^{O(R^2+\log nd)}$ [...] "
        r"$L_{\exp}+L_{\rm sparse}+L_{\rm reg}$ [...] $n^2e^{40R^2}\Vert x-y\Vert$",
        place="notes2:74",
        reading=r"The Hessian of $\frac12(\langle f,v\rangle-e)^2$, $\Vert v\Vert\le R^2$, $\vert e\vert\le "
        r"R$, is $n^{1.5}e^{30R^2}$-Lipschitz, that of the sum of $nd$ such terms "
        r"$nd\,n^{1.5}e^{30R^2}$-Lipschitz; "
        r"that of $L_{\exp}+L_{\rm sparse}+L_{\rm reg}$ $n^2e^{40R^2}$-Lipschitz, " + _WITHIN,
        quantity="log10 of the printed bound divided by our proven constant",
        grade=Grade.PROVED,
        quantifier=_GRID,
        depends_on=(_NOTES,),
        **_SLACK,
    ),
    Claim(
        id="P2.lip.hessian-pieces",
        authority=Authority.OTHER,
        source=f"{SIBLING}, Appendix E.1",
        quote=r"$\max_k\Vert G_k(x)-G_k(\tilde x)\Vert$ [...] $n^{1.5}e^{20R^2}$",
        place="notes2:74",
        reading=r"$\max_k\Vert G_k(x)-G_k(\tilde x)\Vert\le n^{1.5}e^{20R^2}\Vert x-\tilde x\Vert$ for the "
        "terms $G_k$ of the Hessian",
        expected=Verdict.NOT_TESTABLE,
        why_not="the list of the terms is in none of our sources",
    ),
    Claim(
        id="P2.lip.sharp",
        authority=Authority.BOOK,
        source="this book: the suprema of the Lipschitz quotients",
        reading=r"The supremum of $\Vert g(x)-g(y)\Vert/\Vert x-y\Vert$ over "
        r"$\Vert A\Vert,\Vert x\Vert,\Vert y\Vert\le R$ is $Re^{R^2}$ for $u$ and "
        r"$R\max_{\Vert s\Vert\le R^2}\Vert e^s\Vert$ for $\alpha$; for $\alpha^{-1}$ it lies between "
        r"$\frac Rne^{R^2/\sqrt n}$ and $1/\sqrt n$ of that",
        quantity="log10 of a quotient divided by the proven upper bound: at explicit data, the smallest over "
        "$R$, and the largest that an ascent found for any $R$; 1 % below the supremum is near enough, and "
        "1e-9 above is allowed for rounding",
        rule=_reached,
        grade=Grade.PROVED,
        quantifier="for all data and pairs; numbers for some $n$ and $R$",
        unit="decades",
    ),
    Claim(
        id="P2.lip.half",
        authority=Authority.BOOK,
        source="known: Nair, arXiv 2510.23012 (2025), softmax is 1/2-Lipschitz; here in the weights",
        reading=r"$\Vert f(x)-f(y)\Vert\le\frac R2\Vert x-y\Vert$ for every $R>0$ and all $x,y$ however "
        "long, and no smaller factor than 1/2 serves all $R$",
        quantity="log10 of the largest quotient found for any $R$ divided by $R/2$, a proven "
        "upper bound; 1 % below is near enough, and 1e-9 above is allowed for rounding",
        rule=lambda case: (log10(0.99), 1e-9),
        grade=Grade.PROVED,
        quantifier="for all data and pairs",
        control="u, which is not normalized, in place of f",
        unit="decades",
    ),
    Claim(
        id="P2.lip.context",
        authority=Authority.BOOK,
        source="this book: the same functions of the context",
        reading=r"As a function of $A$ with $x$ fixed, $\Vert x\Vert\le R$, the supremum of "
        r"$\Vert g(Ax)-g(\tilde Ax)\Vert/\Vert A-\tilde A\Vert$ obeys the same bounds",
        quantity="log10 of the largest quotient found by ascent over moves of A for any $R$, divided by the "
        "proven upper bound; 1 % below the supremum is near enough, and 1e-9 above is allowed for rounding",
        rule=_reached,
        grade=Grade.PROVED,
        quantifier="for all data and moves; numbers for some $n$ and $R$",
        implied_by=("P2.lip.sharp", "P2.lip.half"),
        unit="decades",
    ),
    Claim(
        id="P2.lip.required",
        authority=Authority.BOOK,
        source="this book: which preconditions the bounds need",
        reading=r"Of their printed preconditions the bounds of P2.lip.u on $u$ and $\alpha$ need "
        r"$\Vert x\Vert\le R$. None of those on $u$, $\alpha$, $\alpha^{-1}$ and $f$ needs $R\ge4$ or a "
        r"small $\Vert A(x-y)\Vert_\infty$",
        quantity="log10 of the largest quotient with the precondition dropped (our proven constant for "
        "$R<4$; the largest found for pairs at opposite ends of the ball and for long $x$) divided by the "
        "printed bound",
        rule=lambda case: (0.0, inf) if case["needed"] else (-inf, 0.0),
        grade=Grade.SEARCHED,
        quantifier="for all data; long $x$: there is an example",
        depends_on=(Choice("the bounds are other papers': those of paper 2 are in none of our sources"),),
        implied_by=("P2.lip.sharp",),
        unit="decades",
    ),
    Claim(
        id="P2.lip.break",
        authority=Authority.SUMMARY,
        source=f"{SUMMARY}, Mechanism 3, break condition",
        quote="If the input data violates the bounded norm assumptions or the ∞-norm constraints on "
        "differences, the Lipschitz bounds may not hold.",
        place="summary2:70",
        reading="Some printed bound fails for some $x$ longer than $R$",
        quantity="log10 of the largest quotient found with x longer than R divided by the printed bound, for "
        "three functions of which one would do",
        rule=lambda case: (0.0, inf),
        grade=Grade.SEARCHED,
        quantifier="there is",
        depends_on=(Choice("the bounds are other papers': those of paper 2 are in none of our sources"),),
        implied_by=("P2.lip.required",),
        unit="decades",
    ),
    Claim(
        id="P2.lip.constants",
        authority=Authority.SUMMARY,
        source=TLDR,
        quote="computes gradient/derivative bounds for both normalized and rescaled softmax losses",
        place="tldr2:1",
        expected=Verdict.NOT_TESTABLE,
        why_not="announced, but the constants themselves are in none of our sources; the page computes the "
        "true ones",
    ),
]
