"""Statements of the first paper's Theorem 4: attention learns the subspace that the functions depend on.

The chapter is theorem4_low_rank.
"""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Authority, Choice, Claim, Grade

_TOKENS = Choice(
    r"the law of the tokens, which is in no source: $x=Bu+B_\perp v$ with independent $u\sim U(S^{k-1})$, "
    r"$v\sim U(S^{d-k-1})$"
)
_GRID = (
    r"least of the exact risk of $cBB^\top+eB_\perp B_\perp^\top$ over that of $cBB^\top$, minus one, on a "
    "grid of $c$ and $e>0$; above zero; no other matrix does better than this family (proved on the page)"
)

CLAIMS: list[Claim] = [
    Claim(
        id="P1.T4.minimizer",
        authority=Authority.TALK,
        source="Theorem 4 (informal)",
        quote=r"Suppose n=2 or $\sigma=0$. Then for some $C=\Omega(1)$, any optimal solution $\mathbf{M}^*$ "
        r"of the ICL pretraining loss [...] satisfies, for $c\in(0,C]$, "
        r"$\mathbf{M}^* = c\mathbf{B}\mathbf{B}^{\top}$",
        place="talk:460",
        reading=r"If $n=2$ or $\sigma=0$ and the constraint leaves room for it, every optimum on "
        r"$D(\mathcal F_B^{\rm lin})$ is $M^*=cBB^\top$ with $c>0$: over all matrices, symmetric or not",
        quantity=_GRID,
        rule=lambda case: (0.0, inf),
        grade=Grade.EXACT,
        quantifier=r"for all $M$, in each $d$, $k$, $n$, $\sigma$ listed",
        depends_on=(
            _TOKENS,
            Choice(
                r"the constraint $\Vert B^\top MB\Vert_2\le C$ is read as: some $C$ at least the best $c$"
            ),
        ),
        control="functions that depend on the complement as well",
        unit="relative",
    ),
    Claim(
        id="P1.T4.beyond",
        authority=Authority.BOOK,
        source="Theorem 4 without its assumption",
        reading=r"$M^*=cBB^\top$ also for $n>2$ with noise",
        quantity=_GRID,
        rule=lambda case: (0.0, inf),
        grade=Grade.EXACT,
        quantifier=r"for all $M$, in each $d$, $k$, $n$, $\sigma$ listed",
        depends_on=(_TOKENS,),
        unit="relative",
    ),
    Claim(
        id="P1.T4.local",
        authority=Authority.BOOK,
        source="all seven types of directions at the optimum of Theorem 4",
        reading=r"At $M=c^*BB^\top$ the risk rises in every one of the $d^2$ directions; a local statement, "
        "measured without the proof that makes it global",
        quantity="smallest of the second derivatives over the types of directions that the symmetry of the "
        "problem leaves (seven, the mixed blocks counted once), relative to the risk, for directions of "
        "norm one; sampled, median over seeds",
        rule=lambda case: (0.0, inf),
        grade=Grade.SAMPLED,
        quantifier=r"for all directions, in each $d$, $k$, $n$, $\sigma$ listed",
        depends_on=(_TOKENS,),
        unit="per squared norm of the step",
    ),
    Claim(
        id="P1.T4.positive",
        authority=Authority.TALK,
        source="Theorem 4 (informal), first consequence",
        quote=r"If $\mathbf{s} \in \operatorname{col}(\mathbf{B})$ then $\mathbf{s}^{\top} \mathbf{M}^* "
        r"\mathbf{s} > 0$",
        place="talk:464",
        quantity=r"best $c$ with $e=0$, exact risk; at least $10^{-6}$",
        rule=lambda case: (1e-6, inf),
        grade=Grade.EXACT,
        quantifier=r"for each $k$, $n$, $\sigma$ listed",
        implied_by=("P1.T4.minimizer",),
        depends_on=(_TOKENS,),
        control="even functions of the projection that the context does not resolve: equal weights are best",
        unit="in $c$",
    ),
    Claim(
        id="P1.T4.constraint",
        authority=Authority.TALK,
        source="Theorem 4 (informal), the constraint",
        quote=r"optimized over the set $\mathcal{M}:=\{\mathbf{M}:\mathbf{M}=\mathbf{M}^\top,"
        r"\|\mathbf{B}^\top\mathbf{M}\mathbf{B}\|_2\leq C\}$ satisfies, for $c\in(0,C]$",
        place="talk:460",
        reading=r"Among the matrices $cBB^\top$ with $0\le c\le C$ the best has $c=\min(C,c^*)\in(0,C]$, "
        "$c^*$ the best without constraint (nothing is said of other matrices for $C<c^*$)",
        quantity=r"largest ratio, minus one, of the exact risk at a point of a grid of $(0,c^*]$ to that at "
        "the point below it; less than zero: the risk falls up to $c^*$",
        rule=lambda case: (-inf, 0.0),
        grade=Grade.EXACT,
        quantifier=r"for each $k$, $n$, $\sigma$ listed, and every $C$ on the grid",
        depends_on=(_TOKENS,),
        unit="relative",
    ),
    Claim(
        id="P1.T4.lipschitz",
        authority=Authority.TALK,
        source="Definition (direction-wise Lipschitzness, informal), its two cases",
        quote=r"If $s \in col(B)$ (label-relevant direction) [...] If $s \in \operatorname{col}(B)^{\perp}$ "
        "(spurious direction)",
        place="talk:449",
        reading=r"$\max_{f\in\mathcal F_B^{\rm lin}}\mathrm{Lip}_s(f)$ is $1$ for $s\in\mathrm{col}(B)$ and "
        r"$0$ for $s\in\mathrm{col}(B)^\perp$",
        quantity=r"largest quotient in the definition of $\mathrm{Lip}_s$, for the best $a\in S^{k-1}$ and "
        "random pairs of points, within $10^{-9}$",
        rule=lambda case: (case["inside"] - 1e-9, case["inside"] + 1e-9),
        grade=Grade.IDENTITY,
        quantifier="for all $s$ in the subspace and in its complement",
        unit="in the constant",
    ),
    Claim(
        id="P1.T4.learns",
        authority=Authority.TEXT,
        source="abstract, sixth sentence",
        quote="on low-rank, linear problems, the attention unit learns to project onto the appropriate "
        "subspace before inference",
        place="abstract1:1",
        reading=r"Trained from a random start without constraint, a unit finds $\mathrm{col}(B)$ within an "
        "angle of sine 0.1, and is flat in all other directions (that $M^*$ itself does, as the talk says, "
        "is P1.T4.minimizer)",
        quantity=r"sine of the largest principal angle between $\mathrm{col}(B)$ and the leading $k$ "
        "singular vectors of pretrained $M$, median over seeds",
        rule=lambda case: (-inf, 0.1),
        grade=Grade.SAMPLED,
        quantifier="for each setting listed",
        depends_on=(_TOKENS, Choice("how near is near: the sine 0.1, after the training of this preset")),
        control=r"functions that depend on all $d$ directions, the same $B$",
        unit="in the sine",
    ),
    Claim(
        id="P1.T4.scale",
        authority=Authority.BOOK,
        source="pretraining reaches the exact optimum of the low-rank class",
        reading=r"Pretraining reaches $c^*BB^\top$ with the exact $c^*$",
        quantity=r"mean diagonal of $B^\top MB$ of pretrained $M$ divided by the exact $c^*$, median over "
        "seeds, within 3 %",
        rule=lambda case: (0.97, 1.03),
        grade=Grade.SAMPLED,
        quantifier="for each setting listed",
        depends_on=(_TOKENS,),
        unit="relative",
    ),
    Claim(
        id="P1.T4.dimension",
        authority=Authority.TALK,
        source="ITA slides, Results Part II: what the projection buys",
        quote=r"Interesting case: $k \ll d$, then learning col(B) drastically reduces ICL problem dimension",
        place="talk:411",
        reading=r"With the projection the least risk falls like $n^{-4/(k+3)}$, whatever $d$ is",
        quantity=r"slope of the log of the least risk in $\log n$ for $n$ large, exact, within 0.01",
        rule=lambda case: (-4 / (case["rank"] + 3) - 0.01, -4 / (case["rank"] + 3) + 0.01),
        resolution=lambda case: 2 / (case["rank"] + 3) - 2 / (case["rank"] + 4),  # half way to rank k + 1
        grade=Grade.EXTRAPOLATED,
        quantifier="for $n$ to infinity, for each $k$ listed",
        implied_by=("P1.T3.matched-sharp", "P1.T4.beyond"),
        depends_on=(_TOKENS,),
        control=r"an isotropic window, $e=c$: its slope is set by $d$",
        unit="in the exponent",
    ),
]
