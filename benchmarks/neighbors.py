"""The gradient of a softmax regression beside other work: fresh processes, alone and beside two busy ones.

    .venv/bin/python benchmarks/neighbors.py [processes]

Writes benchmarks/results/neighbors.json. A parallel region of PyTorch waits for its last thread, and beside
busy processes a thread waits for its time slice. Each fresh process times `icl.tensor_trick.gradient` and
autograd in turn with two threads, and reports the median of each; a slowdown is the worst process beside
busy ones over the median process alone. What the machine does otherwise counts as busy, too: it is printed.
"""

import json
import os
import statistics
import subprocess
import sys

from common import save

THREADS, SIZE = 2, 2048
TIMED = """
import json, sys, time
import torch
from statistics import median
from icl.tensor_trick import gradient
def autograd(A1, A2, X, B, kind):
    X = X.detach().requires_grad_()
    value = 0.5 * (torch.softmax(A1 @ X @ A2.T, -1) - B).square().sum()
    return torch.autograd.grad(value, X)[0]
n, dtype = int(sys.argv[1]), getattr(torch, sys.argv[2])
torch.set_num_threads(int(sys.argv[3]))
draw = torch.Generator().manual_seed(0)
A1, A2 = (torch.randn(n, 64, generator=draw, dtype=dtype) for _ in range(2))
X = torch.randn(64, 64, generator=draw, dtype=dtype) / 512
B = torch.randn(n, n, generator=draw, dtype=dtype).softmax(-1)
calls = {"ours": gradient, "autograd": autograd}
a, b = (call(A1, A2, X, B, "normalized") for call in calls.values())
assert torch.allclose(a, b, rtol=1e-3, atol=1e-3 * float(b.abs().max()))
seconds = {name: [] for name in calls}
for _ in range(7):
    for name, call in calls.items():
        begun = time.perf_counter()
        call(A1, A2, X, B, "normalized")
        seconds[name].append(time.perf_counter() - begun)
print(json.dumps({name: median(values) for name, values in seconds.items()}))
"""
# ends with the process that began it, however that ends
BUSY = """
import os
import numpy as np
x, parent = np.ones(2**18), os.getppid()
while os.getppid() == parent:
    np.exp(-x)
"""


def fresh(dtype):
    command = [sys.executable, "-c", TIMED, str(SIZE), dtype, str(THREADS)]
    env = os.environ | {"OMP_NUM_THREADS": str(THREADS)}
    return json.loads(subprocess.run(command, env=env, check=True, capture_output=True).stdout)


def compared(dtype, processes):
    alone = [fresh(dtype) for _ in range(processes)]
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(2)]
    try:
        beside = [fresh(dtype) for _ in range(processes)]
    finally:
        for process in busy:
            process.kill()
    found = {}
    for name in ("ours", "autograd"):
        usual = statistics.median(run[name] for run in alone)
        found[name] = {
            "ms alone": 1e3 * usual,
            "ms beside, median": 1e3 * statistics.median(run[name] for run in beside),
            "worst slowdown": max(run[name] for run in beside) / usual,
        }
    found["ours to autograd"] = (
        found["ours"]["worst slowdown"] / found["autograd"]["worst slowdown"]
    )
    return found


def main():
    processes = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    parts = {
        "threads": THREADS,
        "n": SIZE,
        "clock": "wall",
        "processes": processes,
        "cores": os.cpu_count(),
        "load before": os.getloadavg()[0],
    }
    for dtype in ("float32", "float64"):
        parts[dtype] = lambda dtype=dtype: compared(dtype, processes)
    save("neighbors", parts)


if __name__ == "__main__":
    main()
