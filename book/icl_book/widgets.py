"""Sliders as HTML that shows itself in a notebook, without a server or a network."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class HTML:
    """Markup that draws itself in a notebook."""

    markup: str

    def _repr_html_(self) -> str:
        return self.markup


def ten(exponent: int) -> str:
    """Format a power of ten in plain text, e.g. ``10⁴``; for heads of tables and labels."""
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def slider_figure(svgs: Sequence[str], values: Sequence, label: str, alt: str) -> HTML:
    """Build a figure with a range slider from frames drawn in advance; it needs no server, kernel or network.

    Every frame is an image of its own, so ids inside two SVGs do not clash, and the markup has no id: any
    number of sliders fit on a page. The slider is the browser's own (arrow keys, Home and End work). Without
    JavaScript the first frame stays.

    Args:
        svgs: The frames, SVG text each, e.g. from `svg`; at least one.
        values: What the slider shows beside each frame, as many as frames.
        label: Name of the quantity that moves, e.g. ``"context size n"``.
        alt: Description of the figure for readers who cannot see it.

    Returns:
        An object that draws itself in a notebook.

    Raises:
        ValueError: If frames and values differ in number, there is none, or alt is empty.
    """
    if not svgs or len(svgs) != len(values):
        raise ValueError(f"svgs: {len(svgs)} frames for {len(values)} values; need as many, at least one")
    if not alt.strip():
        raise ValueError("alt is empty: describe the figure in words")
    esc = html.escape
    names = [str(v) for v in values]
    frames = "".join(  # the value travels with its frame
        f'<img class="icl-frame" alt="{esc(f"{alt} ({label} = {name})")}" data-value="{esc(name)}"'
        f"{' hidden' if i else ''} "
        f'src="data:image/svg+xml;base64,{base64.b64encode(s.encode()).decode()}">'
        for i, (s, name) in enumerate(zip(svgs, names, strict=True))
    )
    move = (
        "const root=this.closest('.icl-slider'),f=root.querySelectorAll('.icl-frame');"
        "f.forEach((e,i)=>{e.hidden=i!=this.value});"
        "const v=f[this.value].dataset.value;root.querySelector('output').textContent=v;"
        "this.setAttribute('aria-valuetext',v)"
    )
    return HTML(
        f'<div class="icl-slider"><div class="icl-frames">{frames}</div>'
        f'<label>{esc(label)} <input type="range" min="0" max="{len(svgs) - 1}" value="0" step="1" '
        f'aria-valuetext="{esc(names[0])}" oninput="{esc(move)}"> '
        f"<output>{esc(names[0])}</output></label></div>"
    )
