"""A GPU against the processor beside it: pretraining a sweep, and the gradient of the softmax regression.

    make bench      or      .venv/bin/python benchmarks/gpu.py [repeats]

Writes benchmarks/results/gpu.json; does nothing on a machine without a GPU. In each repeat all competitors
run one after the other, and ratios are taken within a repeat. Every competitor is checked to compute the same
thing. The limit of a GPU is measured in the same run: what its own library draws, exponentiates and
multiplies a second at sizes that fill it, in the precision that is used (no TF32).
"""

import sys
from functools import partial

import torch
from common import clock, interleaved, save, spread
from pretraining import LIPSCHITZ, NOISE, RATE, SEEDS, loop, members_of, work

from icl.pretrain import pretrain
from icl.streams import stream
from icl.tasks import ReLU
from icl.tensor_trick import gradient

NATIVE = {"stream": "native", "dtype": "float32"}
#: d, n, contexts a step, seeds, steps of the loop and of the sweep
SETTINGS = {
    "small": (5, 20, 256, SEEDS, 200, 200),
    "wide": (5, 20, 4096, SEEDS, 100, 50),
    "long": (20, 1000, 256, 1, 20, 8),
}
PLACES = (("GPU", "cuda"), ("processor", "cpu"))
ROWS = ((8192, 64, torch.float64), (8192, 64, torch.float32))


def seconds(call, many=1):
    """Wall seconds of one of ``many`` calls, the GPU's work included."""

    def all_calls():
        for _ in range(many):
            call()

    return clock(all_calls, torch.cuda.synchronize)[0] / many


def limits():
    """What the GPU does a second, by its own library."""
    size, side = 2**28, 8192
    x = torch.empty(size, device="cuda")
    found = {
        "normal numbers": size / best(x.normal_),
        "exponentials": size / best(partial(torch.exp, x, out=x.clone())),
        "bytes copied": 8 * size / best(x.clone),
    }
    for name, dtype in (("float32", torch.float32), ("float64", torch.float64)):
        a = torch.randn(side, side, device="cuda", dtype=dtype)
        found[f"multiply-adds {name}"] = side**3 / best(partial(torch.matmul, a, a))
    return found


def best(call):
    call()
    return min(seconds(call, 3) for _ in range(5))


def sweep(d, n, batch_size, seeds, slow_steps, fast_steps, rates, repeats):
    """A step of all units: the loop on the GPU, the sweep on it, the sweep on the processor, all threads."""
    members = members_of(ReLU(d), n, LIPSCHITZ, seeds)
    units = len(LIPSCHITZ) * seeds
    calls = {
        "loop, GPU": (partial(loop, ReLU(d), NOISE, n, slow_steps, batch_size, "cuda"), units / slow_steps)
    }
    for name, some in members.items():
        step = partial(pretrain, some, fast_steps, batch_size, RATE, **NATIVE)
        step = partial(step, shared_tokens=name == "shared across L")
        calls |= {
            f"{name}, {where}": (partial(step, device=device), 1 / fast_steps) for where, device in PLACES
        }
    for call, _ in calls.values():
        call()  # compiled and allocated by now
    times = interleaved({name: partial(seconds, call) for name, (call, _) in calls.items()}, repeats)
    times = {name: values * calls[name][1] for name, values in times.items()}
    out = {"d": d, "n": n, "batch": batch_size, "units": units}
    out["ms a step"] = {name: spread(1e3 * values) for name, values in times.items()}
    for name, sets in (("separate tokens", units), ("shared across L", seeds)):
        needs, ours = work(d, n, units, sets), times[f"{name}, GPU"]
        least = batch_size * sum(
            needs[k] / rates[k if k in rates else f"{k} float32"] for k in needs
        )  # one after the other
        out[name] = {
            "over the loop on the GPU": spread(times["loop, GPU"] / ours),
            "over the processor": spread(times[f"{name}, processor"] / ours),
            "contexts a second": spread(units * batch_size / ours),
            "fraction of the limit": spread(least / ours),
        }
    return out


def regression(n, d, dtype, rates, repeats):
    """The gradient of the normalized regression: ours on the GPU and the processor, autograd on the GPU."""
    rng = stream(0, "evaluation")
    A1, A2, X, B = (
        torch.as_tensor(rng.standard_normal(s), dtype=dtype) for s in ((n, d), (n, d), (d, d), (n, n))
    )
    X, B = X / d, torch.softmax(B, -1)
    here, there = (A1, X, A2, B), tuple(t.cuda() for t in (A1, X, A2, B))

    def ours(A1, X, A2, B):
        return gradient(A1, A2, X, B, "normalized")

    def autograd(A1, X, A2, B):
        X = X.detach().requires_grad_()
        return torch.autograd.grad(0.5 * (torch.softmax(A1 @ X @ A2.T, -1) - B).square().sum(), X)[0]

    reference = ours(*(t.double() for t in here))
    calls = {
        "ours, GPU": lambda: ours(*there),
        "autograd, GPU": lambda: autograd(*there),
        "ours, processor": lambda: ours(*here),
    }
    off = {
        k: float((call().cpu().double() - reference).norm() / reference.norm()) for k, call in calls.items()
    }
    assert max(off.values()) < (1e-10 if dtype == torch.float64 else 1e-3), off
    once = {k: partial(seconds, call, 1 if "processor" in k else 10) for k, call in calls.items()}
    times = interleaved(once, repeats)
    name = str(dtype).removeprefix("torch.")
    least = 2 * n * n * d / rates[f"multiply-adds {name}"] + n * n / rates["exponentials"]
    memory = {}
    for which in ("ours, GPU", "autograd, GPU"):
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        calls[which]()
        memory[which] = torch.cuda.max_memory_allocated() - before
    return {
        "n": n,
        "d": d,
        "dtype": name,
        "relative difference to float64 on the processor": off,
        "ms": {key: spread(1e3 * values) for key, values in times.items()},
        "over autograd": spread(times["autograd, GPU"] / times["ours, GPU"]),
        "over the processor": spread(times["ours, processor"] / times["ours, GPU"]),
        "fraction of the limit": spread(least / times["ours, GPU"]),
        "peak bytes beyond the inputs": memory,
    }


def main():
    if not torch.cuda.is_available():
        print("no GPU here: nothing measured")
        return
    torch.backends.cuda.matmul.allow_tf32 = False
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    rates = limits()
    parts = {
        "gpu": torch.cuda.get_device_name(),
        "threads": torch.get_num_threads(),
        "limits a second": rates,
        "pretraining": lambda: {name: sweep(*setting, rates, repeats) for name, setting in SETTINGS.items()},
        "regression": lambda: [regression(*row, rates, repeats) for row in ROWS],
    }
    save("gpu", parts)


if __name__ == "__main__":
    main()
