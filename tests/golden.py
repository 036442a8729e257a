"""Compare executed chapters with the golden master: the judged cards of `quick` as they were frozen.

    python tests/golden.py PATH.ipynb ...             compare
    python tests/golden.py --freeze PATH.ipynb ...    write, for the chapters given

A refactoring reproduces every card: its verdict, its readings, the permitted ranges, and the measured values
with their intervals to 1e-9. Random values are those of the locked versions on the processor of the commit
that froze them; what is measured of a machine (seconds, memory) is not frozen.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

CARD = "application/vnd.icl.card+json"
MASTER = Path(__file__).parent / "data" / "golden.json"
RELATIVE = 1e-9
LISTS = ("cases", "control_cases")


def cards(path: Path) -> dict[str, dict]:
    """Return what is frozen of the cards of an executed notebook, by id."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    shown = [o.get("data", {}) for cell in cells for o in cell.get("outputs", [])]
    return {r["id"]: _frozen(r) for r in (data[CARD] for data in shown if CARD in data)}


def _frozen(record: dict) -> dict:
    frozen = record["grade"] != "measured on this machine"
    lists = {key: record[key] for key in LISTS} | record["other_readings"]
    return {
        "verdict": record["verdict"],
        "readings": record["readings"],
        "control_passed": record["control_passed"],
        "cases": {key: [_case(case) for case in cases] for key, cases in lists.items() if cases and frozen},
    }


def _case(case: dict) -> list:
    return [case["measured"], case["interval"], case["permitted"], case["parameters"]]


def differences(now: object, then: object, place: str = "") -> list[str]:
    """List where two frozen cards differ; numbers are compared relative to the larger, or to 1e-3."""
    if isinstance(now, dict) and isinstance(then, dict):
        keys = [*then, *(key for key in now if key not in then)]
        return [d for k in keys for d in differences(now.get(k), then.get(k), f"{place} {k}")]
    if isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        pairs = enumerate(zip(now, then, strict=True))
        return [d for i, (a, b) in pairs for d in differences(a, b, f"{place}[{i}]")]
    try:
        a, b = float(now), float(then)  # infinities are strings in strict JSON
        same = (
            a == b or abs(a - b) <= RELATIVE * max(abs(a), abs(b), 1e-3) or (math.isnan(a) and math.isnan(b))
        )
    except (TypeError, ValueError):
        same = now == then
    return [] if same else [f"{place.strip()}: {now} for {then}"]


def main(arguments: list[str]) -> int:
    """Compare, or freeze; return 1 if anything differs."""
    freeze, paths = arguments[:1] == ["--freeze"], [Path(a) for a in arguments if a != "--freeze"]
    master = json.loads(MASTER.read_text(encoding="utf-8")) if MASTER.exists() else {}
    found = {path.name.split(".")[0]: cards(path) for path in paths}
    if freeze:
        text = json.dumps(master | found, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        MASTER.write_text(text.replace('},"', '},\n"') + "\n", encoding="utf-8")
        return 0
    frozen = {i: card for own in master.values() for i, card in own.items()}  # a card may change its chapter
    lines = [d for own in found.values() for i in own for d in differences(own[i], frozen.get(i, {}), i)]
    print("\n".join(lines) or f"{sum(map(len, found.values()))} cards of {len(found)} chapters as frozen")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
