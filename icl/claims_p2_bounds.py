"""The registry of paper 2, second part: sizes, Lipschitz bounds, in-context learning, optimization.

Where nothing else is said, A is one block A_j of the Kronecker product and x = vec(X).
"""

from __future__ import annotations

from math import inf, log10

from icl.claims import Claim, Verdict
from icl.lipschitz import LIPSCHITZ, SIZES

SUMMARY = "machine-written summary of arXiv 2307.02419"
SIBLING = "sibling paper arXiv 2309.07418"
GRADIENT = "sibling paper arXiv 2402.04497"
TLDR = "machine-written abstract (TL;DR) of arXiv 2307.02419 on sciencestack.ai"
H2O = "arXiv 2306.14048"
_CLOSENESS = "arXiv 2304.13276"

#: An identity is measured by the difference of its two sides; it permits zero and nothing else.
IDENTITY = {"rule": lambda case: (0.0, 0.0), "resolution": 1e-9}

#: Printed preconditions of the bounds.
_WITHIN = r"for $\Vert A\Vert,\Vert x\Vert,\Vert y\Vert\le R$, $R\ge4$"
_NAMES = {"u": "u", "alpha": r"\alpha", "1/alpha": r"\alpha^{-1}", "f": "f"}
_HALF = "a planted misprint: half of the true constant in place of the printed bound"

#: Evidence about an upper bound is log10(largest value found / bound): zero is the limit.
_BELOW = {"rule": lambda case: (-inf, 0.0), "resolution": 0.01}


def _lipschitz_claims() -> list[Claim]:
    """One claim for each printed bound on a size or a Lipschitz constant."""
    sizes = [Claim(
        id=f"P2.size.{b.id}", source=b.source,
        statement=rf"$\Vert {_NAMES[b.function]}(x)\Vert\le {b.tex}$ {_WITHIN}",
        quantity="log10 of the largest size found divided by the bound; largest over $R\\ge4$",
        control="the bound on the length of x dropped: x three times as long" if b.function != "f" else
                "a planted misprint: 1/2 in place of 1",
        **_BELOW) for b in SIZES]
    return sizes + [Claim(
        id=f"P2.lip.{b.id}", source=b.source,
        statement=rf"$\Vert {_NAMES[b.function]}(x)-{_NAMES[b.function]}(y)\Vert\le {b.tex}\,\Vert x-y\Vert$ "
                  + _WITHIN,
        quantity="log10 of the largest quotient found divided by the bound; largest over $R\\ge4$",
        control=_HALF, **_BELOW) for b in LIPSCHITZ]


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
                  r"x-y\Vert$ for "
                  r"$\Vert v\Vert\le R^2$ (and the same after subtracting a constant), " + _WITHIN,
        quantity="log10 of the largest quotient found divided by the bound; largest over $R\\ge4$",
        control=_HALF,
        **_BELOW,
    ),
    Claim(
        id="P2.lip.R0",
        source=f"{SIBLING}, Lemma E.6; that one number serves all functions before it is our reading",
        statement=r"$R_0=n^{1.5}e^{10R^2}$ bounds the Lipschitz constants of $u$, $\alpha$, $\alpha^{-1}$ "
                  r"and $f$ "
                  + _WITHIN,
        quantity="log10 of the largest quotient found divided by the bound; largest over $R\\ge4$",
        control=_HALF,
        **_BELOW,
    ),
    Claim(
        id="P2.lip.hessian-row",
        source=f"{SIBLING}, Appendix E.2",
        statement=r"The Hessian of $\frac12(\langle f(x),v\rangle-e)^2$ is $n^{1.5}e^{30R^2}$-Lipschitz "
                  r"(with $\Vert v\Vert\le R^2$, $\vert e\vert\le R$) " + _WITHIN,
        quantity="log10 of the largest third derivative found divided by the bound; largest over $R\\ge4$",
        control="the bound without its exponential and powers of n: 1",
        **_BELOW,
    ),
    Claim(
        id="P2.lip.hessian-total",
        source=f"{SIBLING}, Appendix E.1",
        statement=r"The Hessian of the sum of $nd$ such terms is Lipschitz with $M=nd\,n^{1.5}e^{30R^2}$ "
                  + _WITHIN,
        quantity="log10 of $nd$ times the largest third derivative found, divided by the bound; largest over "
                 "$R\\ge4$",
        control="the bound without its exponential and powers of n: 1",
        **_BELOW,
    ),
    Claim(
        id="P2.lip.hessian-pieces",
        source=f"{SIBLING}, Appendix E.1",
        statement=r"$\max_k\Vert G_k(x)-G_k(\tilde x)\Vert\le n^{1.5}e^{20R^2}\Vert x-\tilde x\Vert$ for "
                  r"the terms $G_k$ "
                  "of the Hessian",
        expected=Verdict.NOT_TESTABLE,
        why_not="the terms belong to a printed formula for the Hessian whose coefficients are wrong (Def. "
                "D.3), "
                "so there is no agreed list of them",
    ),
    Claim(
        id="P2.lip.hessian-h2o",
        source=f"{H2O}, App. D.48",
        statement=r"The Hessian of $L_{\exp}+L_{\rm sparse}+L_{\rm reg}$ is $n^2e^{40R^2}$-Lipschitz "
                  + _WITHIN,
        quantity="log10 of the largest third derivative found (times the cube of R) divided by the bound; "
                 "largest over $R\\ge4$",
        control="the bound without its exponential and powers of n: 1",
        **_BELOW,
    ),
    Claim(
        id="P2.lip.sharp",
        source="this book: the suprema of the Lipschitz quotients",
        statement=r"The supremum of $\Vert g(x)-g(y)\Vert/\Vert x-y\Vert$ over $\Vert A\Vert,\Vert "
                  r"x\Vert,\Vert y\Vert\le R$ "
                  r"is $R\sup_{\Vert s\Vert\le R^2}\Vert J_g(s)\Vert$, attained by explicit data; a search "
                  r"that knows "
                  "nothing of them finds the same numbers",
        quantity="log10 of the largest quotient found by ascent divided by that of the construction; the "
                 "case "
                 "furthest from zero over $R$",
        rule=lambda case: (log10(0.95), log10(1.01)),
        resolution=0.01,
        control="random data alone, as many draws as the search has starts",
    ),
    Claim(
        id="P2.lip.half",
        source="this book: sharp constant of softmax regression",
        statement=r"$\Vert f(x)-f(y)\Vert\le\frac R2\Vert x-y\Vert$ for every $R>0$ and all $x,y$ however "
                  r"long, and no "
                  r"smaller constant serves",
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
        quantity="log10 of the largest quotient found by ascent over moves of A, divided by the "
                 "construction for "
                 "moves of x; the case furthest from zero over $R$",
        rule=lambda case: (log10(0.95), log10(1.01)),
        resolution=0.01,
        control="random data alone, as many draws as the search has starts",
    ),
    Claim(
        id="P2.lip.required",
        source=f"{SUMMARY}, Limitations",
        statement=r"The Lipschitz analysis requires strict constraints ($R\ge4$, bounded $\infty$-norms)",
        quantity="log10 of the largest quotient found, with the constraint dropped, divided by the printed "
                 "bound; "
                 "a constraint that is required lets it exceed zero",
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
                  "guarantee "
                  "that small changes in context lead to small changes in gradients",
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
                "true "
                "ones",
    ),
    Claim(
        id="P2.icl.identity",
        source=f"Theorems 5.1 and 5.2 of {_CLOSENESS} as described in its public reviews; the target "
               "is written out by this book",
        statement=r"Moving the weights, or the data, is equivalent to replacing the target $B$ by a "
                  r"$\tilde B$: "
                  "the loss has the same value",
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
                 "gradients, "
                 "after the weights moved and after the target moved instead",
        rule=lambda case: (0.0, 0.0),
        resolution=1e-9,
        expected=Verdict.CORRECTED,
        corrected="The residual and the value of the loss are the same; the gradient, and with it the next "
                  "step, "
                  "is not",
        corrected_rule=lambda case: (0.0, 0.0) if case["what"] == "value" else (1e-3, inf),
        control="value and gradient exchanged",
    ),
    Claim(
        id="P2.icl.weights",
        source=f"Theorem 5.1 of {_CLOSENESS}, constant from the {TLDR.replace('2307.02419', '2304.13276')}",
        statement=r"$\Vert\tilde b-b\Vert_2\le M\,\Vert x_{t+1}-x_t\Vert_2$ with $M=n^{1.5}e^{10R^2}$",
        quantity="log10 of the largest ratio found (path of gradient descent, worst-case construction) "
                 "divided "
                 "by the bound",
        control=_HALF + ", R/2",
        **_BELOW,
    ),
    Claim(
        id="P2.icl.data",
        source=f"Theorem 5.2 of {_CLOSENESS}, constant from the {TLDR.replace('2307.02419', '2304.13276')}",
        statement=r"$\Vert\tilde b-b\Vert_2\le M\,\Vert A_{t+1}-A_t\Vert$ with $M=n^{1.5}e^{10R^2}$",
        quantity="log10 of the largest ratio found (path of data moves, worst-case construction) divided "
                 "by the "
                 "bound",
        control=_HALF + ", R/2",
        **_BELOW,
    ),
    Claim(
        id="P2.icl.constants",
        source=TLDR,
        statement="The main results on in-context learning, normalized and rescaled version: a bound on "
                  "the shift "
                  "of the target for a move of the weights and for a move of the data",
        expected=Verdict.NOT_TESTABLE,
        why_not="the constants are in none of our sources; the page gives sharp ones for both versions",
    ),
    Claim(
        id="P2.icl.sharp",
        source="this book: sharp shift of the target, normalized",
        statement=r"$\Vert\tilde B-B\Vert_F\le\frac12\Vert A_1\Vert\,\Vert A_2\Vert\,\Vert\Delta "
                  r"X\Vert_F$, and shifts of "
                  r"successive steps add up: $\tilde B_T-B=F(X_0)-F(X_T)$",
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
        statement=r"The worst $\Vert\tilde b-b\Vert/\Vert\Delta x\Vert$ over $\Vert A\Vert,\Vert x\Vert\le "
                  r"R$ grows exponentially in "
                  r"$R^2$ for the rescaled version and at most linearly in $R$ for the normalized one",
        quantity=r"growth rate of the natural logarithm of the worst ratio in $R^2$, between the two "
                 r"largest $R$",
        rule=lambda case: (0.5, inf) if case["kind"] == "rescaled" else (-inf, 0.1),
        resolution=0.01,
        control="the labels exchanged",
    ),
    Claim(
        id="P2.icl.linear-attention",
        source="this book: the data move that imitates a gradient step",
        statement=r"With $X_t$ invertible, one linear self-attention layer with residual, "
                  r"$A_1'=A_1-\eta\,(A_1A_1^\top)(PA_2X_t^{-1})$, gives exactly the scores of one step of "
                  r"gradient "
                  "descent",
        quantity="largest relative difference of the two score matrices along the path",
        control="softmax weights in place of the linear ones",
        **IDENTITY,
    ),
    Claim(
        id="P2.icl.similarity",
        source=f"abstract of {_CLOSENESS}",
        statement="Upper bounds on the data transformations of a self-attention layer and of gradient "
                  "descent imply "
                  "that the models learned by gradient descent and Transformers show great similarity",
        quantity="cosine between the step of gradient descent and another move of the scores that obeys "
                 "the same "
                 "bound; great similarity is read as at least 0.9",
        rule=lambda case: (0.9, 1.0 + 1e-9),
        resolution=0.01,
        expected=Verdict.FAILS,
        control="the linear attention layer, which really makes the step",
    ),
    Claim(
        id="P2.opt.range",
        source="this book: curvature of the normalized loss",
        statement=r"For $b$ in the simplex the eigenvalues of the row Hessian of $\frac12\Vert f-b\Vert^2$ "
                  r"in the "
                  r"scores fill $[4g(p_+),4g(p_-)]$, $g(p)=p^2(1-p)(2-3p)$, $p_\pm=(15\pm\sqrt{33})/24$, "
                  r"already for "
                  "two tokens: the loss is not convex",
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
                  r"normalized loss "
                  "never increases it",
        quantity="largest increase of the loss in one step, divided by the first loss",
        rule=lambda case: (-inf, 1e-12),
        resolution=0.01,
        control="a step size 1000 times as large",
    ),
    Claim(
        id="P2.opt.preconditioned",
        source="this book: the Kronecker preconditioner",
        statement=r"$X\leftarrow X-\eta\,(A_1^\top A_1)^{-1}\,\nabla L\,(A_2^\top A_2)^{-1}$ with "
                  r"$\eta=1/(4g(p_-))$ never "
                  "increases the normalized loss, and its number of steps does not depend on how badly "
                  "conditioned "
                  "the data are",
        quantity="exponent with which the number of steps to a millionth of the first loss grows with the "
                 "condition number of $A_1$ and $A_2$",
        rule=lambda case: (-0.05, 0.05),
        resolution=0.01,
        control="gradient descent without it",
    ),
    Claim(
        id="P2.opt.newton",
        source="this book: Newton steps from Hessian products",
        statement="A trust-region Newton-CG method that uses only the gradient and Hessian products of "
                  "this package "
                  "needs fewer passes over the data than gradient descent, on targets that can be fitted",
        quantity="passes (gradients and Hessian products) to a millionth of the first loss, divided by "
                 "those of "
                 "gradient descent at its sharp step size",
        rule=lambda case: (0.0, 1.0),
        resolution=0.01,
        control="gradient descent at a tenth of the sharp step size",
    ),
]
