"""Statements of the first paper's Theorem 4: attention learns the subspace that the functions depend on.

The chapter is theorem4_low_rank.
"""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Severity, Verdict

_ORTHOGONAL = (
    r"smallest relative rise of the exact risk of $cBB^\top+eB_\perp B_\perp^\top$ when $e$ "
    r"leaves zero, over several $c$ and $e$"
)
_SWAPPED = r"$B$ and $B_\perp$ exchanged: attending to the subspace that matters"

CLAIMS: list[Claim] = [
    Claim(
        id="P1.T4.two-tokens",
        source="ITA slides, Theorem 4 (informal), case n = 2",
        statement=r"Suppose $n=2$. For some $C=\Omega(1)$, any optimum of the loss of "
        r"$D(\mathcal F_B^{\rm lin})$ over $\{M=M^\top,\Vert B^\top MB\Vert_2\le C\}$ is "
        r"$M^*=cBB^\top$, $c\in(0,C]$",
        quantity=_ORTHOGONAL,
        rule=lambda case: (1e-9, inf),
        resolution=1e-9,
        control=_SWAPPED,
    ),
    Claim(
        id="P1.T4.noiseless",
        source="ITA slides, Theorem 4 (informal), case sigma = 0",
        statement=r"Suppose $\sigma=0$. Then any optimum is $M^*=cBB^\top$, $c\in(0,C]$",
        quantity=_ORTHOGONAL,
        rule=lambda case: (1e-9, inf),
        resolution=1e-9,
        control=_SWAPPED,
    ),
    Claim(
        id="P1.T4.beyond",
        source="this book: Theorem 4 without its assumption",
        statement=r"$M^*=cBB^\top$ also for $n>2$ with noise",
        quantity=_ORTHOGONAL,
        rule=lambda case: (1e-9, inf),
        resolution=1e-9,
        control=_SWAPPED,
    ),
    Claim(
        id="P1.T4.minimizer",
        source="ITA slides, Theorem 4 (informal): the optimum, found by minimizing in c and e together",
        statement=r"$M^*=cBB^\top$",
        quantity=r"coefficient $e$ on the orthogonal complement at the lowest minimum found from several "
        r"starts, exact risk",
        rule=lambda case: (0.0, 0.0),
        resolution=0.02,
        control="functions that depend on the complement as well: an isotropic window is best",
    ),
    Claim(
        id="P1.T4.positive",
        source="ITA slides, Theorem 4 (informal), consequence: s in col(B)",
        statement=r"If $s\in\mathrm{col}(B)$ then $s^\top M^*s>0$",
        quantity=r"best $c$ with $e=0$, exact risk",
        rule=lambda case: (1e-6, inf),
        resolution=1e-6,
        control="even functions of the projection that the context does not resolve: equal weights are best",
    ),
    Claim(
        id="P1.T4.constraint",
        source="ITA slides, Theorem 4 (informal): the constraint with C",
        statement=r"For some $C=\Omega(1)$ and $\Vert B^\top MB\Vert_2\le C$: $c\in(0,C]$",
        quantity=r"best $c$ over $[0,C]$ divided by $\min(C,c^*)$, $c^*$ the best without constraint, "
        r"exact risk",
        rule=lambda case: (1.0, 1.0),
        resolution=1e-3,
        control=r"$C$ in place of $\min(C,c^*)$ for a large $C$",
    ),
    Claim(
        id="P1.T4.lipschitz-in",
        source="ITA slides, direction-wise Lipschitzness: s in col(B)",
        statement=r"If $s\in\mathrm{col}(B)$: $\max_{f\in\mathcal F_B^{\rm lin}}\mathrm{Lip}_s(f)=1$",
        quantity=r"largest quotient in the definition of $\mathrm{Lip}_s$, for the best $a\in S^{k-1}$ and "
        r"random pairs of points",
        rule=lambda case: (1.0, 1.0),
        resolution=1e-9,
        control="directions halfway between the subspace and its complement",
    ),
    Claim(
        id="P1.T4.lipschitz-out",
        source="ITA slides, direction-wise Lipschitzness: s orthogonal to col(B)",
        statement=r"If $s\in\mathrm{col}(B)^\perp$: $\max_{f\in\mathcal F_B^{\rm lin}}\mathrm{Lip}_s(f)=0$",
        quantity=r"largest quotient in the definition of $\mathrm{Lip}_s$, for the best $a\in S^{k-1}$ and "
        r"random pairs of points",
        rule=lambda case: (0.0, 0.0),
        resolution=1e-9,
        control="directions halfway between the subspace and its complement",
    ),
    Claim(
        id="P1.T4.learns",
        source="ITA slides, Theorem 4 (informal), consequence: M* learns direction-wise Lipschitzness",
        statement=r"$M^*$ learns direction-wise Lipschitzness, recovers $\mathrm{col}(B)$",
        quantity=r"sine of the largest principal angle between $\mathrm{col}(B)$ and the leading $k$ "
        "singular vectors of pretrained $M$, mean over seeds",
        rule=lambda case: (0.0, 0.1),
        resolution=0.05,
        control=r"functions that depend on all $d$ directions, the same $B$",
    ),
    Claim(
        id="P1.T4.scale",
        source="this book: pretraining reaches the exact optimum of the low-rank class",
        statement=r"Pretraining reaches $c^*BB^\top$ with the exact $c^*$",
        quantity=r"mean diagonal of $B^\top MB$ of pretrained $M$ divided by the exact $c^*$, mean over "
        r"seeds",
        rule=lambda case: (0.97, 1.03),
        resolution=0.2,
        control=r"the appendix's convention mistaken for the slides': $c^*/2$",
    ),
    Claim(
        id="P1.T4.dimension",
        source="machine-written summary of the paper, contribution 3",
        statement="Softmax attention projects onto the subspace, which reduces the effective dimension of "
        "ICL",
        quantity=r"slope of the log of the least risk in $\log n$ for $n$ large, exact",
        rule=lambda case: (-4 / (case["rank"] + 3),) * 2,
        resolution=0.01,
        control=r"an isotropic window, $e=c$: its slope is set by $d$",
    ),
]
