"""A GPU against the processor beside it: pretraining a sweep.

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
from pretraining import LIPSCHITZ, NOISE, RATE, SEEDS, loop, members_of

from icl.pretrain import pretrain
from icl.tasks import ReLU

NATIVE = {"stream": "native", "dtype": "float32"}
#: d, n, contexts a step, seeds, steps of the loop and of the sweep
SETTINGS = {
    "small": (5, 20, 256, SEEDS, 200, 200),
    "wide": (5, 20, 4096, SEEDS, 100, 50),
    "long": (20, 1000, 256, 1, 20, 8),
}
PLACES = (("GPU", "cuda"), ("processor", "cpu"))


def seconds(call, many=1):
    """Wall seconds of one of ``many`` calls, the GPU's work included."""

    def all_calls():
        for _ in range(many):
            call()

    return clock(all_calls, torch.cuda.synchronize)[0] / many


def work(d, n, units, token_sets):
    """What a step must do at least, for each context of the batch: counts over all units."""
    return {
        "normal numbers": token_sets * ((n + 1) * (d + 1) + d + 3),
        "exponentials": units * n,
        # scores, and the sum of pulls; labels and the rest are neglected
        "multiply-adds": units * 2 * n * d,
    }


def limits():
    """What the GPU does a second, by its own library."""
    size, side = 2**28, 8192
    x = torch.empty(size, device="cuda")
    a = torch.randn(side, side, device="cuda")
    return {
        "normal numbers": size / best(x.normal_),
        "exponentials": size / best(partial(torch.exp, x, out=x.clone())),
        "multiply-adds": side**3 / best(partial(torch.matmul, a, a)),
    }


def best(call):
    call()
    return min(seconds(call, 3) for _ in range(5))


def sweep(d, n, batch_size, seeds, slow_steps, fast_steps, rates, repeats):
    """A step of all units: the loop on the GPU, the sweep on it, the sweep on the processor, all threads."""
    members = members_of(ReLU(d), n, LIPSCHITZ, seeds)
    units = len(LIPSCHITZ) * seeds
    calls = {
        "loop, GPU": (
            partial(loop, ReLU(d), NOISE, n, slow_steps, batch_size, "cuda"),
            units / slow_steps,
        )
    }
    for name, some in members.items():
        step = partial(pretrain, some, fast_steps, batch_size, RATE, **NATIVE)
        step = partial(step, shared_tokens=name == "shared across L")
        calls |= {
            f"{name}, {where}": (partial(step, device=device), 1 / fast_steps)
            for where, device in PLACES
        }
    for call, _ in calls.values():
        call()  # compiled and allocated by now
    times = interleaved(
        {name: partial(seconds, call) for name, (call, _) in calls.items()}, repeats
    )
    times = {name: values * calls[name][1] for name, values in times.items()}
    out = {"d": d, "n": n, "batch": batch_size, "units": units}
    out["ms a step"] = {name: spread(1e3 * values) for name, values in times.items()}
    for name, sets in (("separate tokens", units), ("shared across L", seeds)):
        needs, ours = work(d, n, units, sets), times[f"{name}, GPU"]
        # one after the other
        least = batch_size * sum(needs[k] / rates[k] for k in needs)
        out[name] = {
            "over the loop on the GPU": spread(times["loop, GPU"] / ours),
            "over the processor": spread(times[f"{name}, processor"] / ours),
            "contexts a second": spread(units * batch_size / ours),
            "fraction of the limit": spread(least / ours),
        }
    return out


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
        "pretraining": lambda: {
            name: sweep(*setting, rates, repeats) for name, setting in SETTINGS.items()
        },
    }
    save("gpu", parts)


if __name__ == "__main__":
    main()
