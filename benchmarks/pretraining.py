"""Training 50 units at once against two ways of plain PyTorch: a loop over the units, and one stack of all.

    make bench      or      .venv/bin/python benchmarks/pretraining.py [repeats]

Writes benchmarks/results/pretraining.json. In each repeat all competitors run one after the other, and
ratios are taken within a repeat. Wall time suffers where the machine has other work; CPU time of the process
is given beside it. Every competitor draws its own contexts and trains in single precision with Adam.
"""

import os
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from common import clock, interleaved, save, spread

from icl.pretrain import UnitConfig, pretrain
from icl.pretrain.batches import BatchSampler
from icl.tasks import ReLU

LIPSCHITZ = (0.1, 0.3, 1.0, 3.0, 10.0)
SEEDS = 10
NOISE = 0.1
RATE = 0.05
THREADS = torch.get_num_threads()
FAST = {"stream": "native", "dtype": "float32"}


def draw(task, noise_std, n, batch_size, device="cpu"):
    """A batch of the ReLU class, as a PyTorch user draws it: tokens (B, n + 1, d) and labels (B, n + 1)."""
    x = F.normalize(torch.randn(batch_size, n + 1, task.dim, device=device), dim=-1)
    q = F.normalize(torch.randn(batch_size, task.dim, 1, device=device), dim=1)
    coefficients = torch.empty(3, batch_size, 1, device=device)
    right, left, b = coefficients.uniform_(-task.lipschitz, task.lipschitz)
    t = (x @ q).squeeze(-1)
    noise = torch.randn(batch_size, n + 1, device=device)
    return x, right * t.relu() + left * (-t).relu() + b + noise_std * noise


def loop(task, noise_std, n, steps, batch_size, device="cpu", batches=None):
    """One unit: autograd and fused Adam. Its time is counted once for each unit."""
    M = torch.zeros(task.dim, task.dim, device=device, requires_grad=True)
    optimizer = torch.optim.Adam([M], lr=RATE, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    for step in range(steps):
        if batches is None:
            x, y = draw(task, noise_std, n, batch_size, device)
        else:
            x, y = batches(step)
        scores = (x[:, :-1] @ (x[:, -1] @ M.T).unsqueeze(-1)).squeeze(-1)
        prediction = (torch.softmax(scores, -1) * y[:, :-1]).sum(-1)
        loss = F.mse_loss(prediction, y[:, -1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return M.detach()


def stacked(dim, lipschitz, noise_std, n, steps, batch_size, device="cpu"):
    """All units as one leaf: S token sets, each shared by the K units of a row of ``lipschitz`` (S, K).

    Scores are one batched product of matrices; the losses of all units are added, and Adam works entry by
    entry, so every unit takes the path that it takes alone.
    """
    S, K = lipschitz.shape
    scale = lipschitz.to(device)[:, :, None, None]
    M = torch.zeros(S, K, dim, dim, device=device, requires_grad=True)
    optimizer = torch.optim.Adam([M], lr=RATE, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    for _ in range(steps):
        x, f = draw(ReLU(dim), 0.0, n, S * batch_size, device)
        x = x.reshape(S, batch_size, n + 1, dim)
        f = f.reshape(S, 1, batch_size, n + 1)
        y = scale * f + noise_std * torch.randn_like(f)  # (S, K, B, n + 1)
        z = x[:, None, :, -1] @ M.mT  # (S, K, B, d)
        scores = x[:, :, :-1] @ z.permute(0, 2, 3, 1)  # (S, B, n, K)
        weights = torch.softmax(scores.permute(0, 3, 1, 2), -1)
        prediction = (weights * y[..., :-1]).sum(-1)
        loss = ((prediction - y[..., -1]) ** 2).mean(-1).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return M.detach()


def same_thing():
    """The loop on the batches of `pretrain`: how far the matrices are apart, relative to their size."""
    member = UnitConfig(ReLU(5), NOISE, 20, 3)
    trained = pretrain([member], 200, 256, RATE, **FAST)
    source = BatchSampler([[member]], trained.settings, torch.device("cpu"))

    def batches(step):
        x, y = source.batch(step)
        return x[0, 0].permute(2, 1, 0).contiguous(), y[0, 0].T.contiguous()

    slow = loop(member.task, NOISE, 20, 200, 256, batches=batches).numpy()
    difference = float(np.abs(trained.M[0] - slow).max() / np.abs(slow).max())
    assert difference < 1e-3, "the competitors must compute the same thing"
    return difference


def with_threads(count, call):
    torch.set_num_threads(count)
    try:
        return call()
    finally:
        torch.set_num_threads(THREADS)


def fastest_threads(call):
    """The number of threads, one or all, with which a call takes less wall time."""

    def seconds(count):
        with_threads(count, call)
        return with_threads(count, lambda: clock(call))[0]

    return min({1, THREADS}, key=seconds)


def members_of(task, n, values, seeds):
    """Units for every Lipschitz constant and seed; those of one seed see the same tokens, or none do."""
    units = [
        [UnitConfig(replace(task, lipschitz=L), NOISE, n, s) for s in range(seeds)] for L in values
    ]
    apart = [[replace(u, seed=1000 * k + u.seed) for u in row] for k, row in enumerate(units)]
    return {"separate tokens": sum(apart, []), "shared across L": sum(units, [])}


def sweep(d, n, batch_size, values, seeds, slow_steps, fast_steps, repeats):
    """Milliseconds for one step of all units, and how many times faster `pretrain` is."""
    units = len(values) * seeds
    lipschitz = torch.tensor(values).repeat(seeds, 1)  # (seeds, L)
    stacks = {"separate tokens": lipschitz.reshape(-1, 1), "shared across L": lipschitz}
    one = partial(loop, ReLU(d), NOISE, n, slow_steps, batch_size)
    calls = {"loop": (one, units / slow_steps)}
    for name, members in members_of(ReLU(d), n, values, seeds).items():
        shared = name != "separate tokens"
        stack = partial(stacked, d, stacks[name], NOISE, n, fast_steps, batch_size)
        ours = partial(pretrain, members, fast_steps, batch_size, RATE, **FAST)
        calls[f"stack, {name}"] = (stack, 1 / fast_steps)
        calls[name] = (partial(ours, shared_tokens=shared), 1 / fast_steps)
    threads = {name: fastest_threads(call) for name, (call, _) in calls.items()}
    measures = {
        name: partial(with_threads, threads[name], partial(clock, call))
        for name, (call, _) in calls.items()
    }
    seconds = interleaved(measures, repeats)  # columns: wall, CPU
    for name, (_, share) in calls.items():
        seconds[name] = seconds[name] * share

    def both(values):
        return {"wall": spread(values[:, 0]), "CPU": spread(values[:, 1])}

    table = {"d": d, "n": n, "batch": batch_size, "units": units, "threads": threads}
    table["ms a step"] = {name: both(1e3 * values) for name, values in seconds.items()}
    for name in stacks:
        table[name] = {
            "times faster than the loop": both(seconds["loop"] / seconds[name]),
            "times faster than the stack": both(seconds[f"stack, {name}"] / seconds[name]),
        }
    return table


def main():
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    parts = {
        "threads": THREADS,
        "load before": os.getloadavg(),
        "difference of the competitors": same_thing,
        # 96 steps use up whole blocks of 16 steps' random numbers, as a long run does
        "sweep": partial(sweep, 5, 20, 256, LIPSCHITZ, SEEDS, 300, 96, repeats),
        "large": partial(sweep, 20, 1000, 256, LIPSCHITZ, 1, 8, 8, max(3, repeats // 2)),
        "load after": os.getloadavg,
    }
    save("pretraining", parts)


if __name__ == "__main__":
    main()
