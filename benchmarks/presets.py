"""How long each notebook takes at each preset, as finished runs of these sources say.

    .venv/bin/python benchmarks/presets.py

Writes benchmarks/results/presets.json, which the book shows. It runs no notebook: run `make book PRESET=...`
on a quiet machine first. A preset is there if every notebook of these sources has been run with it.
"""

import json
from pathlib import Path

from icl_book.files import write_atomically
from icl_book.runner.plan import plan
from icl_book.runner.record import collect

OUT = Path(__file__).parent / "results" / "presets.json"
PRESETS = ("quick", "paper")


def _machine(run, runs):
    """The machine of a run in words, with the device that others beside it computed on."""
    devices = sorted(
        {other["device"] for other in runs if other["machine"] == run["machine"]} - {"cpu"}
    )
    return ", ".join([f"{run['machine']['cores']} cores", run["machine"]["cpu"], *devices])


def main():
    found = {}
    for preset in PRESETS:
        wanted = plan(preset)
        runs = [collect(run.path) for run in wanted if run.path.is_file()]
        if len(runs) == len(wanted):
            seconds = {run["name"]: round(run["seconds"], 1) for run in runs}
            machine = "; ".join(sorted({_machine(run, runs) for run in runs}))
            found[preset] = {"seconds": seconds, "machine": machine}
        print(f"{preset}: {len(runs)} of {len(wanted)} runs finished")
    if found:
        write_atomically(OUT, json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
