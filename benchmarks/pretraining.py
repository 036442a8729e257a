"""A step of many units at once, against four ways in which a user of PyTorch trains them.

    make bench      or      .venv/bin/python benchmarks/pretraining.py [cpu|cuda] [repeats] [seconds]

Writes benchmarks/results/pretraining.json, or pretraining_gpu.json. The competitors draw contexts of the ReLU
class and train in single precision with Adam: a *loop* over units, with autograd; one *stack* of all units,
eagerly, under ``torch.compile``, and on a GPU *captured* in a CUDA graph; and the gradient in *closed form*,
25 lines under ``torch.compile``. All are first checked to make the same steps on the same batches. In each
repeat they run one after the other, and ratios are taken within a repeat. On a processor the clock is CPU
time of the process with one thread and wall time with two; on a GPU it is wall time. Settings that begin
after so many seconds (240 by default on a GPU) are left out, and named.
"""

import os
import sys
import time
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from common import clock, interleaved, save, spread

from icl.pretrain import UnitConfig, pretrain
from icl.tasks import ReLU

LIPSCHITZ = (0.1, 0.3, 1.0, 3.0, 10.0)
NOISE, RATE = 0.1, 0.05
#: d, n, contexts a step, seeds, our steps and those of the others. Ours use up whole blocks of native random
#: numbers; on a GPU they are the 2000 of `train_grid`, over which it spreads what it does once.
SETTINGS = {
    "cpu": [(5, 20, 256, 10, 96, 96), (20, 1000, 256, 1, 8, 8)],
    "cuda": [
        (5, 20, 256, 10, 2048, 2048),
        (5, 20, 4096, 10, 2028, 256),
        (5, 1000, 256, 10, 2002, 256),
        (20, 1000, 256, 1, 2004, 512),
    ],
}


@dataclass
class Sweep:
    """S token sets, each seen by K units: all Lipschitz constants, or one of them with separate tokens."""

    d: int
    n: int
    batch: int
    seeds: int
    steps: int
    others: int
    shared: bool
    device: str

    def __post_init__(self):
        scale = torch.tensor(LIPSCHITZ, device=self.device).repeat(self.seeds, 1)
        self.scale = scale if self.shared else scale.reshape(-1, 1)
        self.shape = (*self.scale.shape, self.d, self.d)

    def units(self):
        """The units of `icl.pretrain` in the same order."""
        places = [(s, k) for s in range(self.seeds) for k in range(len(LIPSCHITZ))]
        return [
            UnitConfig(ReLU(self.d, LIPSCHITZ[k]), NOISE, self.n, s + 1000 * k * (not self.shared))
            for s, k in places
        ]


def draw(sweep):
    """Tokens (S, B, n + 1, d), and labels (S, K, B, n + 1)."""
    new = partial(torch.empty, device=sweep.device)
    S, size = len(sweep.scale), (sweep.batch, sweep.n + 1)
    x = F.normalize(new(S, *size, sweep.d).normal_(), dim=-1)
    q = F.normalize(new(S, sweep.batch, sweep.d, 1).normal_(), dim=-2)
    right, left, b = new(3, S, sweep.batch, 1).uniform_(-1, 1)
    t = (x @ q).squeeze(-1)
    f = right * t.relu() + left * (-t).relu() + b
    y = sweep.scale[:, :, None, None] * f[:, None] + NOISE * new(S, 1, *size).normal_()
    return x, y


def draw_columns(sweep):
    """The same with contexts innermost: tokens (S, 1, d, n + 1, B), and labels (S, K, n + 1, B)."""
    new = partial(torch.randn, device=sweep.device)
    S, size = len(sweep.scale), (sweep.n + 1, sweep.batch)
    x, q = new(S, 1, sweep.d, *size), new(S, 1, sweep.d, 1, sweep.batch)
    x, q = (part * part.square().sum(2, keepdim=True).rsqrt() for part in (x, q))
    right, left, b = torch.rand(3, S, 1, 1, sweep.batch, device=sweep.device) * 2 - 1
    t = (x * q).sum(2)
    f = right * t.relu() + left * (-t).relu() + b
    return x, sweep.scale[:, :, None, None] * f + NOISE * new(S, 1, *size)


def loss(M, x, y):
    """The sum of the mean losses of all units, as anybody would write it."""
    z = x[:, None, :, -1] @ M.mT  # (S, K, B, d)
    scores = x[:, :, :-1] @ z.permute(0, 2, 3, 1)  # (S, B, n, K)
    weights = torch.softmax(scores.permute(0, 3, 1, 2), -1)
    prediction = (weights * y[..., :-1]).sum(-1)
    return (prediction - y[..., -1]).square().mean(-1).sum()


def train_stack(sweep, steps, batches=None, loss=loss):
    """All units as one leaf: Adam works entry by entry, so that every unit takes its own path."""
    M = torch.zeros(sweep.shape, device=sweep.device, requires_grad=True)
    optimizer = torch.optim.Adam([M], lr=RATE, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    for step in range(steps):
        optimizer.zero_grad()
        loss(M, *(draw(sweep) if batches is None else batches[step])).backward()
        optimizer.step()
        schedule.step()
    return M.detach()


def train_loop(sweep, steps, batches):
    """One unit after the other, on the batches of the stack."""
    M = torch.empty(sweep.shape, device=sweep.device)
    for s, k in np.ndindex(sweep.scale.shape):
        one = Sweep(**{name: vars(sweep)[name] for name in Sweep.__dataclass_fields__})
        one.scale, one.shape = sweep.scale[s : s + 1, k : k + 1], (1, 1, sweep.d, sweep.d)
        own = [(x[s : s + 1], y[s : s + 1, k : k + 1]) for x, y in batches] if batches else None
        M[s, k] = train_stack(one, steps, own)[0, 0]
    return M


def train_captured(sweep, steps):
    """The stack with random numbers, step size and optimizer in a CUDA graph of one step."""
    M = torch.zeros(sweep.shape, device=sweep.device, requires_grad=True)
    rate, at = torch.tensor(RATE, device=sweep.device), torch.zeros((), device=sweep.device)
    optimizer = torch.optim.Adam([M], lr=rate, fused=True, capturable=True)

    def step():
        rate.copy_(RATE * (1 - at / steps))
        at.add_(1)
        optimizer.zero_grad(set_to_none=False)
        loss(M, *draw(sweep)).backward()
        optimizer.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    for _ in range(steps - 3):
        graph.replay()
    return M.detach()


def closed_step(M, mean, square, x, y, share, step):
    """One step of Adam with the gradient in closed form, 2 (p - y_q) sum omega_i (y_i - p) x_i x_q'."""
    tokens, query, labels = x[..., :-1, :], x[..., -1, :], y[..., :-1, :]
    u = (M[..., None] * query[:, :, None]).sum(3)
    omega = torch.softmax((u[:, :, :, None] * tokens).sum(2), 2)
    p = (omega * labels).sum(2, keepdim=True)
    error = 2 / x.shape[-1] * (p - y[..., -1:, :])
    pull = (tokens * (error * omega * (labels - p))[:, :, None]).sum(3)
    gradient = pull @ query.mT
    mean = mean + 0.1 * (gradient - mean)
    square = square + 0.001 * (gradient * gradient - square)
    size = (square / (1 - 0.999**step)).sqrt() + 1e-8
    return M - RATE * share * mean / (1 - 0.9**step) / size, mean, square


def drawn_step(sweep, M, mean, square, share, step):
    """The step with its random numbers, which the compiler of a GPU draws inside."""
    return closed_step(M, mean, square, *draw_columns(sweep), share, step)


def train_closed(sweep, steps, batches=None, step=closed_step):
    """All units by the closed form; a compiled step draws inside on a GPU, outside on a processor."""
    state = tuple(torch.zeros(sweep.shape, device=sweep.device) for _ in range(3))
    counts = torch.arange(1.0, steps + 1, device=sweep.device)
    schedule = torch.stack([1 - (counts - 1) / steps, counts], 1)
    for t in range(steps):
        at = schedule[t].unbind()
        if batches is None and sweep.device == "cuda":
            torch.compiler.cudagraph_mark_step_begin()
            state = tuple(part.clone() for part in step(sweep, *state, *at))
        else:
            x, y = draw_columns(sweep) if batches is None else batches[t]
            state = step(*state, x, y, *at)
    return state[0]


def train_ours(sweep, steps, **options):
    fast = {"stream": "native", "dtype": "float32"} | options
    return pretrain(
        sweep.units(), steps, sweep.batch, RATE, sweep.device, shared_tokens=sweep.shared, **fast
    )


def same_thing(device):
    """How far the matrices of the competitors are from ours on the same batches, relative to their size."""
    from icl.pretrain.batches import TokenSets

    sweep, differences, steps = Sweep(5, 20, 64, 2, 32, 32, True, device), {}, 32
    trained = train_ours(sweep, steps)
    ours = trained.M.reshape(sweep.shape)
    drawing = sweep.batch, "native", "float32", device
    sets = [TokenSets([trained.units[s : s + 5]], *drawing) for s in (0, 5)]
    columns = []
    while len(columns) < steps:
        drawn = zip(*(one.draw(len(columns) // sets[0].steps) for one in sets), strict=True)
        x, y = (torch.cat(parts, 1) for parts in drawn)
        columns += zip(x.unsqueeze(2), y, strict=True)
    columns = columns[:steps]
    rows = [(a[:, 0].permute(0, 3, 2, 1), b.permute(0, 1, 3, 2)) for a, b in columns]
    others = {
        "loop": train_loop(sweep, steps, rows),
        "stack": train_stack(sweep, steps, rows),
        "closed form": train_closed(sweep, steps, columns),
    }
    for name, M in others.items():
        differences[name] = float(np.abs(M.cpu().numpy() - ours).max() / np.abs(ours).max())
        assert differences[name] < 1e-3, f"{name} must compute the same thing: {differences}"
    return differences


def contenders(sweep):
    """Calls that take some steps, by name, and how many steps of all units each takes."""
    cuda = sweep.device == "cuda"
    steps = sweep.others
    few = max(2, min(4 if cuda else 8, steps // 32))
    # on a GPU these take many times as long as the others
    some = steps // 4 if cuda else steps
    calls = {
        "ours": (partial(train_ours, sweep, sweep.steps), sweep.steps),
        "loop": (partial(train_loop, sweep, few, None), few),
        "stack": (partial(train_stack, sweep, some), some),
    }
    if cuda:
        calls["stack, captured"] = (partial(train_captured, sweep, steps), steps)
    torch._dynamo.reset()
    options = {"mode": "reduce-overhead"} if cuda else {}
    compiled = torch.compile(loss, dynamic=False)
    closed = torch.compile(
        partial(drawn_step, sweep) if cuda else closed_step, dynamic=False, **options
    )
    step = (lambda _, *rest: closed(*rest)) if cuda else closed
    calls["stack, compiled"] = (partial(train_stack, sweep, some, loss=compiled), some)
    calls["closed form, compiled"] = (partial(train_closed, sweep, steps, step=step), steps)
    return calls


def measured(sweep, threads, repeats):
    """Milliseconds for one step of all units, and how many times as long as ours the others take."""
    torch.set_num_threads(threads)
    calls = contenders(sweep)
    wait = torch.cuda.synchronize if sweep.device == "cuda" else lambda: None
    column, name = (1, "CPU") if sweep.device == "cpu" and threads == 1 else (0, "wall")
    for call, _ in calls.values():
        call()  # compiled and allocated by now
    measures = {key: partial(clock, call, wait) for key, (call, _) in calls.items()}
    seconds = interleaved(measures, repeats)
    seconds = {key: values[:, column] / calls[key][1] for key, values in seconds.items()}
    return {
        **{key: vars(sweep)[key] for key in ("d", "n", "batch", "shared")},
        "units": sweep.scale.numel(),
        "threads": threads,
        "clock": name,
        "ms a step": {key: spread(1e3 * values) for key, values in seconds.items()},
        "times ours": {
            key: spread(values / seconds["ours"])
            for key, values in seconds.items()
            if key != "ours"
        },
    }


def settings(device, repeats, limit):
    """All settings that begin before the limit, and the names of the others."""
    begun, found, left_out = time.monotonic(), [], []
    for threads in (1, 2) if device == "cpu" else (torch.get_num_threads(),):
        for setting in SETTINGS[device]:
            for shared in (False, True):
                if time.monotonic() - begun > limit:
                    left_out.append([*setting, "shared" if shared else "separate", threads])
                    continue
                found.append(measured(Sweep(*setting, shared, device), threads, repeats))
                print(found[-1], flush=True)
    return {"measured": found, "left out": left_out}


def main():
    device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    limit = float(sys.argv[3]) if len(sys.argv) > 3 else 240 if device == "cuda" else np.inf
    if device == "cuda" and not torch.cuda.is_available():
        print("no GPU here: nothing measured")
        return
    parts = {
        "device": torch.cuda.get_device_name() if device == "cuda" else "processor",
        "torch": torch.__version__,
        "repeats": repeats,
        "load before": os.getloadavg()[0],
        "differences": partial(same_thing, device),
        "settings": partial(settings, device, repeats, limit),
        "load after": lambda: os.getloadavg()[0],
    }
    save("pretraining" if device == "cpu" else "pretraining_gpu", parts)


if __name__ == "__main__":
    main()
