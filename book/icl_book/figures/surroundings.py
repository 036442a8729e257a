"""Maps around one place of a sphere, for an interactive figure: a circle grows and shrinks with a slider.

The maps are azimuthal equidistant projections: all places at the same distance from the one place lie on a
circle around it.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
#: Radius of a map in units of its SVG.
SIZE = 100
#: Shaded places are drawn as this many horizontal strips, the first one in the north.
STRIPS = 160


def surroundings(
    star: ArrayLike,
    known: Array,
    shaded: Mapping[str, Callable[[Array], NDArray[np.bool_]]],
    *,
    counts: Sequence[int],
    radius: float,
    reaches: Sequence[float],
    start: Mapping[str, object],
    alt: str,
) -> str:
    """Draw round maps of what is around a place, as SVG text for `icl_book.figures.interactive`.

    The slider ``map`` chooses what is shaded, and ``n`` how many known places are drawn. The slider that
    moves along the curves is the radius in km of a solid circle. A dashed circle has the best radius. Without
    scripts the maps stay as they are at the start, when both circles have the best radius.

    Args:
        star: The place as a unit vector (3,), not a pole.
        known: Known places as unit vectors, (places, 3). At ``n`` the first ``n`` of them are drawn.
        shaded: For each stop of ``map``, a function that says which places (..., 3) are shaded.
        counts: The stops of ``n``, rising.
        radius: Radius of the sphere in km.
        reaches: For each drawn map, how far it reaches from the star, in km along the ground.
        start: The stops of ``map`` and ``n`` at the start, and under ``best`` the best radius in km.
        alt: What the maps show, for readers who cannot see them.

    Raises:
        ValueError: If the star is a pole, where no direction is east.
    """
    up = np.asarray(star, float)
    if not np.hypot(up[0], up[1]) > 0:
        raise ValueError(f"star={up.tolist()}: must not be a pole, where there is no east")
    east = np.cross([0.0, 0.0, 1.0], up)
    east /= np.linalg.norm(east)
    # The rows are the directions east, north and up.
    frame = np.array([east, np.cross(up, east), up])
    # The radius of a map is 1 here.
    along = (np.arange(STRIPS) + 0.5) * 2 / STRIPS - 1
    width = 2 * SIZE / STRIPS
    right, upward = np.meshgrid(along, -along)
    distance = np.hypot(right, upward)
    x, y, z = frame @ known.T
    angle_to_star = np.arccos(z.clip(-1, 1))
    # At the star, where `arctan2` returns 0, any direction will do.
    bearing = np.arctan2(x, y)
    # The second coordinate of a drawing points down, to the south.
    direction = np.array([np.sin(bearing), -np.cos(bearing)])

    drawn = []
    for i, reach in enumerate(reaches):
        angle = distance * reach / radius
        # The number of strips is even, so that the star is between two strips.
        sideways = np.sin(angle) / distance
        # These are the places of the map's points, (rows from north, columns, 3).
        grid = np.stack([sideways * right, sideways * upward, np.cos(angle)], -1) @ frame
        parts = []
        for name, is_shaded in shaded.items():
            inside = np.pad(is_shaded(grid) & (distance <= 1), [(0, 0), (1, 1)])
            # A shaded piece begins at 1 and ends at -1. `nonzero` finds both row by row, so the k-th end
            # belongs to the k-th beginning.
            edges = np.diff(inside.astype(int), axis=1)
            rows, begins = np.nonzero(edges == 1)
            _, ends = np.nonzero(edges == -1)
            runs = zip(rows, begins, ends, strict=True)
            path = "".join(
                f"M{a * width - SIZE:g} {(row + 0.5) * width - SIZE:g}H{b * width - SIZE:g}"
                for row, a, b in runs
            )
            part = f'<path class="shaded" stroke-width="{width:g}" d="{path}"/>'
            parts.append(_mark_stops(part, {"map": [name]}, start))
        for n, fewer in zip(counts, [0, *counts], strict=False):
            new = slice(fewer, n)
            # An angle times the radius is a length on the ground.
            on_map = angle_to_star[new] * radius < reach
            places = (
                direction[:, new][:, on_map] * angle_to_star[new][on_map] * radius / reach * SIZE
            )
            # A line of no length, with round ends, is a dot.
            dots = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in places.T)
            stops = {"n": [m for m in counts if m >= n]}
            parts.append(_mark_stops(f'<path class="known" d="{dots}"/>', stops, start))
        scale = SIZE / reach
        # `str` is for the type checker.
        circles = "".join(
            f'<circle class="{name}" data-scale="{scale:.6g}" r="{scale * float(str(start["best"])):.1f}"/>'
            for name in ("around", "around best")
        )
        # Two units leave room for the line of the edge, and sixteen for the words.
        rim = SIZE + 2
        drawn.append(
            f'<svg viewBox="{-rim} {-rim} {2 * rim} {2 * rim + 16}"><clipPath id="icl-reach-{i}">'
            f'<circle r="{SIZE}"/></clipPath><g clip-path="url(#icl-reach-{i})">{"".join(parts)}{circles}'
            f'</g><circle class="rim" r="{SIZE}"/><path class="star" d="M-4 0H4M0 -4V4"/>'
            f'<text y="{SIZE + 14}" text-anchor="middle">{reach:,.0f} km around</text></svg>'
        )
    return f'<div class="scene" role="img" aria-label="{html.escape(alt)}">{"".join(drawn)}</div>'


def _mark_stops(
    part: str, when: Mapping[str, Sequence[object]], start: Mapping[str, object]
) -> str:
    """Mark a part with the stops at which it is seen, by slider. Hide it if it is not seen at the start."""
    hidden = "" if all(start[name] in stops for name, stops in when.items()) else " hidden"
    return f'<g data-when="{html.escape(json.dumps(when))}"{hidden}>{part}</g>'
