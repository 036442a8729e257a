"""The table of how far numbers are the same, from what `benchmarks/determinism.py` measured."""

from __future__ import annotations

from collections.abc import Mapping

#: Results in the order of the columns, with the heads of the columns.
RESULTS = {
    "population_risk": "exact risk",
    "optimal_window": "best window",
    "pretrain": "pretrained weights",
    "gradient": "gradient, paper 2",
}


def markdown(record: Mapping) -> str:
    """Write the table and where it was measured.

    Args:
        record: The content of ``benchmarks/results/determinism.json``.
    """
    machine, usual = record["machine"], record["reference"]
    libraries = ", ".join(f"{name}: {seen}" for name, seen in usual.items() if name != "threads")
    lines = [
        "| compared with the first run | " + " | ".join(RESULTS.values()) + " |",
        "|:--|" + "--:|" * len(RESULTS),
    ]
    for name, found in record["differences"].items():
        cells = (_cell(found["largest"].get(result)) for result in RESULTS)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    where = f"{machine['cpu']} ({machine['cores']} cores)"
    lines += [
        "",
        f"Measured in {record['cpu_seconds']:.0f} s of CPU time on {where}. The first run computes in "
        f"float64 on {usual['threads']} thread with the instructions that the libraries choose themselves "
        f"({libraries}).",
    ]
    if record["without_effect"]:
        lines += ["", f"Not possible on that machine: {', '.join(record['without_effect'])}."]
    return "\n".join([*lines, ""])


def _cell(difference: float | None) -> str:
    if difference is None:
        return "does not apply"
    return f"{difference:.0e}" if difference else "the same"
