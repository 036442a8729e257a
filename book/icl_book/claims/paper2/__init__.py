"""The registry of paper 2: "From Single Softmax Regression to Multiple Softmax Regression".

The full text of arXiv 2307.02419 was not among our sources. Its authors' own words are its abstract, and a
lemma that a later paper cites. Everything else is said by other papers, by a machine-written summary, or by
this book, and counts as theirs.
"""

from __future__ import annotations

from icl_book.claims.claim import Claim
from icl_book.claims.paper2 import bounds, optimization, scaling, shift, tensor_trick

CLAIMS: list[Claim] = [
    *tensor_trick.CLAIMS,
    *bounds.CLAIMS,
    *shift.CLAIMS,
    *optimization.CLAIMS,
    *scaling.CLAIMS,
]
