"""The registry of paper 1: "Softmax Attention Adapts to Function Lipschitzness".

One module for each topic; here they are put in order. Rules speak about exponents wherever the
paper prints an order (Omega, O, Theta): an order is a statement about the local slope on
logarithmic axes, ends included.
"""

from __future__ import annotations

from icl_book.claims.claim import Claim
from icl_book.claims.paper1 import (
    beyond,
    gaussian,
    generalization,
    learned,
    linear,
    out_of_reach,
    phases,
    theorem2,
    theorem3,
    theorem4,
    trained,
    window,
)

CLAIMS: list[Claim] = [
    *window.CLAIMS,
    *theorem2.CLAIMS,
    *theorem3.CLAIMS,
    *generalization.CLAIMS,
    *linear.CLAIMS,
    *theorem4.CLAIMS,
    *phases.CLAIMS,
    *gaussian.CLAIMS,
    *out_of_reach.CLAIMS,
    *trained.CLAIMS,
    *learned.CLAIMS,
    *beyond.CLAIMS,
]
