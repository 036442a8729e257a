"""How far numbers are the same: between runs, threads, instruction sets, precisions and random streams.

    make bench      or      .venv/bin/python benchmarks/determinism.py

Writes benchmarks/results/determinism.json. Every column is computed in a process of its own, because threads
and instruction sets are chosen when a library is loaded. A difference is relative to the largest number of
its vector; the largest over all vectors is kept.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from common import save

from icl import streams

SECONDS = 300  # the longest that a process may take
ONE = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
DIMS = (2, 5)
WINDOWS = (1.0, 30.0)
LENGTHS = (20, 10**6)
NOISE = 0.5
TOKENS, WIDTH = 512, 16  # of the regression whose gradient is computed


def compute(dtype, stream):
    """Some vectors of each kind of result, and what the libraries say that they run on."""
    import threadpoolctl
    import torch
    from numba.core import config

    from icl.pretrain import UnitConfig, pretrain
    from icl.risk import optimal_window, population_risk
    from icl.tasks import Affine, ReLU
    from icl.tensor_trick import gradient

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    tasks = [cls(dim) for cls in (Affine, ReLU) for dim in DIMS]
    values = {}
    if dtype == "float64" and stream == "portable":  # the exact risk knows nothing else
        values["population_risk"] = [
            [float(population_risk(task, w, n, NOISE).total)]
            for task in tasks
            for w in WINDOWS
            for n in LENGTHS
        ]
        values["optimal_window"] = [
            [float(optimal_window(task, n, NOISE).w)] for task in tasks for n in LENGTHS
        ]
    units = [
        UnitConfig(ReLU(3, lipschitz), NOISE, context_length=10, seed=seed)
        for seed, lipschitz in enumerate((1.0, 4.0))
    ]
    trained = pretrain(
        units, steps=100, batch_size=64, learning_rate=0.1, stream=stream, dtype=dtype
    )
    values["pretrain"] = [M.ravel().tolist() for M in trained.M]
    if stream == "portable":  # it draws nothing
        rng = streams.stream(0, "evaluation")

        def normal(*shape):
            return torch.tensor(rng.standard_normal(shape), dtype=getattr(torch, dtype))

        A1 = normal(TOKENS, WIDTH)
        A2 = normal(TOKENS, WIDTH)
        X = normal(WIDTH, WIDTH) / WIDTH**1.5
        B = normal(TOKENS, TOKENS).softmax(-1)
        values["gradient"] = [gradient(A1, A2, X, B).ravel().tolist()]
    loaded = threadpoolctl.threadpool_info()
    return values, {
        "threads": torch.get_num_threads(),
        "numpy": max((k for k, on in features().items() if on), key=list(features()).index),
        "OpenBLAS": next(
            (x["architecture"] for x in loaded if x["internal_api"] == "openblas"), None
        ),
        "PyTorch": torch.backends.cpu.get_cpu_capability(),
        "numba": config.CPU_NAME or "host",
    }


def features():
    """The instruction sets that NumPy has loops for beside the plainest, and whether it uses them."""
    umath = np._core._multiarray_umath
    return {"plain": True} | {k: umath.__cpu_features__[k] for k in umath.__cpu_dispatch__}


def settings():
    """Environment variables, precision and random streams of each column, the reference first."""
    faster = " ".join(k for k, on in features().items() if on and k != "plain")
    sets = {
        "NumPy without vector instructions": {"NPY_DISABLE_CPU_FEATURES": faster},
        "OpenBLAS for a Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
        "PyTorch without vector instructions": {
            "ATEN_CPU_CAPABILITY": "default",
            "MKL_CBWR": "COMPATIBLE",
        },
        "numba for any processor": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    }
    double = ("float64", "portable")
    return {
        "reference": ({}, *double),
        "a second run": ({}, *double),
        "two threads": (dict.fromkeys(ONE, "2"), *double),
        **{name: (words, *double) for name, words in sets.items()},
        "float32": ({}, "float32", "portable"),
        "native stream": ({}, "float64", "native"),
    }


def measure(words, dtype, stream):
    """Compute in a fresh process; returns its values and what its libraries say."""
    command = [sys.executable, __file__, dtype, stream]
    inherited = {k: v for k, v in os.environ.items() if k != "ICL_SEED"}
    done = subprocess.run(
        command,
        env=inherited | ONE | words,
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS,
    )
    return json.loads(done.stdout.splitlines()[-1])


def difference(ours, theirs):
    pairs = zip(map(np.array, ours), map(np.array, theirs), strict=True)
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in pairs)


def main():
    columns = settings()
    with ThreadPoolExecutor(2) as pool:  # of processes
        found = dict(
            zip(columns, pool.map(lambda how: measure(*how), columns.values()), strict=True)
        )
    wanted, usual = found.pop("reference")
    differences, without_effect = {}, []
    for name, (values, seen) in found.items():
        if columns[name][0] and seen == usual:
            without_effect.append(name)  # e.g. no such processor
        else:
            each = {result: difference(values[result], wanted[result]) for result in values}
            differences[name] = {"seen": seen, "largest": each}
    parts = {"reference": usual, "differences": differences, "without_effect": without_effect}
    seconds = sum(os.times()[:4])  # of this process and those that it started
    save("determinism", parts | {"cpu_seconds": seconds})


if __name__ == "__main__":
    if len(sys.argv) == 3:  # one column, in a process of its own
        print(json.dumps(compute(dtype=sys.argv[1], stream=sys.argv[2])))
    else:
        main()
