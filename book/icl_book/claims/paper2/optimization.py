"""Statements on minimizing the softmax regressions: curvature, regularizers, step sizes.

The chapter is optimization.
"""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Severity, Verdict
from icl_book.claims.paper2.sources import H2O

CLAIMS: list[Claim] = [
    Claim(
        id="P2.opt.range",
        source="this book: curvature of the normalized loss",
        statement=r"For $b$ in the simplex the eigenvalues of the row Hessian of $\frac12\Vert f-b\Vert^2$ "
        "in the scores fill $[4g(p_+),4g(p_-)]$, $g(p)=p^2(1-p)(2-3p)$, "
        r"$p_\pm=(15\pm\sqrt{33})/24$, already for two tokens: the loss is not convex",
        quantity="extreme second derivative found by ascent, divided by the end of the interval",
        rule=lambda case: (0.98, 1.0 + 1e-9),
        resolution=0.01,
        control="the cross-entropy, which is convex, against the same ends",
    ),
    Claim(
        id="P2.opt.psd",
        source=f"{H2O}, App. D.47",
        statement=r"$w_i^2\ge20+l/\sigma_{\min}(A)^2$ for all $i$ implies $\nabla^2L\succeq lI$, "
        r"$L=L_{\exp}+L_{\rm sparse}+\frac12\Vert\mathrm{diag}(w)Ax\Vert^2$",
        quantity="smallest eigenvalue of the Hessian divided by $l$",
        rule=lambda case: (1.0, inf),
        resolution=0.01,
        control="no regularizer, $w=0$",
    ),
    Claim(
        id="P2.opt.psd-sharp",
        source="this book: the regularizer that is needed",
        statement=r"For $L_{\exp}$ alone $w_i^2\ge-4g(p_+)+l/\sigma_{\min}(A)^2$ suffices, and no smaller "
        r"constant does",
        quantity=r"smallest eigenvalue of the Hessian divided by $l$, at data built to be worst",
        rule=lambda case: (1.0 - 1e-9, inf),
        resolution=0.01,
        control="nine tenths of the constant",
    ),
    Claim(
        id="P2.opt.descent",
        source="this book: step size of gradient descent",
        statement=r"With $\eta=1/(4g(p_-)\Vert A_1\Vert^2\Vert A_2\Vert^2)$ gradient descent on the "
        "normalized loss never increases it",
        quantity="largest increase of the loss in one step, divided by the first loss",
        rule=lambda case: (-inf, 1e-12),
        resolution=0.01,
        control="a step size 1000 times as large",
    ),
    Claim(
        id="P2.opt.preconditioned",
        source="this book: the Kronecker preconditioner",
        statement=r"$X\leftarrow X-\eta\,(A_1^\top A_1)^{-1}\,\nabla L\,(A_2^\top A_2)^{-1}$ with "
        r"$\eta=1/(4g(p_-))$ never increases the normalized loss, and its number of steps does not "
        "depend on how badly conditioned the data are",
        quantity="exponent with which the number of steps to a millionth of the first loss grows with the "
        "condition number of $A_1$ and $A_2$",
        rule=lambda case: (-0.05, 0.05),
        resolution=0.01,
        control="gradient descent without it",
    ),
    Claim(
        id="P2.opt.newton",
        source="this book: Newton steps from Hessian products",
        statement="A trust-region Newton-CG method that uses only the gradient and Hessian products of this "
        "package needs fewer passes over the data than gradient descent, on targets that can be "
        "fitted",
        quantity="passes (gradients and Hessian products) to a millionth of the first loss, divided by those "
        "of gradient descent at its sharp step size",
        rule=lambda case: (0.0, 1.0),
        resolution=0.01,
        control="gradient descent at a tenth of the sharp step size",
    ),
]
