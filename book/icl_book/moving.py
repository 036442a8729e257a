"""The markup of figures that move: where they start, and the still picture for pages without scripts."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from icl_book import plots
from icl_book.plots import HTML


@dataclass(frozen=True)
class Moving:
    """Figures that move, by name.

    Attributes:
        start: Where the controls of each figure start, and what it is drawn of.
        alt: What each figure shows, in words.
        pictures: Functions that draw the still pictures.
    """

    start: Mapping[str, dict]
    alt: Mapping[str, str]
    pictures: Mapping[str, Callable[[], Figure]]

    def live(self, name: str) -> HTML:
        """Build a figure that moves, with its still picture; ValueError if there is no such figure."""
        tag = self.opening(name)
        figure = self.pictures[name]()
        image = base64.b64encode(plots.svg(figure).encode()).decode()
        plt.close(figure)
        source = f"data:image/svg+xml;base64,{image}"
        return HTML(f'{tag}<img class="icl-frame" alt="{html.escape(self.alt[name])}" src="{source}"></div>')

    def opening(self, name: str, still: str = "") -> str:
        """Return the opening tag of a figure; ValueError if there is no such figure.

        Args:
            name: A key of `start`.
            still: The id of a figure on the page whose picture it replaces; empty if it holds its own.
        """
        if name not in self.start:
            raise ValueError(f"name={name!r}: must be one of {', '.join(self.start)}")
        start = html.escape(json.dumps(self.start[name]))
        return (
            f'<div class="icl-live" data-figure="{name}" data-start="{start}" '
            f'data-alt="{html.escape(self.alt[name])}"' + f' data-still="{still}"' * bool(still) + ">"
        )
