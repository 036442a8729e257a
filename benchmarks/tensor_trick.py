"""The gradient and the Hessian product of the softmax regressions against other ways to them.

    make bench      or      .venv/bin/python benchmarks/tensor_trick.py [rounds] [threads]

Writes benchmarks/results/tensor_trick.json. All contenders of a setting run in turn, round after round; a
ratio is the median over rounds of (contender's seconds / ours), so that what else the machine does hits
both. Every contender is checked to compute the same numbers.
"""

import os
import sys

import numpy as np
import torch
from common import clock, interleaved, save

from icl.streams import stream
from icl.tensor_trick import gradient, hvp
from icl_book.measurements.tensor_trick import plain_gradient, plain_hvp

THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else 2
SETTINGS = ((2048, 64), (1024, 1024))


def value(A1, A2, X, B, kind):
    """The loss as anybody would write it."""
    S = A1 @ X @ A2.T
    if kind == "normalized":
        return 0.5 * (torch.softmax(S, -1) - B).square().sum()
    U = S.exp()
    return 0.5 * (U - U.sum(-1, keepdim=True) * B).square().sum()


def autograd(A1, A2, X, B, kind):
    X = X.detach().requires_grad_()
    return torch.autograd.grad(value(A1, A2, X, B, kind), X)[0]


def autograd_hvp(A1, A2, X, B, V, kind):
    X = X.detach().requires_grad_()
    slope = torch.autograd.grad(value(A1, A2, X, B, kind), X, create_graph=True)[0]
    return torch.autograd.grad(slope, X, V)[0]


def functional(A1, A2, X, B, kind):
    return torch.func.grad(lambda Y: value(A1, A2, Y, B, kind))(X)


def functional_hvp(A1, A2, X, B, V, kind):
    return torch.func.jvp(torch.func.grad(lambda Y: value(A1, A2, Y, B, kind)), (X,), (V,))[1]


def contenders(kind, product):
    return {
        "autograd": autograd_hvp if product else autograd,
        "torch.func": functional_hvp if product else functional,
        "closed form": plain_hvp if product else plain_gradient,
        # it needs a C++ compiler, and does not link where the path of PyTorch has a blank
        "torch.compile": torch.compile(functional_hvp if product else functional),
    }


def setting(n, d, dtype, kind, product, rounds):
    rng = stream(0, "evaluation")
    A1, A2, X, B, V = (
        torch.as_tensor(rng.standard_normal(shape), dtype=dtype)
        for shape in ((n, d), (n, d), (d, d), (n, n), (d, d))
    )
    given = (A1, A2, X / d**1.5, B.softmax(-1), *([V / d] if product else []))
    # ours are the public functions; "streaming" and "closed form" are the names of the two in the book
    ours, plain = (hvp, plain_hvp) if product else (gradient, plain_gradient)
    calls = {"streaming": ours} | contenders(kind, product)
    wanted = plain(*(t.double() for t in given), kind)
    for name, call in calls.items():
        error = ((call(*given, kind) - wanted).abs().max() / wanted.abs().max()).item()
        assert error < (1e-9 if dtype is torch.float64 else 1e-2), f"{name}: {error:.1e} off"
    wall = {
        name: lambda call=call: clock(lambda: call(*given, kind))[0] for name, call in calls.items()
    }
    seconds = interleaved(wall, rounds)
    ratio = {name: float(np.median(s / seconds["streaming"])) for name, s in seconds.items()}
    return {
        "n": n,
        "d": d,
        "dtype": str(dtype).removeprefix("torch."),
        "kind": kind,
        "what": "hvp" if product else "gradient",
        "median_seconds": {name: float(np.median(s)) for name, s in seconds.items()},
        "times_ours": ratio,
    }


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    torch.set_num_threads(THREADS)
    settings = [
        (n, d, dtype, kind, product, rounds)
        for n, d in SETTINGS
        for dtype in (torch.float32, torch.float64)
        for kind in ("normalized", "rescaled")
        for product in (False, True)
    ]
    parts = {
        "threads": THREADS,
        "rounds": rounds,
        "load_before": os.getloadavg()[0],
        "settings": lambda: [setting(*each) for each in settings],
        "load_after": lambda: os.getloadavg()[0],
    }
    save("tensor_trick", parts)


if __name__ == "__main__":
    main()
