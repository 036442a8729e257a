"""Measurements for Figure 9 of the talk: softmax and linear attention on links, functions of B'x."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch

from icl.attention import linear_attention
from icl.covariates import LowRank
from icl.experiments.tables import Row, each
from icl.pretrain import UnitConfig, pretrain
from icl.pretrain.metrics import evaluation_error, subspace_error
from icl.risk import optimal_window
from icl.streams import stream
from icl.tasks import Cosine, Linear, Projected, Quadratic, Zonal

Pairs = Sequence[tuple[int, int]]
#: The three links by name, called with the dimension k; the last one is the affine link without its +2.
LINKS: dict[str, Callable[[int], Zonal]] = {
    "affine": lambda k: Linear(k, 1.0, 2.0),
    "quadratic": Quadratic,
    "cosine": lambda k: Cosine(k, 4.0),
    "linear": lambda k: Linear(k, 1.0),
}
PRINTED = ("affine", "quadratic", "cosine")
EVEN = ("quadratic", "cosine")


def _laws(pairs: Pairs) -> list[LowRank]:
    def one(j: int, d: int, k: int) -> LowRank:
        columns: Any = np.linalg.qr(stream(j, "monte carlo").standard_normal((d, d))).Q[:, :k]
        return LowRank(columns)

    return [one(j, *pair) for j, pair in enumerate(pairs)]


def _behind(link: str, law: LowRank) -> Projected:
    directions: Any = np.array(law.basis).T
    return Projected(LINKS[link](len(directions)), directions)


def exact_minimum(link: str, k: int, n: int, noise_std: float) -> Row:
    """Return what is known of a link in dimension k: the best ``w``, the ``least`` risk, and ``constant``.

    The last is the error of the best constant, the variance of the query's label, sampled.
    """
    best, rng = optimal_window(LINKS[link](k), n, noise_std), stream(0, "monte carlo")
    u = torch.from_numpy(rng.standard_normal((100000, 1, k)))
    f = LINKS[link](k).sample(rng, 100000)(u / u.norm(dim=-1, keepdim=True))
    return {"w": best.w, "least": best.risk, "constant": float(f.var())}


def trained_links(
    pairs: Pairs,
    n: int,
    noise_std: float,
    seeds: int,
    steps: int,
    batch_size: int,
    contexts: int,
    device: torch.device | str = "cpu",
) -> pd.DataFrame:
    """Train softmax and linear attention from M = 0 on each link; without intercept the latter only.

    Softmax units have the initial step size w* / 50, as they have about that far to go; linear attention
    has 0.03.

    Returns:
        A row for each recorded step and seed: ``d``, ``k``, ``link``, ``unit``, ``step``, ``seed``; ``sine``
        of the largest principal angle to the subspace, and the test ``error`` with the clean query label, on
        contexts that are other ones for each seed.
    """
    record = np.unique(np.geomspace(max(1, steps // 50), steps, 8).round().astype(int)).tolist()
    native: dict[str, Any] = {"shared_tokens": True, "stream": "native", "dtype": "float32"}
    parts = []
    for (d, k), law in zip(pairs, _laws(pairs), strict=True):
        basis = np.array(law.basis)
        tasks = {link: _behind(link, law) for link in LINKS}
        for unit, links in (("softmax", PRINTED), ("linear", tuple(LINKS))):
            rates = dict.fromkeys(links, 0.03)
            if unit == "softmax":
                rates = {link: float(optimal_window(LINKS[link](k), n, noise_std).w) / 50 for link in links}
            units = [
                UnitConfig(tasks[link], noise_std, n, seed, law, activation=unit, learning_rate=rates[link])
                for link in links
                for seed in range(seeds)
            ]
            whole = pretrain(units, steps, batch_size, device=device, record=record, **native)
            sines = subspace_error(whole.M_history, basis)
            for i, link in enumerate(links):
                mine = slice(i * seeds, (i + 1) * seeds)
                one = replace(
                    whole,
                    units=whole.units[mine],
                    parameters=whole.parameters[mine],
                    history=tuple(h[mine] for h in whole.history),
                )
                errors = evaluation_error(one, tasks[link], noise_std, n, contexts, None, law)[:-1]
                index = pd.MultiIndex.from_product([record, range(seeds)], names=["step", "seed"])
                part = index.to_frame(index=False).assign(sine=sines[:, mine].ravel(), error=errors.ravel())
                parts.append(part.assign(d=d, k=k, link=link, unit=unit))
    return pd.concat(parts, ignore_index=True)


def final_errors(curves: pd.DataFrame) -> pd.DataFrame:
    """Compare both units of `trained_links` at the end, problem by problem and seed by seed.

    Columns ``d``, ``k``, ``link``, ``seed``, ``softmax``, ``linear`` and ``ratio``, linear over softmax.
    """
    setting = ["d", "k", "link", "seed"]
    last = curves[(curves.step == curves.step.max()) & curves.link.isin(PRINTED)]
    softmax, linear = (last.loc[last.unit == u, [*setting, "error"]] for u in ("softmax", "linear"))
    both = softmax.merge(linear, on=setting, validate="1:1").rename(
        columns={"error_x": "softmax", "error_y": "linear"}
    )
    return both.assign(ratio=both.linear / both.softmax)


def zero_excess(pairs: Pairs, links: Sequence[str], n: int, noise_std: float, contexts: int) -> pd.DataFrame:
    """Return by how much a random M raises the squared error of linear attention above that of M = 0.

    It is the mean over contexts and their images with the query turned round, over the mean square of the
    prediction. Columns ``d``, ``k``, ``link`` and ``value``.
    """
    laws = dict(zip(pairs, _laws(pairs), strict=True))

    def one(d: int, k: int, link: str) -> Row:
        law, rng = laws[d, k], stream(1, "monte carlo")
        x = law.from_normal(torch.from_numpy(rng.standard_normal((contexts, n + 1, d))))
        f = _behind(link, law).sample(rng, contexts)
        turned = torch.cat([x[:, :-1], -x[:, -1:]], 1)
        y = f(x)[:, :-1] + noise_std * torch.from_numpy(rng.standard_normal((contexts, n)))
        M = torch.from_numpy(rng.standard_normal((d, d)))
        above = square = 0.0
        for z in (x, turned):
            target, h = f(z)[:, -1], linear_attention(z[:, :-1], y, z[:, -1], M)
            above += float(((target - h) ** 2 - target**2).mean())
            square += float((h**2).mean())
        return {"value": above / square}

    return each(one, pair=[{"d": d, "k": k} for d, k in pairs], link=list(links))
