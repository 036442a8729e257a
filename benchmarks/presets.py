"""How long each notebook takes at each preset: what finished runs of the present sources say.

    .venv/bin/python benchmarks/presets.py

Writes benchmarks/results/presets.json, from which a run's estimate is printed before it starts. It runs no
notebook: run `make book PRESET=...` on a quiet machine first. A notebook without a finished run keeps the
seconds of before.
"""

import json
from pathlib import Path

from icl.files import write_atomically
from icl_book.runner.plan import plan
from icl_book.runner.record import collect

OUT = Path(__file__).parent / "results" / "presets.json"
PRESETS = ("smoke", "quick", "paper", "confirmatory")


def main():
    found = json.loads(OUT.read_text()) if OUT.is_file() else {}
    for preset in PRESETS:
        runs = [collect(run.path) for run in plan(preset) if run.path.is_file()]
        machines = [run["machine"] for run in runs]
        if runs:
            one = found.setdefault(preset, {"seconds": {}, "machine": ""})
            one["seconds"] |= {run["name"]: round(run["seconds"], 1) for run in runs}
            one["seconds"] = dict(sorted(one["seconds"].items()))
            one["machine"] = "; ".join(sorted({f"{m['cores']} cores, {m['cpu']}" for m in machines}))
        print(f"{preset}: {len(runs)} finished runs")
    write_atomically(OUT, json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
