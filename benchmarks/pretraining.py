"""Pretraining a sweep against the one-at-a-time autograd loop, and against what the machine can do.

    make bench      or      .venv/bin/python benchmarks/pretraining.py [repeats]

Writes benchmarks/results/pretraining.json. Every comparison is interleaved: in each repeat all
competitors run one after the other, and ratios are taken within a repeat. Wall time suffers where the
machine has other work; CPU time of the process is given beside it.
"""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from common import clock, interleaved, save, spread
from numba import njit

from icl.compiled import elementary, random_numbers
from icl.pretrain import UnitConfig, pretrain
from icl.pretrain.batches import BatchSampler
from icl.tasks import ReLU

LIPSCHITZ, SEEDS, NOISE, RATE = (0.1, 0.3, 1.0, 3.0, 10.0), 10, 0.1, 0.05
THREADS = torch.get_num_threads()
FAST = {"stream": "native", "dtype": "float32"}


def draw(task, noise_std, n, batch_size, device):
    """A batch of the ReLU class, as a PyTorch user draws it."""
    x = F.normalize(torch.randn(batch_size, n + 1, task.dim, device=device), dim=-1)
    q = F.normalize(torch.randn(batch_size, task.dim, 1, device=device), dim=1)
    right, left, b = torch.empty(3, batch_size, 1, device=device).uniform_(
        -task.lipschitz, task.lipschitz
    )
    t = (x @ q).squeeze(-1)
    return x, right * t.relu() + left * (-t).relu() + b + noise_std * torch.randn(
        batch_size, n + 1, device=device
    )


def loop(task, noise_std, n, steps, batch_size, device="cpu", batches=None):
    """The competitor: one unit, autograd, fused Adam, single precision."""
    M = torch.zeros(task.dim, task.dim, device=device, requires_grad=True)
    optimizer = torch.optim.Adam([M], lr=RATE, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: 1 - step / steps
    )
    for step in range(steps):
        x, y = (
            batches(step) if batches else draw(task, noise_std, n, batch_size, device)
        )
        scores = (x[:, :-1] @ (x[:, -1] @ M.T).unsqueeze(-1)).squeeze(-1)
        loss = F.mse_loss((torch.softmax(scores, -1) * y[:, :-1]).sum(-1), y[:, -1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return M.detach()


def same_thing():
    """Both on the same batches: how far the trained matrices are apart, relative to their size."""
    member = UnitConfig(ReLU(5), NOISE, 20, 3)
    trained = pretrain([member], 200, 256, RATE, **FAST)
    source = BatchSampler([[member]], trained.settings, torch.device("cpu"))

    def batches(step):
        x, y = source.batch(step)
        return x[0, 0].permute(2, 1, 0).contiguous(), y[0, 0].T.contiguous()

    slow = loop(member.task, NOISE, 20, 200, 256, batches=batches).numpy()
    fast = trained.M[0]
    difference = float(np.abs(fast - slow).max() / np.abs(slow).max())
    assert difference < 1e-3, "the competitors must compute the same thing"
    return difference


def with_threads(count, call):
    torch.set_num_threads(count)
    try:
        return call()
    finally:
        torch.set_num_threads(THREADS)


@njit(fastmath=True, nogil=True)
def exponentials(x, out):
    for i in range(x.size):
        out[i] = elementary.exp(x[i])


def side_by_side(amount):
    """Seconds for one normal number, exponential, multiply-add, all threads together: the fastest we know."""
    size = 2**14
    buffers = [
        (torch.empty(size), -torch.rand(size), torch.Generator())
        for _ in range(THREADS)
    ]
    arrays = [(out.numpy(), x.numpy()) for out, x, _ in buffers]
    square = [torch.rand(256, 256) for _ in range(THREADS)]
    key = np.zeros(2, np.uint32)
    jobs = {  # of PyTorch, and ours
        "normal numbers": (
            size,
            lambda k: buffers[k][0].normal_(generator=buffers[k][2]),
            lambda k: random_numbers.fill_normal(arrays[k][0], key, 0, 0, 0),
        ),
        "exponentials": (
            size,
            lambda k: torch.exp(buffers[k][1], out=buffers[k][0]),
            lambda k: exponentials(arrays[k][1], arrays[k][0]),
        ),
        "multiply-adds": (256**3, lambda k: square[k] @ square[k]),
    }
    out = {}
    with ThreadPoolExecutor(
        THREADS, initializer=torch.set_num_threads, initargs=(1,)
    ) as pool:
        for name, (each, *calls) in jobs.items():
            many, seconds = max(1, amount // each), []
            for call in calls:
                call(0)
                start = time.perf_counter()
                list(
                    pool.map(
                        lambda k, call=call, many=many: [call(k) for _ in range(many)],
                        range(THREADS),
                    )
                )
                seconds.append((time.perf_counter() - start) / (many * each * THREADS))
            out[name] = min(seconds)
    return out


def work(d, n, units, token_sets):
    """What a step must do at least, per context of the batch: counts over all units."""
    return {
        "normal numbers": token_sets * ((n + 1) * (d + 1) + d + 3),
        "exponentials": units * n,
        "multiply-adds": units * 2 * n * d,
    }  # scores, and the sum of pulls; labels and the rest neglected


def members_of(task, n, values, seeds):
    """Units for every Lipschitz constant and seed; those of one seed see the same tokens, or none do."""
    units = [
        [UnitConfig(replace(task, lipschitz=L), NOISE, n, s) for s in range(seeds)]
        for L in values
    ]
    apart = [
        [replace(u, seed=1000 * k + u.seed) for u in row] for k, row in enumerate(units)
    ]
    return {"separate tokens": sum(apart, []), "shared across L": sum(units, [])}


def sweep(d, n, batch_size, values, seeds, slow_steps, fast_steps, repeats):
    """The whole sweep against the loop; seconds are for one step of all its units."""
    members = members_of(ReLU(d), n, values, seeds)
    with_threads(
        1, lambda: pretrain(members["separate tokens"][:1], 1, 64, RATE, **FAST)
    )  # compiled by now
    units = len(values) * seeds
    token_sets = {"separate tokens": units, "shared across L": seeds}
    slow = partial(loop, ReLU(d), NOISE, n, slow_steps, batch_size)
    threads = min(
        (1, THREADS),
        key=lambda count: with_threads(count, lambda: (slow(), clock(slow)[0])[1]),
    )
    measures = {
        "loop": lambda: with_threads(threads, lambda: clock(slow)) / slow_steps * units,
        "rates": lambda: list(side_by_side(2**22).values()),
    }
    for name, some in members.items():
        fast = partial(
            pretrain,
            some,
            fast_steps,
            batch_size,
            RATE,
            shared_tokens=name != "separate tokens",
        )
        measures[name] = lambda fast=fast: clock(partial(fast, **FAST)) / fast_steps
    seconds = interleaved(measures, repeats)  # wall and CPU, for one step of all units
    rates = seconds.pop("rates")

    def times(name):
        return {
            f"ms a step, {kind}": spread(1e3 * seconds[name][:, k])
            for k, kind in enumerate(("wall", "CPU"))
        }

    table = {
        "d": d,
        "n": n,
        "batch": batch_size,
        "units": units,
        "threads of the loop": threads,
        "steps timed": {"loop": slow_steps, "sweep": fast_steps},
        "loop": times("loop"),
    }
    for name in members:
        ratio, wall = seconds["loop"] / seconds[name], seconds[name][:, 0]
        limit = batch_size * rates @ list(work(d, n, units, token_sets[name]).values())
        table[name] = times(name) | {
            "ratio, wall": spread(ratio[:, 0]),
            "ratio, CPU": spread(ratio[:, 1]),
            "contexts a second": spread(units * batch_size / wall),
            "fraction of the limit, wall": spread(limit / wall),
        }
    return table


def main():
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    parts = {
        "threads": THREADS,
        "load before": os.getloadavg(),
        "difference of the competitors": same_thing,
        "sweep": partial(sweep, 5, 20, 256, LIPSCHITZ, SEEDS, 300, 300, repeats),
        "large": partial(
            sweep, 20, 1000, 256, LIPSCHITZ, 1, 8, 8, max(3, repeats // 2)
        ),
        "load after": os.getloadavg,
    }
    save("pretraining", parts)


if __name__ == "__main__":
    main()
