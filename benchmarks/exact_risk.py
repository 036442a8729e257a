"""The exact risk against plain Monte Carlo, against an independent reference, and against the clock.

    make bench      or      .venv/bin/python benchmarks/exact_risk.py [settings]

Writes benchmarks/results/exact_risk.json. Times are CPU seconds of one process on one thread; Monte
Carlo is this package's own vectorized sampler in float64, which checks to compute the same number.
"""

import os
import sys

# The oracles; icl comes before tests/icl.
sys.path.append(os.path.join(os.path.dirname(__file__), ".."))
sys.path.append(os.path.join(os.path.dirname(__file__), "..", "tests"))
# before NumPy is loaded: CPU seconds of one thread
os.environ.setdefault("OMP_NUM_THREADS", "1")

import time
from functools import partial

import numpy as np
from common import clock, save, spread

from icl.risk import monte_carlo_risk, optimal_window, population_risk
from icl.streams import stream
from icl.tasks import CLASSES, Affine, ReLU, make_task
from oracles import risk as oracle

#: The classes with a Lipschitz constant; functions that jump have none.
SCALED = [name for name in CLASSES if name != "sign"]


def values(task, w, n, repeats):
    """CPU seconds of single values at windows that differ a little: the panels of the last call are kept."""
    windows = iter(w * (1 + 1e-9 * np.arange(repeats)))
    return spread(
        [clock(lambda: population_risk(task, next(windows), n, 0.5))[1] for _ in range(repeats)]
    )


def evaluations():
    """One value, w <= 100: typical settings, and the deepest nearest-neighbor ones."""
    cases = {}
    for name in ("affine", "relu", "cosine"):
        for d in (2, 3, 5, 20):
            for w in (1.0, 10.0, 100.0):
                for n in (20, 10**2, 10**6, 10**12):
                    took = values(make_task(name, d), w, n, 5)
                    cases[f"{name} d={d} w={w:g} n={n:g}"] = took["median"]
    slow = sorted(cases.items(), key=lambda kv: -kv[1])
    return {
        "settings": len(cases),
        "median_ms": 1e3 * float(np.median(list(cases.values()))),
        "share_below_5ms": float(np.mean(np.array(list(cases.values())) <= 5e-3)),
        "slowest": {k: 1e3 * v for k, v in slow[:5]},
    }


def growth():
    short, long = (values(ReLU(5), 10.0, n, 21) for n in (100, 10**12))
    return {"n=1e2": short, "n=1e12": long, "ratio": long["median"] / short["median"]}


def phase_diagram():
    n, noise_std = np.logspace(1, 12, 25).round(), np.logspace(-2, 1.5, 25)
    start, wall, parts = time.process_time(), time.perf_counter(), {}
    for cls in (Affine, ReLU):
        for d in (2, 3, 5, 8):
            begin = time.process_time()
            optimal_window(cls(d), n[:, None], noise_std)
            parts[f"{cls.__name__} d={d}"] = time.process_time() - begin
    return {
        "minimizers": 8 * 625,
        "cpu_seconds": time.process_time() - start,
        "wall_seconds": time.perf_counter() - wall,
        "parts_cpu_seconds": parts,
    }


def against_sampling():
    rows = {}
    for n in (100, 10_000):
        task, w, contexts = ReLU(5), 10.0, 20_000 if n == 100 else 400
        exact = values(task, w, n, 11)["median"]
        value = float(population_risk(task, w, n, 0.5).total)
        begin = time.process_time()
        sample = monte_carlo_risk(task, w, n, 0.5, contexts, seed=1)
        seconds = time.process_time() - begin
        assert sample.interval[0] < value < sample.interval[1], "they must compute the same number"
        spread = sample.standard_error * contexts**0.5 / value
        cost = {error: seconds / contexts * (spread / error) ** 2 for error in (1e-3, 1e-6)}
        rows[f"n={n}"] = {
            "exact_cpu_seconds": exact,
            "sampling_cpu_seconds_per_context": seconds / contexts,
            "relative_spread_of_one_context": spread,
            "measured_on_contexts": contexts,
            "ratio_at_1e-3_by_1/sqrt(N)": cost[1e-3] / exact,
            "ratio_at_1e-6_by_1/sqrt(N)": cost[1e-6] / exact,
        }
    return rows


def accuracy(settings):
    """Random settings, eight context lengths each time, against the independent `oracles.risk`."""
    rng, worst = stream(0, "evaluation"), {}
    for limit, w_max, share in ((1e-10, 1e3, 0.8), (1e-8, 1e5, 0.2)):
        errors = []
        while len(errors) < round(settings * share):
            d = int(rng.choice([2, 3, 4, 5, 8, 16, 32, 64, 128, 256]))
            name, lipschitz = rng.choice(SCALED), 10 ** rng.uniform(-1, 1)
            task = make_task(str(name), d, float(lipschitz))
            w, n = (
                float(10 ** rng.uniform(-2, np.log10(w_max))),
                np.floor(10 ** rng.uniform(0, 12, 8)),
            )
            bias, noise = oracle.population_risk(task, w, n, 1.0)
            r = population_risk(task, w, n, 1.0)
            off = np.maximum(np.abs(r.bias / bias - 1), np.abs(r.noise / noise - 1))
            errors += [(float(e), f"{task} w={w:.4g} n={m:g}") for e, m in zip(off, n, strict=True)]
        errors.sort(reverse=True)
        worst[f"w<={w_max:g}"] = {
            "settings": len(errors),
            "allowed": limit,
            "largest": errors[0],
            "median": errors[len(errors) // 2][0],
            "above": sum(e > limit for e, _ in errors),
        }
    return worst


def main():
    settings = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    parts = (evaluations, growth, against_sampling, phase_diagram)
    named = {"evaluation" if part is evaluations else part.__name__: part for part in parts}
    save("exact_risk", named | {"accuracy": partial(accuracy, settings)})


if __name__ == "__main__":
    main()
