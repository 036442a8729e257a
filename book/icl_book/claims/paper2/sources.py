"""What the modules of the second paper's claims share: names of sources, and rules that recur."""

from __future__ import annotations

from math import inf

SUMMARY = "machine-written summary of arXiv 2307.02419"
SIBLING = "sibling paper arXiv 2309.07418"
GRADIENT = "sibling paper arXiv 2402.04497"
TLDR = "machine-written abstract (TL;DR) of arXiv 2307.02419 on sciencestack.ai"
H2O = "arXiv 2306.14048"
CLOSENESS = "arXiv 2304.13276"

#: An identity is measured by the difference of its two sides; it permits zero and nothing else.
IDENTITY = {"rule": lambda case: (0.0, 0.0), "resolution": 1e-9}

#: Evidence about an upper bound is log10(largest value found / bound): zero is the limit.
BELOW = {"rule": lambda case: (-inf, 0.0), "resolution": 0.01}

#: How a control makes an upper bound too small.
HALF = "a planted misprint: half of the true constant in place of the printed bound"
