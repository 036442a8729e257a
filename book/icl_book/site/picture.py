"""The introduction's picture: exact risk against the window parameter, and its minimum."""

from __future__ import annotations

from pathlib import Path

FIGURE = r"""```{{figure}} {file}
---
name: fig-tradeoff
alt: >-
  {alt}
---
Exact mean squared error of one attention unit, in squared label units, against the window parameter $w$.
Narrowing the window raises the noise and, at first, lowers the bias (in the end so few neighbors count that
the differences among them do not average out). Pretraining looks for the minimum of the sum: for affine
functions, $d = {d}$, $n = {n}$, $L = {L:g}$, $\sigma = {sigma:g}$ it is marked. Where scripts run, the
controls change all of these, and the page computes the curves again.
```

```{{raw}} html
{live}</div>
```
"""


def markdown(path: Path) -> str:
    """Draw the picture as SVG at ``path`` and return the figure as markdown, with its settings."""
    from icl_book.live import ALT, START, opening

    draw(path)
    start = START["risk"]
    tag = opening("risk", still="fig-tradeoff")
    file = f"{path.parent.name}/{path.name}"
    return FIGURE.format(**start, file=file, alt=ALT["risk"], live=tag)


def draw(path: Path) -> None:
    """Draw the picture as SVG."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    from icl.files import write_atomically
    from icl_book import plots
    from icl_book.live import risk_picture

    plots.style()
    figure = risk_picture()
    write_atomically(path, plots.svg(figure))
    plt.close(figure)
