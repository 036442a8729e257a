"""Setting the window inside the context, where tasks differ in their Lipschitz constant: ReLU class.

Every method is compared with the window that is best for the task's own L.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from icl.covariates import uniform_sphere
from icl.experiments.tables import measured
from icl.risk import bayes_linear_risk, optimal_window, population_risk
from icl.statistics import t_interval
from icl.streams import stream
from icl.tasks import ReLU

Array = NDArray[np.float64]
#: Lipschitz constants of the tasks, each as likely as the others.
MIXTURE = (0.5, 1.0, 2.0, 4.0, 8.0)


def mixture_prices(
    dim: int, lengths: Sequence[int], noise_std: float = 0.5, mixture: Sequence[float] = MIXTURE
) -> pd.DataFrame:
    """Return the exact price of the one window that is best for the mixture, for each of its L.

    The risk is linear in the covariance of the class, which is proportional to L^2, so that window is the one
    of the root mean square.

    Returns:
        Columns ``n``, ``L``, ``own``, the best window for L, ``fixed``, that for the mixture, ``least``, the
        risk with ``own``, and ``price``, the risk with ``fixed`` over it.
    """
    middle = float(np.sqrt(np.mean(np.square(mixture))))

    def one(n: int, L: float) -> tuple[float, ...]:
        fixed = float(optimal_window(ReLU(dim, middle), n, noise_std).w)
        own, risk = (
            optimal_window(ReLU(dim, L), n, noise_std),
            population_risk(ReLU(dim, L), fixed, n, noise_std),
        )
        return float(own.w), fixed, float(own.risk), float(risk.total / own.risk)

    return measured(one, ["own", "fixed", "least", "price"], n=lengths, L=mixture)


def in_context(
    dim: int,
    lengths: Sequence[int],
    contexts: int,
    windows: Array,
    noise_std: float = 0.5,
    mixture: Sequence[float] = MIXTURE,
) -> pd.DataFrame:
    """Sample the risks of two ways to set the window from the labels of the context.

    Args:
        dim: Dimension.
        lengths: Context lengths.
        contexts: Contexts for each L and length.
        windows: Windows that leave-one-out tries.
        noise_std: Sigma, which no method knows.
        mixture: Lipschitz constants.

    Returns:
        One row for each length, L and ``method``: ``mean``, ``low`` and ``high`` of the risk over the exact
        risk with the window for L. "known L" samples that window itself, a check; the differences of the
        others to it are paired.
    """
    parts = []
    for n, exact in mixture_prices(dim, lengths, noise_std, mixture).groupby("n", sort=False):
        among, near, y, clean = _draw(dim, int(n), contexts, noise_std, mixture)
        best, averaged = _leave_one_out(among, near, y, windows)
        weights = torch.softmax(
            torch.tensor(exact.own.tolist(), dtype=torch.float64)[:, None, None] * near.double(), -1
        )
        guesses = {"known L": (weights * y).sum(-1), "leave-one-out": best, "averaged": averaged}
        errors = {name: ((guess - clean) ** 2).numpy() for name, guess in guesses.items()}
        scale = exact.least.to_numpy()[:, None]
        for method, error in errors.items():
            known = errors["known L"]
            ends = t_interval(error / scale if method == "known L" else 1 + (error - known) / scale)
            columns = dict(zip(("mean", "low", "high"), ends, strict=True))
            parts.append(pd.DataFrame({"n": n, "L": mixture, "method": method, **columns}))
    return pd.concat(parts, ignore_index=True)


def linear_floor(
    dim: int, n: int, contexts: int, noise_std: float = 0.5, mixture: Sequence[float] = MIXTURE
) -> pd.DataFrame:
    """Sample the least risk of all predictors linear in the labels, over that at known L: ``floor``."""
    exact = mixture_prices(dim, [n], noise_std, mixture)
    found = [bayes_linear_risk(ReLU(dim, L), n, noise_std, contexts).mean for L in mixture]
    return exact.assign(floor=np.array(found, dtype=float) / exact.least)


def _draw(
    dim: int, n: int, contexts: int, noise_std: float, mixture: Sequence[float]
) -> tuple[torch.Tensor, ...]:
    """Draw cosines among examples and with the query, labels, and clean query labels.

    Shapes (contexts, n, n), (contexts, n), (L, contexts, n) and (L, contexts).
    """
    x = uniform_sphere(stream(0, "evaluation", n), contexts, n + 1, dim)
    f = ReLU(dim, 1.0).sample(stream(1, "evaluation", n), contexts)(x)  # times L
    normal = stream(2, "evaluation", n).standard_normal((contexts, n))
    scale = torch.tensor(mixture, dtype=torch.float64)[:, None, None]
    cosine = (x @ x.mT).clamp(-1, 1).float()
    y = scale * f[:, :-1] + noise_std * torch.from_numpy(normal)
    return cosine[:, :-1, :-1], cosine[:, :-1, -1], y, scale[..., 0] * f[:, -1]


def _leave_one_out(
    among: torch.Tensor, near: torch.Tensor, y: torch.Tensor, windows: Array
) -> tuple[torch.Tensor, torch.Tensor]:
    """Predict with the window that best predicts each label from the others, and with all by their scores."""
    n, labels = y.shape[-1], y.permute(1, 2, 0).float()  # (contexts, n, L)
    itself, scores, guesses = torch.eye(n).bool(), [], []
    for w in windows:
        weights = torch.softmax((w * among).masked_fill(itself, -torch.inf), -1)
        scores.append(((labels - weights @ labels) ** 2).sum(1).T)
        guesses.append((torch.softmax(w * near, -1).unsqueeze(1) @ labels)[:, 0].T)
    score, guess = torch.stack(scores), torch.stack(guesses)  # (windows, L, contexts)
    best = guess.gather(0, score.argmin(0, keepdim=True))[0]
    share = torch.softmax(-n * (score - score.amin(0)) / (2 * score.amin(0)), 0)
    return best.double(), (share * guess).sum(0).double()


def geometric_means(found: pd.DataFrame, values: Sequence[str], by: Sequence[str]) -> pd.DataFrame:
    """Return geometric means over L of some columns for each setting; of intervals, those of their ends."""
    settings = found.assign(**np.log(found[values])).groupby(list(by), sort=False)
    return settings[list(values)].mean().apply(np.exp).reset_index()
