"""Statements of paper 2 on how operations and memory grow with the size of the problem."""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Severity, Verdict
from icl_book.claims.paper2.sources import GRADIENT

CLAIMS: list[Claim] = [
    Claim(
        id="P2.scale.operations",
        source=f"{GRADIENT}, Lemmas 4.1 and C.8",
        statement=r"The gradient takes $O(n^2d+nd^2)$ operations with ordinary matrix products",
        quantity="exponent with which the counted operations of matrix products grow with $n=d$, between two "
        "sizes",
        rule=lambda case: (-inf, 3.0),
        resolution=0.01,
        control="the explicit Kronecker product, and the product block by block",
    ),
    Claim(
        id="P2.scale.memory",
        source="this book: streamed gradient and Hessian product",
        statement=r"Beside the data and $B$ they need $O(nd)$ memory",
        quantity="exponent with which the peak memory of a fresh process grows with $n$ at fixed $d$",
        rule=lambda case: (-inf, 1.1),
        resolution=0.05,
        control="the plain closed form, which holds several $n\\times n$ arrays",
    ),
]
