"""The table of how long notebooks take, from what `benchmarks/presets.py` has kept."""

from __future__ import annotations

from collections.abc import Mapping

SHOWN = ("quick", "paper")


def markdown(record: Mapping) -> str:
    """Write the table, the longest notebook first, and where it was measured.

    Args:
        record: The content of ``benchmarks/results/presets.json``.
    """
    presets = [name for name in SHOWN if name in record]
    seconds = {name: record[name]["seconds"] for name in presets}
    notebooks = {name for each in seconds.values() for name in each}
    lines = ["| notebook | " + " | ".join(f"`{name}`" for name in presets) + " |"]
    lines.append("|:--|" + "--:|" * len(presets))
    for notebook in sorted(notebooks, key=lambda name: [-each.get(name, 0) for each in seconds.values()]):
        cells = (_cell(each.get(notebook)) for each in seconds.values())
        lines.append(f"| [](/notebooks/{notebook}.ipynb) | " + " | ".join(cells) + " |")
    lines.append("| together | " + " | ".join(_cell(sum(each.values())) for each in seconds.values()) + " |")
    where = "; ".join(f"`{name}` on {record[name]['machine']}" for name in presets)
    return "\n".join(
        [
            *lines,
            "",
            f"Seconds of single notebooks, as many side by side as the machine has cores: {where}.",
            "",
        ]
    )


def _cell(seconds: float | None) -> str:
    return "not run" if seconds is None else f"{seconds:.0f}"
