"""What we found, for the introduction and the README; every number is computed here or in a chapter."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial

README_BLOCK = re.compile(r"(<!-- findings:begin -->\n).*?(<!-- findings:end -->)", re.DOTALL)

Glued = Callable[[str], float]

DIM, LONG, NOISE = 5, 10**12, 0.5


def window(glued: Glued) -> str:
    """Compare the exact optimal window with its law."""
    from icl.risk import optimal_window
    from icl.risk.asymptotics import sharp_window
    from icl.tasks import Affine, ReLU

    relu, affine = (
        100 * abs(optimal_window(task, LONG, NOISE).w / sharp_window(task, LONG, NOISE) - 1)
        for task in (ReLU(DIM), Affine(DIM))
    )
    return (
        "**How narrow the attention window gets, exactly.** The best window grows like "
        "$(nL^2/\\sigma^2)^{2/(d+2)}$ for ReLU and like $(nL^2/\\sigma^2)^{2/(d+3)}$ for affine functions, "
        f"constants known; the talk prints a range from $1/d$ to $2/d$. At $d={DIM}$, $n=10^{{12}}$ the "
        f"exact windows are {relu:.1f} % and {affine:.2f} % away from these laws."
    )


def price(glued: Glued) -> str:
    """Compute what a wrong Lipschitz constant costs."""
    from icl.risk.asymptotics import mismatch_penalty
    from icl.tasks import ReLU

    half, twice = mismatch_penalty(ReLU(DIM), [2.0, 0.5])
    return (
        "**What the wrong Lipschitz constant costs.** A constant factor, never a rate. In long contexts, "
        f"$d={DIM}$, ReLU: pretraining on half the true $L$ multiplies the risk by {half:.2f}, "
        f"on twice the true $L$ by {twice:.2f}."
    )


def curvature(glued: Glued) -> str:
    """Compare the windows of two smooth classes with one Lipschitz constant."""
    from icl.risk import optimal_window
    from icl.tasks import Affine, Cosine

    wide, narrow = (optimal_window(cls(DIM, 4.0), LONG, NOISE).w for cls in (Affine, Cosine))
    return (
        "**Not the slope but the curvature.** The window of smooth functions follows their mean squared "
        f"Laplacian. With the same $L=4$, $d={DIM}$, $n=10^{{12}}$, the best $w$ for cosines is "
        f"{narrow / wide:.1f} times that for affine functions."
    )


def looseness(glued: Glued) -> str:
    """Compare a printed Lipschitz bound with the sharp one."""
    from icl.tensor_trick.lipschitz import LIPSCHITZ

    bound = next(b for b in LIPSCHITZ if b.function == "f")
    least, most = (bound.log10(32, R) - math.log10(R / 2) for R in (4.0, 6.0))
    return (
        "**How loose the bounds are.** The Lipschitz constant of one softmax regression is at most $R/2$, "
        "a proof of one line. The bound that a paper closely related to paper 2 prints is too large by "
        f"{least:.0f} powers of ten at $R=4$ and by {most:.0f} at $R=6$ ($n=32$)."
    )


def descent(glued: Glued) -> str:
    """Say what attention and gradient descent share."""
    return (
        "**What attention shares with gradient descent.** The residual, not the step. A softmax layer fitted "
        f"to one problem imitates a step (median cosine {glued('icl-own-1'):.2f}); one layer for all "
        f"problems does not ({glued('icl-shared'):.2f})."
    )


def gaussian(glued: Glued) -> str:
    """Compute where the window ends on Gaussian tokens."""
    from icl.risk import gaussian_window, optimal_window
    from icl.tasks import Linear

    short, long = gaussian_window(DIM, [100, 10**6], NOISE).w
    sphere = optimal_window(Linear(DIM), 10**6, NOISE).w
    return (
        "**What bounded tokens are good for.** On Gaussian tokens the window of linear functions stops "
        f"narrowing, $w^*\\to1$: at $d={DIM}$ it is {short:.2f} for $n=100$ and {long:.3f} for $n=10^6$, "
        f"where on the sphere it is {sphere:.0f}. Functions that are not harmonic keep a risk that no "
        "context removes."
    )


#: Each finding with the chapter that shows it.
FINDINGS: tuple[tuple[str, Callable[[Glued], str]], ...] = (
    ("theorem2_scaling", window),
    ("theorem3_generalization", price),
    ("phase_diagram", curvature),
    ("gaussian_tokens", gaussian),
    ("lipschitz_bounds", looseness),
    ("icl_as_gradient_descent", descent),
)


def markdown(runs: Iterable[Mapping], link: str) -> str:
    """Write the findings of the chapters that are given as a numbered list.

    Args:
        runs: What `icl_book.runner.record.collect` says of each executed notebook.
        link: How to link a chapter, with ``{name}`` for its name.

    Raises:
        ValueError: If a chapter did not glue a number that is needed.
    """
    numbers, lines = {run["name"]: run["numbers"] for run in runs}, []
    for name, finding in FINDINGS:
        if name in numbers:
            text = finding(partial(_glued, name, numbers[name]))
            lines.append(f"{len(lines) + 1}. {text} [Read on]({link.format(name=name)})")
    return "\n".join(lines) + "\n"


def readme(text: str, runs: Iterable[Mapping]) -> str:
    """Rewrite the findings in the README's text."""
    found = markdown(runs, "notebooks/{name}.ipynb")
    return README_BLOCK.sub(lambda m: m[1] + found + m[2], text)


def _glued(name: str, numbers: Mapping[str, float], key: str) -> float:
    """Return a number that a chapter glued."""
    if key not in numbers:
        raise ValueError(f"{name}: no number is glued as {key!r}")
    return float(numbers[key])
