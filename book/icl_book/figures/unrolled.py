"""Examples on a circle, unrolled into a line, for a figure whose discs and curve follow a slider."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
WIDTH, HEIGHT = 370, 230
#: Edges of the panel, and the labels at its lower and upper edge.
LEFT, RIGHT, TOP, BOTTOM = 46, WIDTH - 8, 10, HEIGHT - 46
LOWEST, HIGHEST = -2.2, 2.2
#: The radius of the disc of an example that has all the weight. Areas of discs are proportional to weights.
LARGEST = 40
#: A disc with a smaller radius is hidden by the dot of its example.
SMALLEST = 1.0


def unroll(
    angles: Array,
    labels: Array,
    around: Array,
    target: Array,
    shown: Mapping[float, tuple[Array, Array]],
    *,
    query: float,
    start: float,
    alt: str,
) -> str:
    """Draw labels against angles, as HTML with SVG drawings, for `icl_book.figures.interactive`.

    The figure has the slider ``w``. Without scripts the drawing stays as it is at the start.

    Args:
        angles: Angles of the examples in degrees, from -180 to 180.
        labels: Labels of the examples.
        around: Angles in degrees at which the true function and the prediction are drawn.
        target: The true function at ``around``.
        shown: For each stop of ``w`` the prediction at ``around``, and the weights that the examples have for
            the query.
        query: The angle of the query, one of ``around``.
        start: The stop of ``w`` at the start.
        alt: What the drawing shows, for readers who cannot see it.
    """
    parts = [f'<path class="target" d="{_write_path(around, target)}"/>']
    at_query = int(np.flatnonzero(around == query)[0])
    for w, (prediction, weights) in shown.items():
        radii = LARGEST * weights**0.5
        discs = "".join(
            f'<circle cx="{a:.0f}" cy="{b:.0f}" r="{r:.1f}"/>'
            for a, b, r in zip(_scale_angle(angles), _scale_label(labels), radii, strict=True)
            if r > SMALLEST
        )
        # The page shows the group of the stop at which the slider stands.
        hidden = "" if w == start else " hidden"
        when = html.escape(json.dumps({"w": [w]}))
        # The answer lies on the curve, whose heights have a decimal.
        answer = f'cx="{_scale_angle(query):.0f}" cy="{_scale_label(prediction[at_query]):.1f}"'
        parts.append(
            f'<g data-when="{when}"{hidden}><g class="weights">{discs}</g>'
            f'<path class="prediction" d="{_write_path(around, prediction)}"/>'
            f'<circle class="answer" {answer} r="5"/></g>'
        )
    # A line of no length, with round ends, is a dot.
    dots = "".join(
        f"M{a:.0f} {b:.0f}h0"
        for a, b in zip(_scale_angle(angles), _scale_label(labels), strict=True)
    )
    ticks = "".join(
        f'<text x="{_scale_angle(angle):.0f}" y="{BOTTOM + 18}" text-anchor="middle">{tick}</text>'
        for angle, tick in ((-120, "−120°"), (0, "0°"), (120, "120°"))
    ) + "".join(
        f'<text x="{LEFT - 7}" y="{_scale_label(label) + 5:.0f}" text-anchor="end">{tick}</text>'
        for label, tick in ((-2, "−2"), (0, "0"), (2, "2"))
    )
    legend = "".join(
        f'<span><svg width="30" height="10"><path class="{name}" d="M1,5H29"/></svg>{words}</span>'
        for name, words in (("target", "true function"), ("prediction", "prediction"))
    )
    middle = (LEFT + RIGHT) // 2
    return (
        f'<div class="scene beside" role="img" aria-label="{html.escape(alt)}">'
        f'<p class="legend">{legend}</p><svg viewBox="0 0 {WIDTH} {HEIGHT}">'
        f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{RIGHT - LEFT}" height="{BOTTOM - TOP}"/>'
        f'<path class="tick" d="M{_scale_angle(query):.0f} {TOP}V{BOTTOM}"/>{"".join(parts)}'
        f'<path class="examples" d="{dots}"/>{ticks}'
        f'<text x="{middle}" y="{HEIGHT - 7}" text-anchor="middle">angle of the input</text>'
        f'<text x="{-(TOP + BOTTOM) / 2:.0f}" y="14" text-anchor="middle" transform="rotate(-90)">'
        "label</text>"
        "</svg></div>"
    )


def _scale_angle(angle: Array | float) -> Array:
    """Return the horizontal position of an angle in the drawing."""
    return np.asarray(LEFT + (RIGHT - LEFT) * (np.asarray(angle) + 180) / 360)


def _scale_label(label: Array | float) -> Array:
    """Return the vertical position of a label in the drawing."""
    return np.asarray(BOTTOM - (BOTTOM - TOP) * (np.asarray(label) - LOWEST) / (HIGHEST - LOWEST))


def _write_path(around: Array, values: Array) -> str:
    points = zip(_scale_angle(around), _scale_label(values), strict=True)
    return "M" + "L".join(f"{a:.0f} {b:.1f}" for a, b in points)
