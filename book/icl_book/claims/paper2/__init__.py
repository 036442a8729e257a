"""The registry of paper 2: "From Single Softmax Regression to Multiple Softmax Regression".

The full text of arXiv 2307.02419 was not among our sources. A claim therefore names what it was
read from: the abstract, which is the authors' own; sibling papers that restate a definition;
or a machine-written summary that quotes the paper.
"""

from __future__ import annotations

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Severity, Verdict
from icl_book.claims.paper2 import bounds, optimization, scaling, shift, tensor_trick

CLAIMS: list[Claim] = [
    *tensor_trick.CLAIMS,
    *bounds.CLAIMS,
    *shift.CLAIMS,
    *optimization.CLAIMS,
    *scaling.CLAIMS,
]
