"""Attention on one's own data against PyTorch's own attention and the nearest neighbors of scikit-learn.

    make bench      or      .venv/bin/python benchmarks/own_data.py [rounds] [threads]

Writes benchmarks/results/own_data.json. All predict the same queries from the same tokens, PyTorch's
``scaled_dot_product_attention`` by the same formula. Attention and neighbors choose
their one parameter by leaving one out: the window on the whole curve, the number up to 200 from one search.
All run in turn, round after round, with the same number of threads for BLAS, OpenMP and PyTorch; a ratio is
the median over rounds of (the competitor's seconds / ours).
"""

import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
from common import clock, interleaved, save
from sklearn.neighbors import KNeighborsRegressor
from threadpoolctl import threadpool_limits

from icl import best_window, predict
from icl.streams import stream

THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else 2
N, DIM, QUERIES, MAX_NEIGHBORS = 10_000, 10, 2_000, 200


def data():
    """Labels of a linear function with noise at uniform tokens, and queries."""
    rng = stream(0, "evaluation")
    tokens = rng.standard_normal((N + QUERIES, DIM))
    tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
    labels = tokens[:N, 0] + 0.3 * rng.standard_normal(N)
    return tokens[:N], labels, tokens[N:]


def by_pytorch(X, y, queries, w):
    """Predict as anybody would by PyTorch, with labels padded to the width of tokens, which is faster."""
    x, q = (torch.from_numpy(part)[None, None] for part in (X, queries))
    labels = F.pad(torch.from_numpy(y)[:, None], (0, X.shape[1] - 1))[None, None]
    return F.scaled_dot_product_attention(q, x, labels, scale=w)[0, 0, :, 0].numpy()


def neighbors(X, y, queries, algorithm):
    model = KNeighborsRegressor(10, algorithm=algorithm).fit(X, y)
    return model.predict(queries)


def best_number(X, y, algorithm):
    """The number of neighbors with the least error of the label left out, from one search."""
    model = KNeighborsRegressor(MAX_NEIGHBORS, algorithm=algorithm).fit(X, y)
    near = model.kneighbors(return_distance=False)
    means = np.cumsum(y[near], axis=1) / np.arange(1, MAX_NEIGHBORS + 1)
    return 1 + int(np.mean((means - y[:, None]) ** 2, axis=0).argmin())


def compared(calls, rounds):
    wall = {name: lambda call=call: clock(call)[0] for name, call in calls.items()}
    for call in calls.values():
        call()
    seconds = interleaved(wall, rounds)
    return {
        "median_seconds": {name: float(np.median(s)) for name, s in seconds.items()},
        "times_ours": {
            name: float(np.median(s / seconds["attention"])) for name, s in seconds.items()
        },
    }


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    X, y, queries = data()
    w = best_window(X, y).w
    np.testing.assert_allclose(predict(X, y, queries, w), by_pytorch(X, y, queries, w), atol=1e-4)
    predicting = {
        "attention": lambda: predict(X, y, queries, w),
        "PyTorch": lambda: by_pytorch(X, y, queries, w),
    }
    choosing = {"attention": lambda: best_window(X, y)}
    for algorithm in ("kd_tree", "brute"):
        name = f"neighbors, {algorithm}"
        predicting[name] = lambda a=algorithm: neighbors(X, y, queries, a)
        choosing[name] = lambda a=algorithm: best_number(X, y, a)
    torch.set_num_threads(THREADS)
    with threadpool_limits(THREADS):
        parts = {
            "threads": THREADS,
            "rounds": rounds,
            "n": N,
            "d": DIM,
            "queries": QUERIES,
            "load_before": os.getloadavg()[0],
            "predict": lambda: compared(predicting, rounds),
            "choose": lambda: compared(choosing, max(1, rounds // 3)),
            "load_after": lambda: os.getloadavg()[0],
        }
        save("own_data", parts)


if __name__ == "__main__":
    main()
