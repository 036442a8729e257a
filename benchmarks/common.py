"""What the benchmarks share: clock, repeats in turn, their spread, and the record in benchmarks/results."""

import gc
import json
import time
from pathlib import Path

import numpy as np
import torch

from icl_book import provenance
from icl_book.files import write_atomically


def clock(call, synchronize=lambda: None):
    """(wall, CPU) seconds of a call; ``synchronize`` waits for a GPU."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    synchronize()
    return np.array([time.perf_counter() - wall, time.process_time() - cpu])


def interleaved(measures, repeats):
    """Arrays of what the functions return, by name: in each repeat all run one after the other."""
    rows = [{name: measure() for name, measure in measures.items()} for _ in range(repeats)]
    return {name: np.array([row[name] for row in rows]) for name in measures}


def spread(values):
    return {
        "median": float(np.median(values)),
        "min": float(np.min(values)),
        "max": float(np.max(values)),
        "repeats": len(values),
    }


def save(name, parts):
    """Compute the parts, values or functions without arguments, print each, and write them as one record."""
    # a processor may have more than PyTorch and its rivals use
    record = provenance.origin() | {"instructions": torch.backends.cpu.get_cpu_capability()}
    for key, part in parts.items():
        record[key] = part() if callable(part) else part
        print(key, json.dumps(record[key], indent=1), flush=True)
    write_atomically(
        Path(__file__).parent / "results" / f"{name}.json", json.dumps(record, indent=1) + "\n"
    )
