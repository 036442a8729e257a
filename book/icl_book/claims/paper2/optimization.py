"""Statements on minimizing the softmax regressions: curvature, regularizers, step sizes.

The chapter is optimization. All but one are this book's own.
"""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Authority, Choice, Claim, Grade, Verdict
from icl_book.claims.paper2.sources import H2O

CLAIMS: list[Claim] = [
    Claim(
        id="P2.opt.range",
        authority=Authority.BOOK,
        source="this book: curvature of the normalized loss",
        reading=r"For $b$ in the simplex the eigenvalues of the row Hessian of $\frac12\Vert f-b\Vert^2$ "
        "in the scores fill $[4g(p_+),4g(p_-)]$, from $-0.240$ to $0.308$, $g(p)=p^2(1-p)(2-3p)$, "
        r"$p_\pm=(15\pm\sqrt{33})/24$, already for two tokens: the loss is not convex",
        quantity="extreme second derivative found by ascent, divided by the end of the interval; the search "
        "may miss 2 %, and exceed by rounding only. What it cannot pass is proved: the end itself for two "
        r"tokens, $\frac54$ and $-1$ for more",
        rule=lambda case: (0.98, 1.0 + 1e-9),
        expected=Verdict.OPEN,
        grade=Grade.SEARCHED,
        quantifier="for all scores and targets; two tokens by hand, open for more",
        control="the cross-entropy, which is convex, against the same ends",
        unit="relative",
    ),
    Claim(
        id="P2.opt.psd",
        authority=Authority.OTHER,
        source=f"{H2O}, App. D.47",
        quote=r"$w_i^2\ge20+l/\sigma_{\min}(A)^2\Rightarrow\nabla^2L\succeq lI$",
        place="notes2:76",
        reading=r"$w_i^2\ge20+l/\sigma_{\min}(A)^2$ for all $i$ implies $\nabla^2L\succeq lI$, "
        r"$L=L_{\exp}+L_{\rm sparse}+\frac12\Vert\mathrm{diag}(w)Ax\Vert^2$",
        quantity="smallest eigenvalue of the Hessian divided by $l$: the smallest of many random problems, "
        "and 1, below which it is proved not to lie",
        rule=lambda case: (1.0, inf),
        grade=Grade.PROVED,
        quantifier="for all data with a target in the simplex",
        depends_on=(Choice(r"which losses make up $L$: our notes name them for the bound next to it"),),
        control="no regularizer, $w=0$",
        unit=r"in the eigenvalue, units of $l$",
    ),
    Claim(
        id="P2.opt.psd-sharp",
        authority=Authority.BOOK,
        source="this book: the regularizer that is needed",
        reading=r"For $L_{\exp}$ alone and two tokens $w_i^2\ge-4g(p_+)+l/\sigma_{\min}(A)^2$ suffices, and "
        "no smaller constant does",
        quantity=r"smallest eigenvalue of the Hessian divided by $l$, at data built to be worst: 1 to "
        r"rounding, "
        "so nothing is left over",
        rule=lambda case: (1.0 - 1e-9, 1.0 + 1e-9),
        grade=Grade.PROVED,
        quantifier="for all data with two tokens, by hand; the worst data are explicit",
        unit=r"in the eigenvalue, units of $l$",
    ),
    Claim(
        id="P2.opt.descent",
        authority=Authority.BOOK,
        source="this book: step size of gradient descent",
        reading=r"With $\eta=1/(4g(p_-)\Vert A_1\Vert^2\Vert A_2\Vert^2)$ gradient descent on the "
        "normalized loss never increases it",
        quantity="largest increase of the loss in one step, divided by the first loss; 1e-12 is allowed for "
        "rounding",
        rule=lambda case: (-inf, 1e-12),
        expected=Verdict.OPEN,
        grade=Grade.SEARCHED,
        quantifier="for all data if P2.opt.range holds; seen on random ones",
        implied_by=("P2.opt.range",),
        control="a step size 1000 times as large",
        unit="of the first loss",
    ),
    Claim(
        id="P2.opt.preconditioned",
        authority=Authority.BOOK,
        source="this book: the Kronecker preconditioner",
        reading=r"$X\leftarrow X-\eta\,(A_1^\top A_1)^{-1}\,\nabla L\,(A_2^\top A_2)^{-1}$ with "
        r"$\eta=1/(4g(p_-))$ takes a number of steps on the normalized loss that does not depend on how "
        "badly conditioned the data are",
        quantity="exponent with which the number of steps to a millionth of the first loss grows with the "
        "condition number of $A_1$ and $A_2$; within 0.05 of zero, since steps are counted in tens",
        rule=lambda case: (-0.05, 0.05),
        grade=Grade.IDENTITY,
        quantifier="for all data; seen on one problem, stretched",
        control="gradient descent without it",
        unit="in the exponent",
    ),
    Claim(
        id="P2.opt.newton",
        authority=Authority.BOOK,
        source="this book: Newton steps from Hessian products",
        reading="On a target that can be fitted, a trust-region Newton-CG method that uses only the "
        "gradient and Hessian products of this package needs fewer passes over the data than gradient "
        "descent",
        quantity="passes (gradients and Hessian products) to a millionth of the first loss; fewer than "
        "gradient descent needs at its sharp step size",
        rule=lambda case: (0.0, case["descent"] - 1.0),
        grade=Grade.EXACT,
        quantifier="for one problem, stretched to several condition numbers",
        depends_on=(Choice("the problem, and gradient descent at a constant step as the rival"),),
        unit="passes",
    ),
]
