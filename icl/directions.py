"""Find which directions of your data count: a matrix in place of one window, by leaving one label out.

A smoother with the matrix ``M`` has weights proportional to ``exp(-(x_i - q)' M (x_i - q) / 2)``. If all
tokens ``M^(1/2) x`` have one length, this is softmax attention with ``w = 1`` on these tokens. If not,
`icl.Placement` first lifts them to a sphere. The literature calls the method MLKR, metric learning for kernel
regression (Weinberger and Tesauro 2007). Theorem 4 of paper 1 says that attention should give irrelevant
directions a weight of zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import ndtr, stdtrit

from icl.checks import choice, column_names, flag, same_columns, table
from icl.data import (
    MAX_ABS_ENTRY,
    MAX_PRODUCT,
    check_data,
    draw,
    draw_left_out,
    find_window,
    in_threads,
    make_comparable,
    nearness,
    number_groups,
    place_rows,
    placement_of,
    predict_rows,
)

__all__ = ["BestMatrix", "best_matrix"]

Array = NDArray[np.float64]

KINDS = ("diagonal", "full")
_HELD_OUT = 1 / 3
#: One-sided confidence at which a gain counts: two standard errors of a normal distribution.
_CONFIDENCE = float(ndtr(2))
_MAX_STEPS = 60
#: Scores that a thread computes at once.
_BLOCK = 2**18
#: Parts of the queries, which threads share.
_PARTS = 16


@dataclass(frozen=True, eq=False)
class BestMatrix:
    """What leaving one label out says of the directions.

    Attributes:
        M: The matrix of the weights ``exp(-(x_i - q)' M (x_i - q) / 2)``, (d, d), positive semidefinite.
        kind: ``"diagonal"`` or ``"full"`` if M is a matrix that the search found. If that does not predict
            held-out labels better, ``"none"`` or ``"scaled"``: M is a multiple of the identity, or of the
            inverse variances of the columns, whichever is better.
        gain: The share by which the matrix of the search lowers the mean squared error of held-out labels,
            compared with the better simple one. A gain hardly above two standard errors is too large in the
            mean, because smaller gains do not count.
        error: The standard error of ``gain``.
        root: The symmetric root of M, (d, d).
        columns: The labels of the columns, if the tokens were a data frame; None otherwise.
    """

    M: Array
    kind: str
    gain: float
    error: float
    root: Array = field(repr=False)
    columns: tuple[Any, ...] | None = field(default=None, repr=False)

    def __call__(self, rows: ArrayLike) -> Array:
        """Return rows, (m, d) or (d,), times the symmetric root of M.

        The weights are then ``exp(-|z_i - z_q|^2 / 2)`` of the rows z that are returned.

        Raises:
            ValueError: If the shape or the column names do not fit, or an entry is not a finite number.
        """
        same_columns(rows, "rows", self.columns)
        rows = table(rows, "rows", MAX_ABS_ENTRY)
        dim = len(self.M)
        if rows.ndim not in (1, 2) or rows.shape[-1] != dim or rows.size == 0:
            raise ValueError(f"rows has shape {rows.shape}: must be (m, {dim}) or ({dim},)")
        return np.asarray(rows @ self.root)


def best_matrix(
    X: ArrayLike,
    y: ArrayLike,
    kind: str = "diagonal",
    *,
    groups: ArrayLike | None = None,
    same_unit: bool = False,
) -> BestMatrix:
    """Find the matrix that predicts each label best from all the others, if a matrix helps.

    The search minimizes the leave-one-out error. It starts at the best multiple of the identity, or of the
    inverse variances of the columns, so that columns may have unequal units.

    The first search sees two thirds of the tokens. If its matrix predicts the labels of the other third
    better than the start does, by two standard errors, the search is repeated with all tokens. Otherwise the
    result is the start for all tokens.

    Time grows with n^2 d, and with n d for n above 5,000, since at most 5,000 labels are left out.

    Args:
        X: Tokens, (n, d), at least six.
        y: Their labels, (n,) or (n, k).
        kind: ``"diagonal"``, a bandwidth for each column, or ``"full"``, any positive semidefinite matrix.
        groups: As in `icl.best_window`, six groups at least. Tokens of a group are left out together, and
            held out together.
        same_unit: As in `icl.best_window`, for several columns of y.

    Raises:
        ValueError: For data that `icl.best_window` refuses, fewer than six tokens or groups, and an unknown
            kind.
    """
    kind = choice(kind, "kind", KINDS)
    columns = column_names(X)
    X, y = check_data(X, y)
    labels = make_comparable(y, flag(same_unit, "same_unit"))
    group = number_groups(groups, len(X))
    return replace(find_matrix(X, labels, group, kind), columns=columns)


def find_matrix(X: Array, labels: Array, group: NDArray[np.intp], kind: str) -> BestMatrix:
    """Return the best matrix for checked tokens (n, d).

    The labels, (n, k), come from `icl.data.make_comparable`, and ``group``, (n,), is the number of each
    token's group.
    """
    count = int(group.max()) + 1
    if count < 6:
        raise ValueError(
            f"X has {count} tokens, or groups of tokens: must have 6 or more, a third of which is held out"
        )
    # near zero inner products are rounded by less, and weights depend on differences only
    tokens = X - np.median(X, axis=0)
    # the stopping rule depends on the size of the error; this scaling is exact
    labels = np.ldexp(labels, -int(np.frexp(np.abs(labels).max())[1]))
    # groups are drawn at random, because the tokens may be sorted
    order = np.random.default_rng(0).permutation(count)
    chosen = np.isin(group, order[: math.ceil((1 - _HELD_OUT) * count)])
    seen, held_out = np.flatnonzero(chosen), np.flatnonzero(~chosen)
    held_out = held_out[draw_left_out(group[held_out])]

    def measure_losses(root: Array) -> Array:
        predicted = _predict_held_out(tokens, labels, seen, held_out, root)
        return np.asarray(np.sum((predicted - labels[held_out]) ** 2, axis=1))

    seen_data = tokens[seen], labels[seen], group[seen]
    start = _find_start(*seen_data)
    root = _search(*seen_data, kind, start)
    gain, error, groups = _measure_gain(
        measure_losses(start.root), measure_losses(root), group[held_out]
    )
    start = _find_start(tokens, labels, group)
    # this quantile is two for many groups, and larger for few
    if gain > float(stdtrit(groups - 1, _CONFIDENCE)) * error:
        root = _search(tokens, labels, group, kind, start)
    else:
        kind, root = start.kind, start.root
    root = _make_symmetric(root)
    return BestMatrix(root @ root, kind, gain, error, root)


def _measure_gain(before: Array, after: Array, group: NDArray[np.intp]) -> tuple[float, float, int]:
    """Return the gain, its standard error, and the number of groups.

    ``before`` and ``after``, (m,), are the squared errors of held-out labels with the start and with the
    matrix of the search, and ``group``, (m,), is the number of each label's group.
    """
    total = float(before.sum())
    group_index = np.unique(group, return_inverse=True)[1]
    if total == 0:
        return 0.0, 0.0, int(group_index.max()) + 1
    gain = float((before - after).sum()) / total
    # This is the standard error of a ratio of two means, in which each group is one observation.
    residuals = np.bincount(group_index, (before - after) - gain * before)
    count = residuals.size
    error = math.sqrt(count / (count - 1) * float(np.sum(residuals**2))) / total
    return gain, error, count


@dataclass(frozen=True)
class _Start:
    """A start of the search: M is a multiple of the identity or of the columns' inverse variances."""

    kind: str
    size: float
    units: Array
    error: float

    @property
    def root(self) -> Array:
        return np.asarray(np.diag(self.size / self.units))


def _find_start(X: Array, y: Array, group: NDArray[np.intp]) -> _Start:
    """Return the better of the two starts that `_Start` describes."""
    starts = []
    units_of = {"none": np.ones(X.shape[1])}
    # for a single column both starts are the same
    if X.shape[1] > 1:
        units_of["scaled"] = _deviations(X)
    for kind, units in units_of.items():
        place = placement_of(X / units)
        found = find_window(place_rows(place, X / units), y, group)
        # the root of M is one over the bandwidth, which is R / sqrt(w)
        starts.append(
            _Start(kind, math.sqrt(found.w) / place.radius, units, float(found.risks.min()))
        )
    return min(starts, key=lambda start: start.error)


def _deviations(X: Array) -> Array:
    """Return the standard deviations of the columns, one for a column that does not vary."""
    found: Array = X.std(axis=0)
    found[found == 0] = 1.0
    return found


def _search(X: Array, y: Array, group: NDArray[np.intp], kind: str, begin: _Start) -> Array:
    """Return the A, (d, d), for which the search finds a small leave-one-out error of ``M = A A'``."""
    dim = X.shape[1]
    spread = _deviations(X)
    # The gradient vanishes at A = 0, so that the largest entry of tokens times A is at least 1e-3 at the
    # start.
    largest = float(np.abs(X / begin.units).max()) or 1.0
    size = max(begin.size, 1e-3 / largest)
    # columns are divided by their spread, so that all numbers are near one
    start_root = size * spread / begin.units
    X = X / spread

    def make_factor(numbers: Array) -> Array:
        """Return A, (d, d): the start times a diagonal or full matrix of the numbers."""
        A = np.diag(numbers) if kind == "diagonal" else numbers.reshape(dim, dim)
        return np.asarray(start_root[:, None] * A)

    def loss_and_slope(numbers: Array) -> tuple[float, Array]:
        A = make_factor(numbers)
        loss, slope = left_out_gradient(X, y, A, group)
        # the gradient in A is 2 dL/dM A
        by_numbers = 2 * start_root[:, None] * (slope @ A)
        return loss, np.diag(by_numbers).copy() if kind == "diagonal" else by_numbers.ravel()

    initial = np.ones(dim) if kind == "diagonal" else np.eye(dim).ravel()
    best = minimize(
        loss_and_slope, initial, jac=True, method="L-BFGS-B", options={"maxiter": _MAX_STEPS}
    )
    return np.asarray(make_factor(best.x) / spread[:, None])


def left_out_gradient(X: Array, y: Array, A: Array, group: NDArray[np.intp]) -> tuple[float, Array]:
    """Return the leave-one-out error at ``M = A A'`` and its gradient in M, symmetric, (d, d).

    Tokens X are (n, d), labels y (n, k), A is (d, r), and ``group``, (n,), has the number of each token's
    group. Let omega be the weights, p the predictions, and ``G_ij = 2/m omega_ij (p_i - y_i).(y_j - p_i)``,
    where m is the number of labels that `icl.data.draw` leaves out. The gradient is
    ``-1/2 (X' diag(c) X - X' G X - X' G' X)``, where c are the sums of the columns of G.
    """
    n = len(X)
    Z = X @ A
    half_squares = 0.5 * np.sum(Z**2, axis=1)
    # inner products of long tokens are rounded by too much
    far = bool(half_squares.max() > MAX_PRODUCT)
    at_once = max(1, _BLOCK // n)
    chosen = draw(n)
    parts = np.array_split(chosen, min(_PARTS, chosen.size))
    losses = np.zeros(n)
    # These are G X, and the column sums of each part, both without the factor 2/m.
    products = np.zeros_like(X)
    columns = np.zeros((len(parts), n))

    def sum_part(at: int) -> None:
        for start in range(0, len(parts[at]), at_once):
            columns[at] += compute_block(parts[at][start : start + at_once])

    def compute_block(rows: NDArray[np.intp]) -> Array:
        """Set losses and products of these queries, and return the sum of their rows of G, (n,)."""
        if far:
            weights = nearness(Z[rows], Z)
        else:
            weights = Z[rows] @ Z.T
            # up to a constant in each row, this is minus half the squared distances
            weights -= half_squares
        own_group = group[rows][:, None] == group
        weights[own_group] = -np.inf
        weights -= weights.max(axis=1, keepdims=True)
        # exponentials of smaller numbers are subnormal, and slow
        np.maximum(weights, -708.0, out=weights)
        np.exp(weights, out=weights)
        # the maximum has replaced minus infinity, too
        weights[own_group] = 0
        weights /= weights.sum(axis=1, keepdims=True)
        predicted = weights @ y
        missed = predicted - y[rows]
        losses[rows] = np.sum(missed**2, axis=1)
        # the weights become rows of G without 2/m
        weights *= missed @ y.T - np.sum(missed * predicted, axis=1, keepdims=True)
        products[rows] = weights @ X
        return np.asarray(weights.sum(axis=0))

    in_threads(sum_part, range(len(parts)))
    # the factor 2/m of G times 1/2 of the gradient is 1/m
    cross = X.T @ products
    gradient = -(X.T * columns.sum(axis=0)) @ X + cross + cross.T
    return float(losses.sum()) / chosen.size, gradient / chosen.size


def _predict_held_out(
    X: Array, y: Array, tokens: NDArray[np.intp], queries: NDArray[np.intp], A: Array
) -> Array:
    """Predict labels, (queries, k), with the matrix A A'; ``tokens`` and ``queries`` are row indices of X."""
    Z = X @ A
    place = placement_of(Z[tokens])
    placed, asked = (place_rows(place, Z[part]) for part in (tokens, queries))
    # with w = R^2 the bandwidth is one
    return predict_rows(placed, y[tokens], asked, place.radius**2)


def _make_symmetric(A: Array) -> Array:
    """Return the symmetric root of A A'."""
    left, values, _ = np.linalg.svd(A)
    return np.asarray((left * values) @ left.T)
