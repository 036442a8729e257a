"""Gradient and prediction beside other work: fresh processes, alone and beside two busy ones.

    .venv/bin/python benchmarks/neighbors.py [processes]

Writes benchmarks/results/neighbors.json. A parallel region of PyTorch waits for its last thread, and beside
busy processes a thread waits for its time slice. Each fresh process times `icl.tensor_trick.gradient` and
autograd in turn with two threads, then `icl.predict` of arrays and PyTorch's attention, and gives the median
of each; a slowdown is the worst process beside busy ones over the median process alone. What the machine does
otherwise counts as busy, too: it is printed.
"""

import json
import os
import statistics
import subprocess
import sys

from common import save

THREADS, SIZE, TOKENS = 2, 2048, 10_000
TIMED = """
import json, sys, time
import torch
import torch.nn.functional as F
from statistics import median
from icl import predict
from icl.tensor_trick import gradient
def autograd(A1, A2, X, B, kind):
    X = X.detach().requires_grad_()
    value = 0.5 * (torch.softmax(A1 @ X @ A2.T, -1) - B).square().sum()
    return torch.autograd.grad(value, X)[0]
def on_arrays(x, y, queries, w):  # tensors would go to PyTorch's attention
    return torch.from_numpy(predict(x.numpy(), y.numpy(), queries.numpy(), w))
def attention(x, y, queries, w):
    labels = F.pad(y[:, None], (0, x.shape[1] - 1))[None, None]
    return F.scaled_dot_product_attention(queries[None, None], x[None, None], labels, scale=w)[0, 0, :, 0]
n, tokens, dtype = int(sys.argv[1]), int(sys.argv[2]), getattr(torch, sys.argv[3])
torch.set_num_threads(int(sys.argv[4]))
draw = torch.Generator().manual_seed(0)
def normal(*shape):
    return torch.randn(*shape, generator=draw, dtype=dtype)
A1, A2, X, B = normal(n, 64), normal(n, 64), normal(64, 64) / 512, normal(n, n).softmax(-1)
x, queries = (F.normalize(normal(count, 10)) for count in (tokens, 2000))
work = {
    "gradient": ({"ours": gradient, "rival": autograd}, (A1, A2, X, B, "normalized")),
    "predict": ({"ours": on_arrays, "rival": attention}, (x, x[:, 0] + normal(tokens), queries, 30.0)),
}
found = {}
for name, (calls, given) in work.items():
    a, b = (call(*given) for call in calls.values())
    assert torch.allclose(a, b, rtol=1e-3, atol=1e-3 * float(b.abs().max()))
    seconds = {who: [] for who in calls}
    for _ in range(7):
        for who, call in calls.items():
            begun = time.perf_counter()
            call(*given)
            seconds[who].append(time.perf_counter() - begun)
    found[name] = {who: median(values) for who, values in seconds.items()}
print(json.dumps(found))
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
    command = [sys.executable, "-c", TIMED, *map(str, (SIZE, TOKENS, dtype, THREADS))]
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
    return {name: slowdowns(name, alone, beside) for name in alone[0]}


def slowdowns(name, alone, beside):
    found = {}
    for who in ("ours", "rival"):
        usual = statistics.median(run[name][who] for run in alone)
        found[who] = {
            "ms alone": 1e3 * usual,
            "ms beside, median": 1e3 * statistics.median(run[name][who] for run in beside),
            "worst slowdown": max(run[name][who] for run in beside) / usual,
        }
    found["ours to rival"] = found["ours"]["worst slowdown"] / found["rival"]["worst slowdown"]
    return found


def main():
    processes = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    parts = {
        "threads": THREADS,
        "n": SIZE,
        "tokens": TOKENS,
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
