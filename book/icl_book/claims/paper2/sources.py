"""What the modules of the second paper's claims share: names of sources, and rules that recur."""

from __future__ import annotations

from math import inf

from icl_book.claims.claim import Grade

ABSTRACT = "abstract of arXiv 2307.02419"
SUMMARY = "machine-written summary of arXiv 2307.02419"
SIBLING = "sibling paper arXiv 2309.07418"
GRADIENT = "sibling paper arXiv 2402.04497"
TLDR = "machine-written TL;DR of arXiv 2307.02419 on sciencestack.ai"
H2O = "arXiv 2306.14048"
CLOSENESS = "arXiv 2304.13276"


def identity(tolerance: float) -> dict:
    """Return the fields of an identity: the relative difference of its sides is rounding, and nothing else.

    Args:
        tolerance: Largest relative difference that counts as rounding.
    """

    def within(case: dict) -> tuple[float, float]:
        return (0.0, tolerance)

    return {"rule": within, "grade": Grade.IDENTITY, "unit": "relative"}


#: Evidence about an upper bound is log10(largest value / bound): zero is the limit.
BELOW = {"rule": lambda case: (-inf, 0.0), "unit": "decades, the slack of the tightest bound"}
