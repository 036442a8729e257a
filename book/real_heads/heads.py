"""Statistics of heads: how many keys count, how that number grows, and whether scores spread with length.

A query meets keys with *scores*, whose softmax gives the weights. The effective number of keys is one over
the sum of the squared weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from models import Heads, MiniLM, SmolLM2
from numpy.typing import NDArray

Array = NDArray[np.float64]
Tokens = NDArray[np.int64]
Model = MiniLM | SmolLM2

#: Numbers of keys in contexts of a text, and in contexts of independent keys.
LENGTHS = (32, 128, 510)
BANK = (32, 128, 512, 2048, 8192)
#: Tokens that stay while the context around them grows.
BLOCK = 32


def windows(tokens: Tokens, count: int, length: int) -> list[Tokens]:
    """Return ``count`` windows that start at equal distances, the first and the last at the ends."""
    starts = np.linspace(0, len(tokens) - length, count).round().astype(int)
    return [tokens[start : start + length] for start in starts]


def queries_and_keys(
    model: Model, contexts: Tokens, positions: Tokens, sharpening: float = 1.0
) -> list[Heads]:
    """Return what a pass over framed contexts has in each layer, without the marks."""
    seen: list[Heads] = []
    model.hidden(contexts, positions, sharpening, seen)
    kept = slice(1, None if model.causal else -1)
    return [(q[:, :, kept], k[:, :, kept]) for q, k in seen]


def concentration(scores: torch.Tensor, visible: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the mean log effective number of keys, and the spread of scores over keys.

    Args:
        scores: (contexts, heads, queries, keys).
        visible: Whether a query sees a key, (queries, keys).

    Returns:
        Both of shape (heads,). The spread is the root of the mean variance.
    """
    weights = torch.log_softmax(scores.masked_fill(~visible, -torch.inf), -1)
    effective = -torch.logsumexp(2 * weights, -1)
    count = visible.sum(-1)
    mean = (scores * visible).sum(-1, keepdim=True) / count[:, None]
    variance = ((scores - mean).square() * visible).sum(-1) / count
    return effective.mean((0, 2)), variance.mean((0, 2)).sqrt()


@dataclass
class Growth:
    """How the effective number of keys grows, each of shape (lengths, layers, heads) but for ``keys``."""

    keys: Array  #: Mean log number of keys, (lengths,)
    effective: Array  #: Mean log effective number
    spread: Array  #: Spread of the scores in the longest context, (layers, heads)
    rescaled: Array  #: Mean log effective number with the wanted spread

    def shortfall(self, rescaled: bool = False) -> Array:
        """Return one minus the slope of each head, (layers, heads)."""
        effective = self.rescaled if rescaled else self.effective
        away = self.keys - self.keys.mean()
        return 1 - np.tensordot(away, effective, 1) / (away @ away)


def growth(
    model: Model, window: Tokens, *, one_position: bool = False, spread: Array | None = None
) -> Growth:
    """Measure a window, cut into contexts of each length.

    Args:
        model: With trained or with random weights.
        window: 510 tokens, and one before them in a causal model.
        one_position: Whether all tokens, marks too, get the 255th position.
        spread: The wanted spread of the scores in the longest context, (layers, heads).
    """
    keys, effective, rescaled = [], [], []
    found, factor = None, None
    for n in reversed(LENGTHS):
        size = n + model.causal
        count = len(window) // size
        contexts = model.framed(window[: count * size].reshape(count, size))
        positions = np.arange(contexts.shape[1])
        if one_position:
            positions = np.full_like(positions, 255)
        # a causal query sees its own key and those before it
        first = n - n // 8 if model.causal else 0
        visible = torch.ones(n, n, dtype=torch.bool)
        if model.causal:
            visible = visible.tril()
        visible = visible[first:]
        layers = queries_and_keys(model, contexts, positions)
        scores = [q[:, :, first:] @ k.mT for q, k in layers]
        plain = [concentration(one, visible) for one in scores]
        if found is None:
            found = torch.stack([spread for _, spread in plain])
            wanted = found if spread is None else torch.as_tensor(spread, dtype=found.dtype)
            factor = (wanted / found)[:, None, :, None, None]
        again = [concentration(f * s, visible)[0] for f, s in zip(factor, scores, strict=True)]
        keys.append(float(visible.sum(-1).double().log().mean()))
        effective.append(torch.stack([log_number for log_number, _ in plain]).numpy())
        rescaled.append(torch.stack(again).numpy())
    return Growth(np.array(keys), np.array(effective), found.numpy(), np.array(rescaled))


def narrowing(model: Model, window: Tokens, *, sharpened: bool = False) -> Array:
    """Return slopes of the log spread of scores among 32 tokens in the log of the length of the context.

    Returns:
        (2, layers, heads): of all scores, and of their interaction.
    """
    tokens = model.framed(window[None])[0]
    last = len(tokens) - 1
    spreads = []
    for n in LENGTHS:
        # the tokens around the block, or before it, with their positions and the marks
        start = last - n + 1 if model.causal else (last + 1 - n) // 2
        kept = [0, *range(start, start + n)] + ([] if model.causal else [last])
        sharpening = np.log(n) / np.log(LENGTHS[0]) if sharpened else 1.0
        layers = queries_and_keys(model, tokens[None, kept], np.array(kept), sharpening)
        block = slice(n - BLOCK, n) if model.causal else slice((n - BLOCK) // 2, (n + BLOCK) // 2)
        rows = []
        for q, k in layers:
            scores = (q[0, :, block] @ k[0, :, block].mT).double()
            if model.causal:
                scores = scores[:, BLOCK // 2 :, : BLOCK // 2]
            centered = scores - scores.mean(-1, keepdim=True)
            inner = centered - centered.mean(-2, keepdim=True)
            rows.append([part.square().mean((-2, -1)).sqrt() for part in (centered, inner)])
        spreads.append(np.array([[part.numpy() for part in row] for row in rows]))
    away = np.log(LENGTHS) - np.mean(np.log(LENGTHS))
    slopes = np.tensordot(away, np.log(spreads), 1) / (away @ away)
    return slopes.swapaxes(0, 1)


def independent_keys(
    queries: list[torch.Tensor], keys: list[torch.Tensor], rng: np.random.Generator, draws: int = 4
) -> Array:
    """Return local exponents of the effective number if keys are drawn independently from a bank.

    Args:
        queries: Of each layer, (heads, queries, dim).
        keys: Of each layer, (heads or fewer, keys, dim).
        rng: Draws keys with replacement.
        draws: Of the longest context.

    Returns:
        Between neighboring lengths of `BANK`, mean over layers and heads, (lengths - 1,).
    """
    means = np.zeros(len(BANK))
    for _ in range(draws):
        drawn = rng.integers(keys[0].shape[1], size=BANK[-1])
        for q, k in zip(queries, keys, strict=True):
            scores = q @ k[:, drawn].repeat_interleave(len(q) // len(k), 0).mT
            for at, n in enumerate(BANK):
                weights = torch.log_softmax(scores[..., :n], -1)
                means[at] -= float(torch.logsumexp(2 * weights, -1).mean())
    return np.diff(means / draws / len(queries)) / np.diff(np.log(BANK))


def with_block(model: Model, window: Tokens, other: Tokens) -> Tokens:
    """Return other tokens around the block of `narrowing`, whose own tokens stay."""
    start = len(window) - BLOCK if model.causal else (len(window) - BLOCK) // 2
    mixed = other.copy()
    mixed[start : start + BLOCK] = window[start : start + BLOCK]
    mixed[0] = window[0] if model.causal else mixed[0]
    return mixed
