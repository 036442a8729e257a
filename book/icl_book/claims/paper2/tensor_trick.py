"""Statements of paper 2 on the tensor trick itself, its losses and what it costs."""

from __future__ import annotations

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Severity, Verdict
from icl_book.claims.paper2.sources import GRADIENT, H2O, IDENTITY, SIBLING, SUMMARY, TLDR

_ABSTRACT = "abstract of arXiv 2307.02419"
_DIFFERENCE = (
    "largest difference of the two sides in units of the largest number summed, float64, "
    "good to the chapter's tolerance"
)

CLAIMS: list[Claim] = [
    Claim(
        id="P2.trick",
        source=f"{SIBLING}, pp. 3 and 20 (the trick is also in the {SUMMARY}, Mechanism 2)",
        statement=r"$\mathrm{vec}(A_1XA_2^\top)=(A_1\otimes A_2)\,\mathrm{vec}(X)$, where "
        r"$\mathrm{vec}(X)_{(i-1)d+j}=X_{i,j}$",
        quantity=_DIFFERENCE,
        control="vec reads columns, as in many textbooks, and the factors stay in this order",
        **IDENTITY,
    ),
    Claim(
        id="P2.blocks",
        source=f"{SIBLING}, Remark 3.1, and {GRADIENT}, Fact 3.9",
        statement=r"Cut $A_1\otimes A_2$ into $n$ blocks $\mathsf A_j\in\mathbb R^{n\times d^2}$ of "
        r"consecutive rows. Then $\mathsf A_j\,\mathrm{vec}(X)$ is row $j$ of $A_1XA_2^\top$",
        quantity=_DIFFERENCE,
        control="every n-th row instead of consecutive rows",
        **IDENTITY,
    ),
    Claim(
        id="P2.normalized",
        source=f"{_ABSTRACT}, normalized version, and {SIBLING}, Def. 1.3",
        statement=r"$\Vert D(X)^{-1}\exp(A_1XA_2^\top)-B\Vert_F^2=\sum_j\Vert\langle\exp(\mathsf A_jx),1_n"
        r"\rangle^{-1}\exp(\mathsf A_jx)-b_j\Vert_2^2$",
        quantity=_DIFFERENCE,
        control="targets $b_j$ read as columns of $B$; and one normalization for the whole matrix",
        **IDENTITY,
    ),
    Claim(
        id="P2.rescaled",
        source=f"{_ABSTRACT}, rescaled version, and {SIBLING}, Def. 1.3",
        statement=r"$\Vert\exp(A_1XA_2^\top)-D(X)\,B\Vert_F^2=\sum_j\Vert\exp(\mathsf A_jx)-"
        r"\langle\exp(\mathsf A_jx),1_n\rangle\,b_j\Vert_2^2$",
        quantity=_DIFFERENCE,
        control="targets $b_j$ read as columns of $B$; and one normalization for the whole matrix",
        **IDENTITY,
    ),
    Claim(
        id="P2.gradient",
        source=f"{GRADIENT}, Lemma C.7, and {SIBLING}, Lemma B.4",
        statement=r"The gradient of the loss in $X$ is $A_1^\top PA_2$, where row $j$ of $P$ is the gradient "
        r"in the logits $\mathsf A_jx$",
        quantity=_DIFFERENCE + "; the other side is autograd through the explicit Kronecker product",
        control="P transposed (its columns filled instead of its rows); and the sign turned",
        **IDENTITY,
    ),
    Claim(
        id="P2.five",
        source=f"names of the losses from the {SUMMARY}, Mechanism 3; sparse as in {H2O}, App. D.41; "
        "cross-entropy and entropy by our definition",
        statement="The sparse, cross-entropy and entropy losses of the matrix problem are sums over $j$ of "
        r"those of $\exp(\mathsf A_jx)$",
        quantity=_DIFFERENCE,
        control="targets read as columns of B, or one normalization for the whole matrix",
        **IDENTITY,
    ),
    Claim(
        id="P2.hvp",
        source="this book: Hessian product in closed form",
        statement=r"$\nabla^2L[V]=A_1^\top WA_2$, where $W$ is the derivative of $P$ along $A_1VA_2^\top$",
        quantity=_DIFFERENCE + "; the other side is forward-over-reverse autograd through the explicit "
        "Kronecker product",
        control="the direction transposed",
        **IDENTITY,
    ),
    Claim(
        id="P2.hessian",
        source="this book: the Hessian from its blocks",
        statement=r"$\nabla^2L=\sum_j\mathsf A_j^\top H_j\mathsf A_j=\sum_j\big(a_ja_j^\top\big)\otimes"
        r"\big(A_2^\top H_jA_2\big)$ with $a_j=A_1[j,:]$ and $H_j$ the Hessian of row $j$ in its "
        r"scores",
        quantity=_DIFFERENCE + "; the other side is assembled from Hessian products",
        control="only the diagonals of the row Hessians kept",
        **IDENTITY,
    ),
    Claim(
        id="P2.identifiable",
        source="this book: directions the data cannot see",
        statement="If $1_n$ is in the column space of $A_2$, the normalized, cross-entropy and entropy "
        "losses determine $d^2-d$ of the $d^2$ unknowns, the rescaled and sparse ones all",
        quantity=r"rank of the Hessian at a random $X$",
        rule=lambda case: (case["d"] ** 2 - (case["d"] if case["invisible"] else 0),) * 2,
        control=r"a constant column in $A_1$ instead of $A_2$",
    ),
    Claim(
        id="P2.misprint.sign",
        source=f"{H2O}, App. D.44, part 5",
        statement=r"$\nabla\frac12\Vert f-b\Vert^2=A^\top\big(f\circ(f-b)+f\,(f-b)^\top f\big)$",
        quantity=_DIFFERENCE + "; the other side is autograd",
        expected=Verdict.FAILS,
        control="the same with a minus sign",
        **IDENTITY,
    ),
    Claim(
        id="P2.misprint.factors",
        source=f"{GRADIENT}, Lemma D.5",
        statement=r"If $f=U_1V_1^\top$, then $\mathrm{diag}(r)f=U_4V_4^\top$ with $U_4=U_1$, "
        r"$V_4=\mathrm{diag}(r)V_1$",
        quantity=_DIFFERENCE,
        expected=Verdict.FAILS,
        control=r"$U_4=\mathrm{diag}(r)U_1$, $V_4=V_1$",
        **IDENTITY,
    ),
    Claim(
        id="P2.dimension",
        source=_ABSTRACT,
        statement=r"The vectorization expands the dimension from $d$ to $d^2$",
        quantity="number of unknowns that the data determine: the rank of the explicit Kronecker product",
        rule=lambda case: (case["d"] ** 2,) * 2,
        control="fewer tokens than dimensions, $n < d$: the data determine only $n^2$ combinations",
    ),
    Claim(
        id="P2.x",
        source=f"{SUMMARY}, Mechanism 1, quoting the paper",
        statement=r"$x\in\mathbb R^{d^2}$ can be considered as the vectorization of $A_1$ and $A_2$",
        quantity="number of entries x must have for the Kronecker product to act on it",
        rule=lambda case: (2 * case["n"] * case["d"],) * 2,
        expected=Verdict.CORRECTED,
        corrected=r"$x=\mathrm{vec}(X)$, which has $d^2$ entries; $A_1$ and $A_2$ (together $2nd$ entries) "
        r"are the data and stay fixed while $x$ is trained",
        corrected_rule=lambda case: (case["d"] ** 2,) * 2,
        control="the vectorization of $A_1$ and $A_2$ offered as $x$",
    ),
    Claim(
        id="P2.memory",
        source=f"{SUMMARY}, Limitations",
        statement=r"The tensor trick increases dimensionality from $d$ to $d^2$, which may be "
        r"computationally prohibitive",
        quantity="peak memory of a fresh process that multiplies by the explicit Kronecker product, in units "
        "of $8 n^2 d^2$ bytes; 1 means that the whole matrix and nothing else of that size is held",
        rule=lambda case: (1.0, 1.1),
        resolution=0.2,
        control=r"the same logits computed as $A_1XA_2^\top$, which never forms the product",
    ),
    Claim(
        id="P2.letters",
        source=TLDR,
        statement=r"Lipschitz constants for all building blocks $u,\alpha,f,h,c,q$, "
        r"and the same as functions of $A$",
        expected=Verdict.NOT_TESTABLE,
        why_not="the definitions of h and q and the constants themselves are in none of our sources",
    ),
]
