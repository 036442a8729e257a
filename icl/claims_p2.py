"""The registry of paper 2: "From Single Softmax Regression to Multiple Softmax Regression".

The full text of arXiv 2307.02419 was not among our sources. A claim therefore names what it was
read from: the abstract, which is the authors' own; sibling papers that restate a definition;
or a machine-written summary that quotes the paper.
"""

from __future__ import annotations

from icl.claims import Claim, Verdict

_ABSTRACT = "abstract of arXiv 2307.02419"
_SUMMARY = "machine-written summary of arXiv 2307.02419"
_SIBLING = "sibling paper arXiv 2309.07418"
_GRADIENT = "sibling paper arXiv 2402.04497"

#: An identity is measured by the difference of its two sides; it permits zero and nothing else.
_IDENTITY = {"rule": lambda case: (0.0, 0.0), "resolution": 1e-9}

_DIFFERENCE = ("largest difference of the two sides in units of the largest number summed, float64, "
               "good to the chapter's tolerance")

CLAIMS: list[Claim] = [
    Claim(
        id="P2.trick",
        source=f"{_SIBLING}, pp. 3 and 20 (the trick is also in the {_SUMMARY}, Mechanism 2)",
        statement=r"$\mathrm{vec}(A_1XA_2^\top)=(A_1\otimes A_2)\,\mathrm{vec}(X)$, where "
                  r"$\mathrm{vec}(X)_{(i-1)d+j}=X_{i,j}$",
        quantity=_DIFFERENCE,
        control="vec reads columns, as in many textbooks, and the factors stay in this order",
        **_IDENTITY,
    ),
    Claim(
        id="P2.blocks",
        source=f"{_SIBLING}, Remark 3.1, and {_GRADIENT}, Fact 3.9",
        statement=r"Cut $A_1\otimes A_2$ into $n$ blocks $\mathsf A_j\in\mathbb R^{n\times d^2}$ of "
                  r"consecutive rows. Then $\mathsf A_j\,\mathrm{vec}(X)$ is row $j$ of $A_1XA_2^\top$",
        quantity=_DIFFERENCE,
        control="every n-th row instead of consecutive rows",
        **_IDENTITY,
    ),
    Claim(
        id="P2.normalized",
        source=f"{_ABSTRACT}, normalized version, and {_SIBLING}, Def. 1.3",
        statement=r"$\Vert D(X)^{-1}\exp(A_1XA_2^\top)-B\Vert_F^2=\sum_j\Vert\langle\exp(\mathsf A_jx),1_n"
                  r"\rangle^{-1}\exp(\mathsf A_jx)-b_j\Vert_2^2$",
        quantity=_DIFFERENCE,
        control="targets b_j read as columns of B; and one normalization for the whole matrix",
        **_IDENTITY,
    ),
    Claim(
        id="P2.rescaled",
        source=f"{_ABSTRACT}, rescaled version, and {_SIBLING}, Def. 1.3",
        statement=r"$\Vert\exp(A_1XA_2^\top)-D(X)\,B\Vert_F^2=\sum_j\Vert\exp(\mathsf A_jx)-"
                  r"\langle\exp(\mathsf A_jx),1_n\rangle\,b_j\Vert_2^2$",
        quantity=_DIFFERENCE,
        control="targets b_j read as columns of B; and one normalization for the whole matrix",
        **_IDENTITY,
    ),
    Claim(
        id="P2.gradient",
        source=f"{_GRADIENT}, Lemma C.7, and {_SIBLING}, Lemma B.4",
        statement=r"The gradient of the loss in $X$ is $A_1^\top PA_2$, where row $j$ of $P$ is the gradient "
                  r"in the logits $\mathsf A_jx$",
        quantity=_DIFFERENCE + "; the other side is autograd through the explicit Kronecker product",
        control="P transposed (its columns filled instead of its rows); and the sign turned",
        **_IDENTITY,
    ),
    Claim(
        id="P2.dimension",
        source=_ABSTRACT,
        statement=r"The vectorization expands the dimension from $d$ to $d^2$",
        quantity="number of unknowns that the data determine: the rank of the explicit Kronecker product",
        rule=lambda case: (case["d"] ** 2,) * 2,
        control="fewer tokens than dimensions, n < d: the data determine only n^2 combinations",
    ),
    Claim(
        id="P2.x",
        source=f"{_SUMMARY}, Mechanism 1, quoting the paper",
        statement=r"$x\in\mathbb R^{d^2}$ can be considered as the vectorization of $A_1$ and $A_2$",
        quantity="number of entries x must have for the Kronecker product to act on it",
        rule=lambda case: (2 * case["n"] * case["d"],) * 2,
        expected=Verdict.CORRECTED,
        corrected=r"$x=\mathrm{vec}(X)$, which has $d^2$ entries; $A_1$ and $A_2$ (together $2nd$ entries) "
                  r"are the data and stay fixed while $x$ is trained",
        corrected_rule=lambda case: (case["d"] ** 2,) * 2,
        control="the vectorization of A1 and A2 offered as x",
    ),
    Claim(
        id="P2.memory",
        source=f"{_SUMMARY}, Limitations",
        statement=r"The tensor trick increases dimensionality from $d$ to $d^2$, which may be "
                  r"computationally prohibitive",
        quantity="peak memory of a fresh process that multiplies by the explicit Kronecker product, in units "
                 "of 8 n^2 d^2 bytes; 1 means that the whole matrix and nothing else of that size is held",
        rule=lambda case: (1.0, 1.1),
        resolution=0.2,
        control="the same logits computed as A1 X A2', which never forms the product",
    ),
    Claim(
        id="P2.letters",
        source="machine-written abstract (TL;DR) of arXiv 2307.02419 on sciencestack.ai",
        statement=r"Lipschitz constants for all building blocks $u,\alpha,f,h,c,q$, "
                  r"and the same as functions of $A$",
        expected=Verdict.NOT_TESTABLE,
        why_not="the definitions of h and q and the constants themselves are in none of our sources",
    ),
]
