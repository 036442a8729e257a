"""How long each notebook takes at each preset, as finished runs of these sources say.

    .venv/bin/python benchmarks/presets.py

Writes benchmarks/results/presets.json, which the book shows. It runs no notebook: run `make book PRESET=...`
on a quiet machine first. A notebook without a finished run keeps the seconds of before.
"""

import json
from pathlib import Path

from icl.files import write_atomically
from icl_book.runner.plan import plan
from icl_book.runner.record import collect

OUT = Path(__file__).parent / "results" / "presets.json"
PRESETS = ("quick", "paper")


def _machine(run, runs):
    """The machine of a run in words, with the device that others beside it computed on."""
    devices = sorted({other["device"] for other in runs if other["machine"] == run["machine"]} - {"cpu"})
    return ", ".join([f"{run['machine']['cores']} cores", run["machine"]["cpu"], *devices])


def main():
    found = json.loads(OUT.read_text()) if OUT.is_file() else {}
    names = {run.name for run in plan("quick")}
    for preset in PRESETS:
        runs = [collect(run.path) for run in plan(preset) if run.path.is_file()]
        if runs:
            one = found.setdefault(preset, {"seconds": {}, "machine": ""})
            kept = {name: t for name, t in one["seconds"].items() if name in names}
            one["seconds"] = kept | {run["name"]: round(run["seconds"], 1) for run in runs}
            one["seconds"] = dict(sorted(one["seconds"].items()))
            one["machine"] = "; ".join(sorted({_machine(run, runs) for run in runs}))
        print(f"{preset}: {len(runs)} finished runs")
    write_atomically(OUT, json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
