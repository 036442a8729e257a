"""Compare executed chapters with the golden master: their judged cards as they were frozen.

    python tests/golden.py                            compare what the book was built from, and the pages
    python tests/golden.py PATH.ipynb ...             compare
    python tests/golden.py --freeze PATH.ipynb ...    write, for the chapters given

A refactoring reproduces every card of `quick` to 1e-9. Another processor rounds in another way, and training
amplifies that: sampled numbers that moved by at most a tenth of their intervals are counted and do not fail.
What is measured of a machine is not frozen. The exact numbers of `smoke`, which the tests run everywhere, are
frozen to 1e-6.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
MASTERS = {"quick": DATA / "golden.json", "smoke": DATA / "golden_smoke.json"}
LISTS = ("cases", "control_cases")
#: Share of its interval by which another processor may move a sampled number.
SHARE = 0.1


def cards(run: Mapping[str, Any]) -> dict[str, dict]:
    """Return what is frozen of the cards of an executed notebook, by id."""
    freeze = {"quick": _frozen, "smoke": exact}[run["preset"]]
    return {card["id"]: freeze(card) for card in run["cards"]}


def _lists(record: Mapping[str, Any]) -> dict[str, list]:
    found = {key: record[key] for key in LISTS} | record["other_readings"]
    found |= {f"{key}, where it holds": r for key, r in record["holding"].items()}
    return {
        k: cases
        for k, cases in found.items()
        if cases and record["grade"] != "measured on this machine"
    }


def _frozen(record: Mapping[str, Any]) -> dict:
    kept = ("measured", "interval", "permitted", "parameters")
    cases = {
        key: [[case[k] for k in kept] for case in some] for key, some in _lists(record).items()
    }
    return {key: record[key] for key in ("verdict", "readings", "control_passed")} | {
        "cases": cases
    }


def exact(record: Mapping[str, Any]) -> dict[str, list]:
    """Return the numbers of a card's cases, by reading, that neither chance nor a search decides."""
    found = {
        key: [c["measured"] for c in some if c["kind"] == "exact"]
        for key, some in _lists(record).items()
    }
    return {key: numbers for key, numbers in found.items() if numbers}


def differences(now: object, then: object, place: str = "", relative: float = 1e-9) -> list[str]:
    """List where two frozen cards differ; numbers are compared relative to the larger, or to 1e-3."""
    if isinstance(now, dict) and isinstance(then, dict):
        keys = dict.fromkeys([*then, *now])
        return [
            d for k in keys for d in differences(now.get(k), then.get(k), f"{place} {k}", relative)
        ]
    if isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        pairs = enumerate(zip(now, then, strict=True))
        return [d for i, (a, b) in pairs for d in differences(a, b, f"{place}[{i}]", relative)]
    try:
        a, b = float(now), float(then)  # infinities are strings in strict JSON
        near = abs(a - b) <= min(relative * max(abs(a), abs(b), 1e-3), sys.float_info.max)
        same = a == b or near or (math.isnan(a) and math.isnan(b))
    except (TypeError, ValueError):
        same = now == then
    return [] if same else [f"{place.strip()}: {now} for {then}"]


def compare(preset: str, found: Mapping[str, Any]) -> list[str]:
    """List where cards differ from those frozen of a preset; a card may change its chapter."""
    then = frozen(preset)
    relative = {"quick": 1e-9, "smoke": 1e-6}[preset]
    return [
        d for i, card in found.items() if i in then for d in differences(card, then[i], i, relative)
    ]


def forgive(record: Mapping[str, Any], then: Mapping[str, Any]) -> tuple[dict, float]:
    """Return what is frozen of a card, with sampled numbers that moved by little as they were.

    The second value is the largest share of its interval by which one of these moved.
    """
    now, largest = _frozen(record), 0.0
    for key, some in _lists(record).items():
        # if the number of cases differs, no case is forgiven
        for case, new, old in zip(
            some, now["cases"][key], then["cases"].get(key, []), strict=False
        ):
            low, high = map(float, old[1])
            pairs = zip([new[0], *new[1]], [old[0], *old[1]], strict=True)
            moves = [abs(float(a) - float(b)) for a, b in pairs if a != b]
            if (
                case["kind"] == "sampled"
                and moves
                and max(moves) <= SHARE * (high - low) < math.inf
            ):
                largest = max(largest, max(moves) / (high - low))
                new[:2] = old[:2]
    return now, largest


def unknown(preset: str, found: Iterable[str]) -> list[str]:
    """List the cards that are not frozen yet, which do not count as different."""
    then = frozen(preset)
    return [f"{i}: new: --freeze" for i in found if i not in then]


def frozen(preset: str) -> dict[str, Any]:
    """Return what is frozen of a preset, by card."""
    master = json.loads(MASTERS[preset].read_text(encoding="utf-8"))
    return {i: card for own in master.values() for i, card in own.items()}


def moved(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Report README and pages whose findings, verdicts or numbers are not those of these runs of `quick`."""
    from icl_book.provenance import ROOT
    from icl_book.site import assemble

    outdated = [path.relative_to(ROOT) for path in assemble.find_outdated(runs)]
    return [f"{path}: its numbers moved; run: python -m icl_book readme" for path in outdated]


def main(arguments: Sequence[str]) -> int:
    """Compare, or freeze; return 1 if anything differs. New cards are printed and do not count."""
    from icl_book.parameters import BadInput
    from icl_book.runner.plan import plan
    from icl_book.runner.record import collect

    freeze = "--freeze" in arguments
    paths = [Path(a) for a in arguments if a != "--freeze"] or [run.path for run in plan("quick")]
    try:
        runs = list(map(collect, paths))
    except BadInput as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if freeze:
        for path, run in zip(paths, runs, strict=True):
            there = MASTERS[run["preset"]].exists()
            master = json.loads(MASTERS[run["preset"]].read_text(encoding="utf-8")) if there else {}
            master[path.name.partition(".")[0]] = cards(run)
            text = json.dumps(master, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            MASTERS[run["preset"]].write_text(text.replace('},"', '},\n"') + "\n", encoding="utf-8")
    lines, moves, verdicts = [], [], 0
    for run in runs:
        found, then = cards(run), frozen(run["preset"])
        print("".join(f"{line}\n" for line in unknown(run["preset"], found)), end="")
        for record in run["cards"] if run["preset"] == "quick" else ():
            if own := then.get(record["id"]):
                forgiven, share = forgive(record, own)
                count = len(compare("quick", {record["id"]: found[record["id"]]}))
                moves += [(share, record["id"], count)] if count else []
                verdicts += record["verdict"] != own["verdict"]
                found[record["id"]] = forgiven
        lines += compare(run["preset"], found)
    if not arguments:
        lines += moved(runs)
    print("".join(f"{line}\n" for line in lines), end="")
    if moves:
        share, worst, _ = max(moves)
        count = sum(count for *_, count in moves)
        print(
            f"{count} numbers of {len(moves)} cards differ, and {verdicts or 'no'} verdicts", end=""
        )
        among = (
            f"; what is not listed moved by at most {share:.1%} of its interval ({worst}), as on"
        )
        print(f"{among} another processor" if share else "")
    elif not lines:
        print(f"{sum(len(run['cards']) for run in runs)} cards as frozen")
    return bool(lines)


if __name__ == "__main__":
    # beside this file lies a folder icl_book, which is not the package
    sys.path.remove(str(Path(__file__).resolve().parent))
    sys.exit(main(sys.argv[1:]))
