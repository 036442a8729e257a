"""How long runs will take and how much memory, said before they start, from `benchmarks/presets.py`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import prod

from icl_book.measure import memory_total
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner.plan import Run, configure, defaults

#: Runs that may take longer than this start only if the caller insists.
MOST = 48 * 3600.0
#: Seconds that a notebook is taken to need with its preset's sizes, if nobody measured it.
UNMEASURED = 60.0
#: Parameters whose value multiplies the work. Of every other list, the number of its entries does.
COUNTS = (
    *(
        "seeds",
        "steps",
        "batch_size",
        "batch_sizes",
        "contexts",
        "context_length",
        "draws",
        "starts",
        "repeats",
    ),
    *("test_contexts", "redrawn_contexts", "collapse_contexts", "collapse_tokens", "score_contexts"),
    *("max_depth", "windows_tried"),
)
#: Those of them that can multiply memory; steps, seeds and repeats follow one another or are taken in blocks.
STORED = tuple(
    name for name in COUNTS if name not in ("seeds", "steps", "repeats", "max_depth", "windows_tried")
)


def growth(run: Run) -> dict[str, float]:
    """Return how many times the work of its preset each changed parameter of a run asks for.

    Args:
        run: From `icl_book.runner.plan`.

    Returns:
        Factors by parameter, those that are not one. A chapter's work need not grow with all of its
        parameters, and may grow faster with a context length: their product is a guide, not a bound.
    """
    own = defaults(run.name)
    before, after = own | configure(run.name, run.preset, {}).overrides, own | run.overrides
    factors = {name: _size(name, after[name]) / _size(name, before[name]) for name in own}
    return {name: factor for name, factor in factors.items() if factor != 1}


def _size(name: str, value: object) -> float:
    if isinstance(value, list | tuple):
        return float(sum(value)) if name in COUNTS else float(len(value))
    return float(value) if name in COUNTS and isinstance(value, int) else 1.0


def estimate(preset: str, factors: Sequence[tuple[str, Mapping[str, float]]], jobs: int, force: bool) -> str:
    """Return how long runs will take.

    Args:
        preset: Name of the preset.
        factors: Of each run its notebook and its `growth`.
        jobs: How many run at a time.
        force: Whether runs that may take very long are wanted.

    Returns:
        ``", about 4 min (as on ...)"``, and that larger counts are taken to cost in proportion; nothing
        where a notebook was not measured or there is nothing to do. What was not measured still counts
        against `MOST`, with `UNMEASURED` seconds at its preset's sizes.

    Raises:
        BadInput: If they may take longer than `MOST`, naming the largest factor.
    """
    kept = _kept(preset)
    known, machine = kept.get("seconds", {}), kept.get("machine", "a machine like any")
    seconds = [known.get(name, UNMEASURED) * max(1.0, prod(f.values())) for name, f in factors]
    total = max([sum(seconds) / jobs, *seconds])
    largest = max(((v, k) for _, f in factors for k, v in f.items()), default=(1.0, ""))
    if total > MOST and not force:
        why = f"; {largest[1]} asks for {largest[0]:.3g} times the work of {preset}" if largest[0] > 1 else ""
        raise BadInput(
            f"may take {words(total)} (as on {machine}){why}; to start all the same: FORCE=1, --force"
        )
    if not factors or any(name not in known for name, _ in factors):
        return ""
    if_so = ", if the work grows in proportion" if largest[0] > 1 else ""
    return f", about {words(total)} (as on {machine}{if_so})"


def memory(preset: str, factors: Sequence[tuple[str, Mapping[str, float]]]) -> str:
    """Return how much memory the largest run will take.

    Args:
        preset: Name of the preset.
        factors: Of each run its notebook and its `growth`.

    Returns:
        ``"; memory of a run: up to 0.9 GB at the preset's sizes"``, and how much it is at larger counts if it
        grows in proportion, with a warning where this machine has less; nothing where no run was measured.
        What one dimension or matrix size more asks for is not foreseen.
    """
    peaks = _kept(preset).get("memory", {})
    more = {
        name: max(1.0, prod(v for k, v in f.items() if k in STORED)) for name, f in factors if name in peaks
    }
    if not more:
        return ""
    largest = max(peaks[name] for name in more)
    most = max(peaks[name] * factor for name, factor in more.items())
    text = f"; memory of a run: up to {largest / 1e9:.1f} GB at the preset's sizes"
    if most > largest:
        text += f", {most / 1e9:.3g} GB at these if it grows in proportion"
    if most > (here := memory_total()):
        text += f", and this machine has {here / 1e9:.3g}"
    return text


def _kept(preset: str) -> dict:
    """Return what was measured of a preset; empty if nothing was, or the record cannot be read."""
    try:
        text = (ROOT / "benchmarks" / "results" / "presets.json").read_text(encoding="utf-8")
        return json.loads(text).get(preset, {})
    except (OSError, ValueError):
        return {}


def words(seconds: float) -> str:
    """Return a duration in the unit that suits it."""
    for least, unit, name in ((2 * 365.25 * 86400, 365.25 * 86400, "years"), (3 * 86400, 86400, "days")):
        if seconds > least:
            return f"{seconds / unit:.3g} {name}"
    if seconds > 5400:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"
