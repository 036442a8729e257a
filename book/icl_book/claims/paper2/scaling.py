"""Statements of paper 2 on how operations and memory grow with the size of the problem."""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Authority, Choice, Claim, Grade
from icl_book.claims.paper2.sources import GRADIENT

CLAIMS: list[Claim] = [
    Claim(
        id="P2.scale.operations",
        authority=Authority.OTHER,
        source=f"{GRADIENT}, Lemmas 4.1 and C.8",
        quote=r"$O(T_{\rm mat}(n,d,n)+T_{\rm mat}(n,d,d))=O(n^2d+nd^2)$",
        place="notes2:118",
        reading=r"The gradient takes $O(n^2d+nd^2)$ operations with ordinary matrix products",
        quantity="exponent with which the counted operations of matrix products grow, between two sizes: at "
        "most 3 in $n=d$, 2 in $n$ at fixed $d$ and 2 in $d$ at fixed $n$; 1e-9 is allowed for rounding",
        rule=lambda case: (-inf, (3.0 if case["growing"] == "n = d" else 2.0) + 1e-9),
        grade=Grade.EXACT,
        quantifier="in the limit; exponents between two sizes",
        depends_on=(Choice("only operations in matrix products are counted, and ordinary products"),),
        control="the explicit Kronecker product, and the product block by block",
        unit="in the exponent",
    ),
    Claim(
        id="P2.scale.memory",
        authority=Authority.BOOK,
        source="this book: streamed gradient and Hessian product",
        reading=r"Beside the data and $B$ they need $O(nd)$ memory",
        quantity="exponent with which the peak memory of a fresh process grows with $n$ at fixed $d$, "
        "eight times; 1, and 0.1 for the measurement",
        rule=lambda case: (-inf, 1.1),
        grade=Grade.MEASURED,
        quantifier="in the limit; the exponent between two sizes",
        control="the plain closed form, which holds several $n\\times n$ arrays",
        unit="in the exponent",
    ),
]
