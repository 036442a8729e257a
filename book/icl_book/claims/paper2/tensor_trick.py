"""Statements of paper 2 on the tensor trick itself, its losses and what it costs.

Formulas that our notes on other papers have wrong by a letter are judged here too: suspected misprints, and
none of paper 2.
"""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Severity, Verdict
from icl_book.claims.paper2.sources import ABSTRACT, GRADIENT, H2O, SIBLING, SUMMARY, TLDR, identity

_DIFFERENCE = (
    "largest difference of the two sides in units of the largest number summed, float64; 1e-12 is allowed "
    "for rounding"
)
_IDENTITY = identity(1e-12)

#: Bytes to which the operating system's count of pages is good.
_PAGES = 2.0**20


def _printed(case: dict) -> tuple[float, float]:
    """Permit the printed formula rounding, and the repaired one anything else."""
    return (-inf, 1e-12) if case["which"] == "printed" else (1e-12, inf)


def _repaired(case: dict) -> tuple[float, float]:
    """Permit the repaired formula rounding, and the printed one anything else."""
    return (1e-12, inf) if case["which"] == "printed" else (-inf, 1e-12)


def _pages(case: dict) -> float:
    """Return what a peak is good to, in units of the explicit product's bytes."""
    return _PAGES / (8 * case["n"] ** 2 * case["d"] ** 2)


#: What the three misprints share.
_MISPRINT = {
    "authority": Authority.OTHER,
    "rule": _printed,
    "corrected_rule": _repaired,
    "expected": Verdict.CORRECTED,
    "grade": Grade.IDENTITY,
    "quantifier": "for all data; refuted by random ones",
    "unit": "relative",
}
_NOTES = "the formula as our notes on that paper have it; the papers were not among our sources"
_SLIP = Alternative("the slip is in our notes, and the paper has the repaired formula", late=True)

CLAIMS: list[Claim] = [
    Claim(
        id="P2.trick",
        authority=Authority.OTHER,
        source=f"{SIBLING}, pp. 3 and 20, which cites paper 2 for it",
        quote=r"$X_{i,j}=\mathrm{vec}(X)_{(i-1)d+j}$ [...] "
        r"$\mathrm{vec}(A_1XA_2^\top)=(A_1\otimes A_2)\mathrm{vec}(X)$",
        place="notes2:27",
        quantity=_DIFFERENCE,
        control="vec reads columns, as in many textbooks, and the factors stay in this order",
        **_IDENTITY,
    ),
    Claim(
        id="P2.blocks",
        authority=Authority.OTHER,
        source=f"{SIBLING}, Remark 3.1, and {GRADIENT}, Fact 3.9",
        quote=r"$A_jx=A_2X^\top A_1[j,:]^\top$",
        place="notes2:29",
        reading=r"Cut $A_1\otimes A_2$ into $n$ blocks $\mathsf A_j\in\mathbb R^{n\times d^2}$ of "
        r"consecutive rows. Then $\mathsf A_j\,\mathrm{vec}(X)$ is row $j$ of $A_1XA_2^\top$",
        quantity=_DIFFERENCE,
        control="every n-th row instead of consecutive rows",
        implied_by=("P2.trick",),
        **_IDENTITY,
    ),
    Claim(
        id="P2.normalized",
        authority=Authority.TEXT,
        source=f"{ABSTRACT}, normalized version",
        quote=r"Normalized version $\min_{X} \| D(X)^{-1} \exp(A_1 X A_2^\top) - B \|_F^2$ [...] "
        r"$D(X) := \mathrm{diag}( \exp(A_1 X A_2^\top) {\bf 1}_n )$ [...] "
        "resembling the formulation of the regression problem mentioned earlier",
        place="abstract2:1",
        reading=r"$\Vert D(X)^{-1}\exp(A_1XA_2^\top)-B\Vert_F^2=\sum_j\Vert\langle\exp(\mathsf A_jx),1_n"
        r"\rangle^{-1}\exp(\mathsf A_jx)-b_j\Vert_2^2$: a sum of single normalized regressions in "
        r"$x=\mathrm{vec}(X)$",
        quantity=_DIFFERENCE,
        depends_on=(Choice('"resembling" is taken as "equal to the sum over rows of"'),),
        control="targets $b_j$ read as columns of $B$; and one normalization for the whole matrix",
        **_IDENTITY,
    ),
    Claim(
        id="P2.rescaled",
        authority=Authority.TEXT,
        source=f"{ABSTRACT}, rescaled version",
        quote=r"Rescaled version $\| \exp(A_1 X A_2^\top) - D(X) \cdot B \|_F^2$ [...] "
        "resembling the formulation of the regression problem mentioned earlier",
        place="abstract2:1",
        reading=r"$\Vert\exp(A_1XA_2^\top)-D(X)\,B\Vert_F^2=\sum_j\Vert\exp(\mathsf A_jx)-"
        r"\langle\exp(\mathsf A_jx),1_n\rangle\,b_j\Vert_2^2$: a sum of single rescaled regressions",
        quantity=_DIFFERENCE,
        depends_on=(Choice('"resembling" is taken as "equal to the sum over rows of"'),),
        control="targets $b_j$ read as columns of $B$; and one normalization for the whole matrix",
        **_IDENTITY,
    ),
    Claim(
        id="P2.gradient",
        authority=Authority.OTHER,
        source=f"{GRADIENT}, Lemma C.7",
        quote=r"$dL/dX=A_1^\top PA_2$",
        place="notes2:50",
        reading=r"The gradient of the loss in $X$ is $A_1^\top PA_2$, where row $j$ of $P$ is the gradient "
        r"in the logits $\mathsf A_jx$, for each of the five losses",
        quantity=_DIFFERENCE + "; the other side is autograd through the explicit Kronecker product",
        depends_on=(Choice("the row gradients are the rows of $P$, as that paper has them"),),
        control="P transposed: its columns filled instead of its rows",
        **_IDENTITY,
    ),
    Claim(
        id="P2.five",
        authority=Authority.BOOK,
        source="this book: the other three losses, row by row",
        reading="With the sparse loss as in arXiv 2306.14048, App. D.41, and the cross-entropy and the "
        "entropy "
        r"by our definition: the loss of the matrix problem is the sum over $j$ of that of $\exp(\mathsf "
        r"A_jx)$",
        quantity=_DIFFERENCE,
        control="targets read as columns of B, or one normalization for the whole matrix",
        implied_by=("P2.blocks",),
        **_IDENTITY,
    ),
    Claim(
        id="P2.hvp",
        authority=Authority.BOOK,
        source="this book: Hessian product in closed form",
        reading=r"$\nabla^2L[V]=A_1^\top WA_2$, where $W$ is the derivative of $P$ along $A_1VA_2^\top$",
        quantity=_DIFFERENCE + "; the other side is forward-over-reverse autograd through the explicit "
        "Kronecker product",
        control="the direction transposed",
        implied_by=("P2.gradient",),
        **_IDENTITY,
    ),
    Claim(
        id="P2.hessian",
        authority=Authority.BOOK,
        source="this book: the Hessian from its blocks",
        reading=r"$\nabla^2L=\sum_j\mathsf A_j^\top H_j\mathsf A_j=\sum_j\big(a_ja_j^\top\big)\otimes"
        r"\big(A_2^\top H_jA_2\big)$ with $a_j=A_1[j,:]$ and $H_j$ the Hessian of row $j$ in its "
        r"scores",
        quantity=_DIFFERENCE + "; the other side is assembled from Hessian products",
        control="only the diagonals of the row Hessians kept",
        implied_by=("P2.hvp",),
        **_IDENTITY,
    ),
    Claim(
        id="P2.identifiable",
        authority=Authority.BOOK,
        source="this book: directions the data cannot see",
        reading="If $1_n$ is in the column space of $A_2$, the normalized, cross-entropy and entropy "
        "losses determine $d^2-d$ of the $d^2$ unknowns, the rescaled and sparse ones all",
        quantity=r"rank of the Hessian at a random $X$, which no special $X$ exceeds",
        rule=lambda case: (case["d"] ** 2 - (case["d"] if case["invisible"] else 0),) * 2,
        grade=Grade.EXACT,
        quantifier="for almost all data of each size tried",
        control=r"a constant column in $A_1$ instead of $A_2$",
        unit="in the rank",
    ),
    Claim(
        id="P2.misprint.sign",
        source=f"suspected misprint in {H2O}, App. D.44, part 5, from notes",
        quote=r"$+f(f-b)^\top f$",
        place="notes2:146",
        reading=r"In our notes: $\nabla\frac12\Vert f-b\Vert^2=A^\top\big(f\circ(f-b)+f\,(f-b)^\top f\big)$",
        quantity=_DIFFERENCE + "; the other side is autograd",
        corrected=r"If our notes are right, $\nabla\frac12\Vert f-b\Vert^2=A^\top\big(f\circ(f-b)-"
        r"f\,(f-b)^\top f\big)$, the sign that they have for the sibling papers",
        depends_on=(
            Choice(_NOTES + ", read twice by OCR", (_SLIP,)),
            Choice(
                "the loss carries the factor 1/2, and the formula is its gradient",
                (Alternative("the loss without the factor 1/2"), Alternative("minus the gradient")),
            ),
        ),
        severity=Severity.TYPO,
        **_MISPRINT,
    ),
    Claim(
        id="P2.misprint.factors",
        source=f"suspected misprint in {GRADIENT}, Lemma D.5, from notes",
        quote=r"$U_4=U_1,V_4=\mathrm{diag}(r)V_1$",
        place="notes2:149",
        reading=r"In our notes: if $f=U_1V_1^\top$, then $p_2=\mathrm{diag}(r)f=U_4V_4^\top$ with $U_4=U_1$, "
        r"$V_4=\mathrm{diag}(r)V_1$",
        quantity=_DIFFERENCE,
        corrected=r"If our notes are right, $U_4=\mathrm{diag}(r)U_1$, $V_4=V_1$. (The noted factors give "
        r"$f\,\mathrm{diag}(r)$.) That the product is of low rank, which the lemma is for, holds either way",
        depends_on=(
            Choice(_NOTES, (Alternative("$f$ stored by columns: $f^\\top=U_1V_1^\\top$"), _SLIP)),
            Choice(
                "the product is exact, while the paper approximates $f$",
                (Alternative("up to 1 % of the largest number summed", lambda case: (-inf, 0.01)),),
            ),
        ),
        severity=Severity.TYPO,
        **_MISPRINT,
    ),
    Claim(
        id="P2.misprint.hessian",
        source=f"suspected misprint in {SIBLING}, Def. D.3, from notes",
        quote=r"$(1-\gamma)c\,\mathrm{diag}(f\circ v)$ [...] $-(2\gamma+c)$",
        place="notes2:147",
        reading=r"In our notes: the Hessian of $\frac12(\gamma-e)^2$, $\gamma=\langle f,v\rangle$, "
        r"$c=\gamma-e$, in the scores is $(1-\gamma)c\,\mathrm{diag}(f\circ v)-(2\gamma+c)\big((f\circ "
        r"v)f^\top+f(f\circ v)^\top\big)+(2\gamma c+\gamma^2)ff^\top+(f\circ v)(f\circ v)^\top$",
        quantity=_DIFFERENCE + "; the other side is autograd",
        corrected=r"If our notes are right, the first term is $c\,(\mathrm{diag}(f\circ v)-"
        r"\gamma\,\mathrm{diag}f)$ and the coefficient of the second $-(\gamma+c)$; the rest stands",
        depends_on=(
            Choice(
                _NOTES + "; they give the two terms that differ and the repaired formula, which fixes the "
                "letters, and the other terms are taken from it",
                (
                    Alternative("only the first term as printed"),
                    Alternative("only the coefficient as printed"),
                    _SLIP,
                ),
            ),
            Choice("the loss carries the factor 1/2", (Alternative("the loss without its factor 1/2"),)),
        ),
        severity=Severity.CONSTANT,
        **_MISPRINT,
    ),
    Claim(
        id="P2.dimension",
        authority=Authority.TEXT,
        source=ABSTRACT,
        quote="This approach expands the dimension from $d$ to $d^2$",
        place="abstract2:1",
        quantity="number of unknowns that the data determine: the rank of the explicit Kronecker product",
        rule=lambda case: (case["d"] ** 2,) * 2,
        grade=Grade.EXACT,
        quantifier="for almost all data with $n\\ge d$ of each size tried",
        depends_on=(Choice('"dimension" is the number of unknowns of the regression'),),
        cannot_fail="the rank of a Kronecker product is the product of the ranks",
        control="fewer tokens than dimensions, $n < d$: the data determine only $n^2$ combinations",
        unit="in the rank",
    ),
    Claim(
        id="P2.memory",
        authority=Authority.SUMMARY,
        source=f"{SUMMARY}, Limitations",
        quote="The tensor trick increases dimensionality from d to d², which may be computationally "
        "prohibitive for large-scale attention mechanisms.",
        place="summary2:122",
        reading="Taken literally, as a product with the explicit $A_1\\otimes A_2$, the trick costs its "
        "$n^2d^2$ numbers",
        quantity="peak memory of eight fresh processes that multiply by the explicit Kronecker product, in "
        "units of $8 n^2 d^2$ bytes; from 1 to 1.1 is allowed, and 1 MiB either way, since pages are counted "
        "in batches",
        rule=lambda case: (1 - _pages(case), 1.1 + _pages(case)),
        grade=Grade.MEASURED,
        quantifier="at each size tried",
        depends_on=(Choice('"prohibitive" is taken as "the whole matrix is held", not as a threshold'),),
        control=r"the same logits computed as $A_1XA_2^\top$, which never forms the product",
        unit="relative",
    ),
    Claim(
        id="P2.letters",
        authority=Authority.SUMMARY,
        source=TLDR,
        quote="Lipschitz constants for all building blocks (u, alpha, f, h, c, q) and their A-variants",
        place="tldr2:1",
        expected=Verdict.NOT_TESTABLE,
        why_not="the definitions of h and q and the constants themselves are in none of our sources",
    ),
]
