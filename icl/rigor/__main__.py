"""Certify the form of the minimizer and write ``results/rigor/form.json``: ``python -m icl.rigor [DIM ...]``.

Rows of other dimensions stay as they are. Each takes up to a minute; a slow test repeats some of them.
"""

import json
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path

from icl.rigor import form
from icl.tasks import Cosine, ReLU

FILE = Path("results/rigor/form.json")
LENGTHS = (2, 3, 20, 200, 10**6)


def main(dims: list[int]) -> None:
    """Write the rows of these dimensions; one that is not certified has the margin null."""
    data = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {"rows": []}
    rows = [row for row in data["rows"] if row["dim"] not in dims]
    for task in [make for d in dims for make in (ReLU(d), Cosine(d, 1.0), Cosine(d, 4.0))]:
        for n in LENGTHS[isinstance(task, Cosine) :]:
            start = time.perf_counter()
            proof = form.certify(task, n)
            margin = proof.margin if proof.margin > 0 else None
            seconds = round(time.perf_counter() - start, 1)
            row = {
                "class": task.label,
                "lipschitz": task.lipschitz,
                "dim": task.dim,
                "n": n,
                "margin": margin,
            }
            rows.append(row | {"cells": proof.cells, "seconds": seconds})
            print(rows[-1], flush=True)
    rows.sort(key=lambda row: (row["class"], row["lipschitz"], row["dim"], row["n"]))
    made = {
        "command": "python -m icl.rigor",
        "python-flint": version("python-flint"),
        "machine": platform.machine(),
    }
    text = ",\n  ".join(json.dumps(row) for row in rows)
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(f'{{"made": {json.dumps(made)},\n "rows": [\n  {text}\n ]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main([int(d) for d in sys.argv[1:]] or [2, 3, 5, 8])
