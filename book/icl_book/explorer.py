"""A figure of the exact risk that the reader moves: class, noise and window, with no server."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence

import numpy as np

from icl_book.plots import COLORS, HTML

_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 600, 12, 250  # the frame, in SVG units of a 620 x 300 drawing

# One handler on the figure hears all its controls; events bubble. `this` is the figure.
_MOVE = """
const $=q=>this.querySelector(q),d=JSON.parse(this.dataset.curves),c=d.classes[$('select').value],
s=10**$('.noise').value,k=+$('.window').value,x=i=>d.x0+(d.x1-d.x0)*i/(d.w.length-1),
y=v=>Math.min(d.y0,Math.max(d.y1,d.y0+(d.y1-d.y0)*(Math.log10(v)-d.low)/(d.high-d.low))),
noise=c.noise.map(v=>v*s*s),total=c.bias.map((v,i)=>v+noise[i]),best=total.indexOf(Math.min(...total)),
line=a=>a.map((v,i)=>x(i).toFixed(1)+','+y(v).toFixed(1)).join(' '),
put=(q,i)=>{$(q).setAttribute('cx',x(i));$(q).setAttribute('cy',y(total[i]))};
$('.bias').setAttribute('points',line(c.bias));$('.noisy').setAttribute('points',line(noise));
$('.total').setAttribute('points',line(total));put('.here',k);put('.best',best);
$('.s').textContent=s.toPrecision(3);$('.w').textContent=d.w[k].toPrecision(3);
$('.window').setAttribute('aria-valuetext',d.w[k].toPrecision(3));
$('.noise').setAttribute('aria-valuetext',s.toPrecision(3));
$('.read').textContent='risk '+total[k].toPrecision(4)+' = bias '+c.bias[k].toPrecision(4)+' + noise '
+noise[k].toPrecision(4)+'. Lowest on this grid: '+total[best].toPrecision(4)+' at w = '
+d.w[best].toPrecision(3)+'.';
"""


def risk_explorer(
    w: Sequence[float],
    classes: Mapping[str, tuple[np.ndarray, np.ndarray]],
    noise_stds: tuple[float, float],
    alt: str,
) -> HTML:
    """Bias, noise and risk against the window; the reader sets class, noise and window.

    Only the curves of the bias and of ``E sum omega_i^2`` are stored: the noise term is
    sigma^2 times the second, so every sigma between the ends is exact. Without JavaScript
    the first class at the middle of the sliders stays.

    Args:
        w: Windows, geometrically spaced, shape (k,).
        classes: Name to (bias, noise at sigma = 1), shapes (k,).
        noise_stds: Smallest and largest sigma, both > 0.
        alt: What the figure shows, for readers who cannot see it.

    Returns:
        An object that draws itself in a notebook.

    Raises:
        ValueError: If alt is empty, shapes differ, or the noise range is not 0 < low < high.
    """
    if not alt.strip():
        raise ValueError("alt is empty: describe the figure in words")
    least, most = noise_stds
    if not 0 < least < most:
        raise ValueError(f"noise_stds={noise_stds!r}: must be two numbers 0 < low < high")
    rounded = {k: {"bias": _short(bias), "noise": _short(noise)} for k, (bias, noise) in classes.items()}
    if any(len(curve) != len(w) for pair in rounded.values() for curve in pair.values()):
        raise ValueError(f"classes: every curve must have {len(w)} values, one for each w")
    low, high = -4.0, 1.0
    data = {
        "w": _short(w),
        "classes": rounded,
        "low": low,
        "high": high,
        "x0": _LEFT,
        "x1": _RIGHT,
        "y0": _BOTTOM,
        "y1": _TOP,
    }
    name, (bias, noise) = next(iter(classes.items()))
    sigma = float(np.sqrt(least * most))  # where the slider stands at first, halfway
    noise = sigma**2 * np.asarray(noise)
    total = bias + noise

    def x(i):
        return _LEFT + (_RIGHT - _LEFT) * i / (len(w) - 1)

    def y(v):
        return _BOTTOM + (_TOP - _BOTTOM) * (np.clip(np.log10(v), low, high) - low) / (high - low)

    def line(kind, values, dash=""):
        points = " ".join(f"{x(i):.1f},{y(v):.1f}" for i, v in enumerate(values))
        color = COLORS["noise" if kind == "noisy" else kind]
        return (
            f'<polyline class="{kind}" points="{points}" fill="none" stroke="{color}" stroke-width="2" '
            f'stroke-dasharray="{dash}"/>'
        )

    def dot(kind, i, fill):
        return (
            f'<circle class="{kind}" cx="{x(i):.1f}" cy="{y(total[i]):.1f}" r="5" fill="{fill}" '
            'stroke="currentColor" stroke-width="2"/>'
        )

    ticks = ""
    for power in range(int(np.ceil(np.log10(w[0]))), int(np.log10(w[-1])) + 1):
        at = x((power - np.log10(w[0])) / np.log10(w[-1] / w[0]) * (len(w) - 1))
        ticks += _tick(at, _BOTTOM + 18, 10.0**power, "middle")
    for power in range(int(low), int(high) + 1):
        ticks += _tick(_LEFT - 8, y(10.0**power) + 4, 10.0**power, "end")
    options = "".join(f"<option>{html.escape(k)}</option>" for k in classes)
    start, middle = int(np.argmin(total)), len(w) // 2
    key = "".join(
        f'<tspan fill="{COLORS[part]}" dx="14">{mark} {part}</tspan>'
        for part, mark in (("bias", "╌"), ("noise", "┄"), ("total", "─"))
    )
    return HTML(
        f'<div class="icl-explorer" data-curves="{html.escape(json.dumps(data))}" '
        f'oninput="{html.escape(" ".join(_MOVE.split()))}">'
        f'<svg viewBox="0 0 620 300" role="img" aria-label="{html.escape(alt)}">'
        f'<rect x="{_LEFT}" y="{_TOP}" width="{_RIGHT - _LEFT}" height="{_BOTTOM - _TOP}" fill="none" '
        f'stroke="currentColor" stroke-opacity=".4"/>'
        f'<g fill="currentColor" font-size="12">{ticks}<text x="{(_LEFT + _RIGHT) / 2}" y="292" '
        f'text-anchor="middle">window parameter w</text><text transform="translate(14 '
        f'{(_TOP + _BOTTOM) / 2}) rotate(-90)" text-anchor="middle">risk</text></g>'
        f'<text x="{_LEFT}" y="{_TOP + 18}" font-size="12">{key}</text>'
        f"{line('bias', bias, '8 4')}{line('noisy', noise, '2 4')}{line('total', total)}"
        f"{dot('best', start, 'none')}"
        f"{dot('here', middle, 'currentColor')}</svg>"
        f"<label>class <select>{options}</select></label>"
        f'<label>noise standard deviation <input class="noise" type="range" min="{np.log10(least):.4f}" '
        f'max="{np.log10(most):.4f}" step="0.01" value="{np.log10(sigma):.4f}"><output class="s">{sigma:.3g}'
        f'</output></label><label>window parameter <input class="window" type="range" min="0" '
        f'max="{len(w) - 1}" step="1" value="{middle}"><output class="w">{w[middle]:.3g}</output></label>'
        f'<output class="read" aria-live="polite">risk {total[middle]:.4g} = bias {bias[middle]:.4g} + noise '
        f"{noise[middle]:.4g}. Lowest on this grid: {total[start]:.4g} at w = {w[start]:.3g}.</output></div>"
    )


def _short(values) -> list[float]:
    return [float(f"{v:.5g}") for v in np.asarray(values, float)]


def _tick(x: float, y: float, value: float, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{value:g}</text>'
