"""Printed bounds on the building blocks of softmax regression, as data: factor * n^a * R^b * exp(c * R^2)."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Bound:
    """An upper bound as printed."""

    id: str  #: Last part of the claim's id, which also says where it is printed
    function: str  #: Which one it bounds, of `icl.tensor_trick.lipschitz.FUNCTIONS`
    tex: str  #: Mathematics without dollars
    powers: tuple[float, float, float, float]  #: Factor, a, b, c

    def log10(self, n: float, R: float) -> float:
        """Compute log10 of the bound; float64 itself overflows from R = 5."""
        factor, a, b, c = self.powers
        return (
            math.log10(factor)
            + a * math.log10(n)
            + b * math.log10(R)
            + c * R**2 / math.log(10)
        )


# Sources: arXiv 2306.14048, App. D.48, restating Lemma 7.2 of arXiv 2304.10411 (u, and alpha by the square
# root of n); arXiv 2309.07418, Lemma E.5, parts 1 to 3 and their proofs (the others), and Lemma E.4 (sizes).

#: "The Lipschitz constant of this function is at most."
LIPSCHITZ = (
    Bound("u", "u", r"2\sqrt{n}\,R\,e^{R^2}", (2, 0.5, 1, 1)),
    Bound("u-sibling", "u", r"\sqrt{n}\,e^{2R^2}", (1, 0.5, 0, 2)),
    Bound("u-proof", "u", r"\sqrt{n}\,R\,e^{R^2}", (1, 0.5, 1, 1)),
    Bound("alpha", "alpha", r"2n\,R\,e^{R^2}", (2, 1, 1, 1)),
    Bound("inverse", "1/alpha", r"n\,e^{4R^2}", (1, 1, 0, 4)),
    Bound("f", "f", r"n^{1.5}R\,e^{6R^2}", (1, 1.5, 1, 6)),
    Bound("f-proof", "f", r"n^{1.5}e^{6R^2}", (1, 1.5, 0, 6)),
)

#: "The largest value is at most"; the norm of a vector, the value of a number.
SIZES = (
    Bound("u", "u", r"\sqrt{n}\,e^{R^2}", (1, 0.5, 0, 1)),
    Bound("alpha", "alpha", r"n\,e^{R^2}", (1, 1, 0, 1)),
    Bound("inverse", "1/alpha", r"e^{R^2}", (1, 0, 0, 1)),
    Bound("f", "f", "1", (1, 0, 0, 0)),
)
