"""Measurements beyond one layer: several heads, two trained layers, tokens that pass through many."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from icl.adam import minimize
from icl.attention import softmax_attention
from icl.covariates import LowRank, uniform_sphere
from icl.pretrain.architectures import mix_tokens, sample_contexts
from icl.statistics import t_interval
from icl.streams import NativeStream, stream
from icl.tasks import Affine, Projected, QuadraticRisk, ReLU
from icl_book.measurements.tables import Array, Training, measured

#: Windows that heads choose from.
WINDOWS = np.geomspace(0.3, 60, 24)
MODELS = ("one layer", "two layers, residual", "two layers, no residual")


def heads(
    d: int,
    lengths: Sequence[int],
    lipschitz: float,
    noise_std: float,
    contexts: int,
    tried: Array = WINDOWS,
) -> pd.DataFrame:
    """Choose windows and gains of several heads on half of the token sets, and test on the other half.

    Labels of the ReLU class are integrated out. Given the tokens the risk is a quadratic form in the gains,
    so each set of windows has its best gains, and the best set is found by trying all.

    Returns:
        Columns ``n``, ``model`` (one to three heads, kriging), ``ratio`` of its risk to that of one head with
        gain one, its paired interval ``low`` and ``high``, and ``windows`` and ``gains`` as text.
    """
    half, models = contexts // 2, ["one head", "two heads", "three heads", "kriging"]

    def one(n: int) -> tuple[Any, ...]:
        x = uniform_sphere(stream(0, "monte carlo", n), contexts, n + 1, d)
        form = QuadraticRisk.of(ReLU(d, lipschitz), x, noise_std)
        t = torch.einsum("bnd,bd->bn", x[:, :-1], x[:, -1])
        omega = torch.stack([torch.softmax(w * t, -1) for w in tried])
        first, gram = omega[:, :half], form.gram[:half]
        gain = form.gain(omega)[:, :half].mean(1).numpy()
        product = torch.einsum("wbi,bij,vbj->wv", first, gram, first).numpy() / half
        best = int(np.argmin(np.diag(product) - 2 * gain))
        sets = [_best_set(gain, product, count) for count in (1, 2, 3)]
        weights = [
            torch.einsum("h,hbi->bi", torch.tensor(c), omega[s]) for s, c in sets
        ]
        alone, *risks = form.risk(torch.stack([omega[best], *weights, form.kriging()]))[
            :, half:
        ].numpy()
        windows = [", ".join(f"{w:.1f}" for w in tried[s]) for s, _ in sets]
        gains = [", ".join(f"{gain:.2f}" for gain in c) for _, c in sets]
        return (
            models,
            *t_interval(1 + (risks - alone) / alone.mean()),
            [*windows, ""],
            [*gains, ""],
        )

    return measured(
        one, ["model", "ratio", "low", "high", "windows", "gains"], n=lengths
    )


def _best_set(gain: Array, product: Array, count: int) -> tuple[list[int], Array]:
    """Return the windows (indices) and gains c with the largest c' gain, where product c = gain."""
    sets = np.array(list(combinations(range(len(gain)), count)))
    right = gain[sets]
    c = np.linalg.solve(product[sets[:, :, None], sets[:, None, :]], right[..., None])[
        ..., 0
    ]
    best = int(np.argmax((c * right).sum(1)))
    return sets[best].tolist(), c[best]


@dataclass(frozen=True)
class LowRankProblem:
    """Affine functions of the first k coordinates, tokens of two parts that have length one each."""

    lipschitz: float
    noise_std: float
    dim: int = 4
    rank: int = 2
    length: int = 16

    def contexts(
        self, models: int, count: int, seed: int, step: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Draw covariates, function values and labels for that many models."""
        basis: Any = np.eye(self.dim)[:, : self.rank]
        task = Projected(Affine(self.rank, self.lipschitz), basis.T)

        def tokens(rng: NativeStream, many: int) -> Tensor:
            return LowRank(basis).from_normal(
                rng.standard_normal((many, self.length + 1, self.dim))
            )

        return sample_contexts(task, tokens, self.noise_std, models, count, seed, step)


def _first(kind: str, x: Tensor, M1: Tensor, V1: Tensor) -> Tensor:
    """Return what the last layer sees."""
    if kind == "one layer":
        return x
    mixed = mix_tokens(M1, V1, x)
    return x + mixed if kind == "two layers, residual" else mixed


def two_layers(
    problem: LowRankProblem, how: Training, redrawn: int = 400
) -> pd.DataFrame:
    """Train one layer, and two with and without a residual connection, on the same data.

    Returns:
        Columns ``kind``, ``seed``; ``share``, how much of the variance of what layer one returns comes from
        the irrelevant part of the tokens; ``others``, how much the log of the ratio of two weights changes,
        relatively, with the other examples.
    """

    def one(kind: str) -> tuple[Any, ...]:
        def loss(step: int, *weights: Tensor) -> Tensor:
            x, _, y = problem.contexts(how.seeds, how.batch_size, 4, step)
            h, M2 = _first(kind, x, *weights[:2]), weights[2].unsqueeze(-3)
            guess = softmax_attention(h[..., :-1, :], y[..., :-1], h[..., -1, :], M2)
            return ((guess - y[..., -1]) ** 2).mean(1)

        shape = 3, how.seeds, problem.dim, problem.dim
        start = (
            0.5 * torch.from_numpy(stream(1, "initialization").standard_normal(shape))
        ).float()
        weights, _ = minimize(loss, list(start), how.steps, how.learning_rate)
        share, others = (
            measure(problem, kind, weights, redrawn) for measure in (_share, _others)
        )
        return np.arange(how.seeds), share, others

    return measured(one, ["seed", "share", "others"], kind=MODELS)


def _share(
    problem: LowRankProblem, kind: str, weights: Sequence[Tensor], redrawn: int
) -> Array:
    k = problem.rank
    x, other = (problem.contexts(1, redrawn, 77, step)[0] for step in (0, 1))
    changed = torch.cat([x[..., :k], other[..., k:]], -1)
    h, again = (_first(kind, v, *weights[:2]).flatten(1, 2) for v in (x, changed))
    share = (h - again).square().sum(-1).mean(-1) / 2 / h.var(1).sum(-1)
    return np.asarray(share.expand(len(weights[0])).numpy())


def _others(
    problem: LowRankProblem, kind: str, weights: Sequence[Tensor], redrawn: int
) -> Array:
    x, other = (problem.contexts(1, redrawn, 77, step)[0] for step in (0, 1))
    changed = torch.cat([x[..., :2, :], other[..., 2:-1, :], x[..., -1:, :]], -2)

    def log_ratio(x: Tensor) -> Tensor:
        h = _first(kind, x, *weights[:2])
        key = (h[..., 0, :] - h[..., 1, :]).unsqueeze(-2) @ weights[2][:, None]
        return (key[..., 0, :] * h[..., -1, :]).sum(-1)

    before = log_ratio(x)
    change = (log_ratio(changed) - before).square().mean(-1)
    return np.asarray((change / before.square().mean(-1)).sqrt().numpy())


def _tokens(d: int, contexts: int, tokens: int) -> Tensor:
    return uniform_sphere(stream(2, "evaluation"), contexts, tokens, d)


def attend(x: Tensor, w: float) -> Tensor:
    """Replace each token by the mean of all with weights proportional to ``exp(w x_i.x_j)``."""
    return torch.softmax(w * (x @ x.mT), -1) @ x


def spreads(
    d: int,
    windows: Sequence[float],
    depths: Array,
    contexts: int = 24,
    tokens: int = 32,
) -> pd.DataFrame:
    """Return the mean squared distance of tokens to their mean after some layers, relative to the start.

    Columns ``kind`` (attention alone, projected to the sphere), ``w``, ``layers``, ``context``, ``spread``.
    """

    def distance(x: Tensor) -> Array:
        return np.asarray(
            (x - x.mean(1, keepdim=True)).square().sum(-1).mean(1).numpy()
        )

    def one(kind: str, w: float) -> tuple[Array, ...]:
        x = _tokens(d, contexts, tokens)
        out, start = [], distance(x)
        for layer in range(1, int(depths[-1]) + 1):
            x = attend(x, w)
            if kind == "projected to the sphere":
                x = x / x.norm(dim=-1, keepdim=True)
            if layer in depths:
                out.append(distance(x) / start)
        return (
            np.repeat(depths, contexts),
            np.tile(np.arange(contexts), len(depths)),
            np.concatenate(out),
        )

    kinds = ("attention alone", "projected to the sphere")
    return measured(one, ["layers", "context", "spread"], kind=kinds, w=windows)


def contractions(
    d: int,
    windows: Sequence[float],
    layers: int,
    contexts: int = 24,
    tokens: int = 32,
    enough: float = 1e-3,
) -> pd.DataFrame:
    """Return the largest factor by which a layer leaves a coordinate's range, beside its proved bound.

    Ranges up to ``enough`` are left out: of small ones rounding would count.
    Columns ``w``, ``factor``, ``bound``.
    """

    def one(w: float) -> tuple[float, float]:
        x = _tokens(d, contexts, tokens)
        largest, before = 0.0, x.amax(1) - x.amin(1)
        for _ in range(layers):
            x = attend(x, w)
            after = x.amax(1) - x.amin(1)
            if not (counts := before > enough).any():
                break
            largest, before = max(largest, float((after / before)[counts].max())), after
        return largest, float(-np.expm1(-2 * w))

    return measured(one, ["factor", "bound"], w=windows)
