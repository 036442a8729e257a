"""The registry of paper 1: "Softmax Attention Adapts to Function Lipschitzness".

One module for each topic; here they are put in order. Rules speak about exponents wherever the
paper prints an order (Omega, O, Theta): an order is a statement about the local slope on
logarithmic axes, ends included.
"""

from __future__ import annotations

from importlib import import_module

from icl_book.claims.claim import Alternative, Authority, Choice, Claim, Grade, Severity, Verdict

TOPICS = (
    "window",
    "theorem2",
    "theorem3",
    "linear",
    "theorem4",
    "phases",
    "out_of_reach",
    "trained",
    "learned",
    "beyond",
)

CLAIMS: list[Claim] = [c for topic in TOPICS for c in import_module(f"{__name__}.{topic}").CLAIMS]
