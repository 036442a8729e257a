r"""Find which directions of your data count: a matrix in place of one window, by leaving one label out.

A smoother with the matrix ``M`` has weights proportional to ``exp(-(x_i - q)' M (x_i - q) / 2)``. If all
tokens ``M^(1/2) x`` have one length, this is softmax attention with ``w = 1`` on these tokens. If not,
`icl.Placement` first lifts them to a sphere. The literature calls the method MLKR, metric learning for kernel
regression (Weinberger and Tesauro 2007). Theorem 4 of paper 1 says that attention should give
irrelevant directions a weight of zero.
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
#: This share of the tokens is held out to test whether directions gain anything.
_HELD_OUT = 1 / 3
#: One-sided confidence at which a gain counts: that of two standard errors of a normal distribution.
_CONFIDENCE = float(ndtr(2))
#: The search takes at most this many steps.
_MAX_STEPS = 60
#: Each thread computes this many scores at once.
_BLOCK = 2**18
#: The queries are cut into this many parts, which threads share; each part has sums of its own.
_PARTS = 16


@dataclass(frozen=True, eq=False)
class BestMatrix:
    """What leaving one label out says of the directions.

    Attributes:
        M: The matrix of the weights ``exp(-(x_i - q)' M (x_i - q) / 2)``, (d, d), positive semidefinite.
        kind: ``"diagonal"`` or ``"full"`` if M is a matrix that the search found. ``"none"`` and ``"scaled"``
            are simple matrices: a multiple of the identity, and a multiple of the inverse variances of the
            columns, as after `sklearn.preprocessing.StandardScaler`. M is the better simple matrix if that of
            the search does not predict held-out labels better.
        gain: The share by which the matrix of the search lowers the mean squared error of held-out labels,
            compared with the better simple matrix; negative if it raises the error. A gain hardly above two
            standard errors is too large in the mean, because smaller gains do not count: .2 in place of .1 in
            a simulation of 30 data sets with 150 rows and six columns, in 4 of which the gain counted.
        error: The standard error of ``gain``.
        root: The symmetric root of M, (d, d); a `BestMatrix`, called with rows, multiplies the rows by this
            root.
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
            ValueError: If the shape or the names of the columns do not fit, or an entry is not a finite
                number of size at most 1e60.
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

    The search takes at most 60 steps of L-BFGS on the leave-one-out error, whose gradient has a closed form.
    Its start is the best multiple of the identity, or the best multiple of the inverse variances of the
    columns, whichever has the smaller error. So columns may have unequal units.

    The first search sees two thirds of the tokens. If its matrix predicts the labels of the other third
    better than the start does, the search is repeated with all tokens, and its matrix is the result.
    Otherwise the result is the start for all tokens. Better means by two standard errors, or for few tokens
    by as many as Student's distribution asks. If labels do not depend on directions, the matrix of the search
    seems better by chance in about one data set in forty, and in one in ten of those with a dozen tokens.

    A gradient costs n^2 d operations, or 5,000 n d if n is above 5,000, since at most 5,000 labels are left
    out.

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
    """Return the best matrix for checked tokens (n, d); ValueError for fewer than six groups.

    The labels, (n, k), come from `icl.data.make_comparable`, and ``group``, (n,), is the number of each
    token's group.
    """
    count = int(group.max()) + 1
    if count < 6:
        raise ValueError(
            f"X has {count} tokens, or groups of tokens: must have 6 or more, a third of which is held out"
        )
    # the weights depend on differences of tokens only; near zero their inner products are rounded by less
    tokens = X - np.median(X, axis=0)
    # the stopping rule depends on the size of the error; scaling by a power of two is exact
    labels = np.ldexp(labels, -int(np.frexp(np.abs(labels).max())[1]))
    # groups are chosen at random, since the tokens may be sorted
    order = np.random.default_rng(0).permutation(count)
    chosen = np.isin(group, order[: math.ceil((1 - _HELD_OUT) * count)])
    seen, held_out = np.flatnonzero(chosen), np.flatnonzero(~chosen)
    # at most 5,000 of the held-out labels are predicted
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
    # this quantile of Student's distribution is two for many groups, and larger for few
    if gain > float(stdtrit(groups - 1, _CONFIDENCE)) * error:
        root = _search(tokens, labels, group, kind, start)
    else:
        kind, root = start.kind, start.root
    root = _make_symmetric(root)
    return BestMatrix(root @ root, kind, gain, error, root)


def _measure_gain(before: Array, after: Array, group: NDArray[np.intp]) -> tuple[float, float, int]:
    """Return the gain, its standard error, and the number of groups.

    ``before`` and ``after``, (m,), are the squared errors of held-out labels, with the start and with the
    matrix of the search. The gain is the share by which the mean of ``after`` is below the mean of
    ``before``. ``group``, (m,), is the number of each label's group.
    """
    total = float(before.sum())
    group_index = np.unique(group, return_inverse=True)[1]
    if total == 0:
        return 0.0, 0.0, int(group_index.max()) + 1
    gain = float((before - after).sum()) / total
    # This is the standard error of a ratio of two means. Losses of one group depend on each other, so each
    # group is one observation.
    residuals = np.bincount(group_index, (before - after) - gain * before)
    count = residuals.size
    error = math.sqrt(count / (count - 1) * float(np.sum(residuals**2))) / total
    return gain, error, count


@dataclass(frozen=True)
class _Start:
    """A start of the search: its M is a multiple of the identity or of the columns' inverse variances.

    The root of M is diagonal, ``size / units``, and ``error`` is the leave-one-out error.
    """

    kind: str
    size: float
    units: Array
    error: float

    @property
    def root(self) -> Array:
        return np.asarray(np.diag(self.size / self.units))


def _find_start(X: Array, y: Array, group: NDArray[np.intp]) -> _Start:
    """Return the better of two starts: best multiples of the identity, and of the inverse variances."""
    starts = []
    units_of = {"none": np.ones(X.shape[1])}
    # for a single column the two starts are the same
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
    # The start is A = diag(size / units). The gradient vanishes at A = 0, so the start is not too small: the
    # largest entry of tokens times A is at least 1e-3. If all tokens are zero, 1 stands for this entry.
    largest = float(np.abs(X / begin.units).max()) or 1.0
    size = max(begin.size, 1e-3 / largest)
    # Below, columns are divided by their spread, so that their numbers are near one. For such columns the
    # start is diag(start_root).
    start_root = size * spread / begin.units
    X = X / spread

    def make_factor(numbers: Array) -> Array:
        """Return A, (d, d), for the numbers that are searched: the start times a diagonal or full matrix."""
        A = np.diag(numbers) if kind == "diagonal" else numbers.reshape(dim, dim)
        return np.asarray(start_root[:, None] * A)

    def loss_and_slope(numbers: Array) -> tuple[float, Array]:
        A = make_factor(numbers)
        loss, slope = left_out_gradient(X, y, A, group)
        # the gradient in A is 2 dL/dM A, and A is diag(start_root) times the numbers
        by_numbers = 2 * start_root[:, None] * (slope @ A)
        return loss, np.diag(by_numbers).copy() if kind == "diagonal" else by_numbers.ravel()

    initial = np.ones(dim) if kind == "diagonal" else np.eye(dim).ravel()
    best = minimize(
        loss_and_slope, initial, jac=True, method="L-BFGS-B", options={"maxiter": _MAX_STEPS}
    )
    return np.asarray(make_factor(best.x) / spread[:, None])


def left_out_gradient(X: Array, y: Array, A: Array, group: NDArray[np.intp]) -> tuple[float, Array]:
    """Return the leave-one-out error at ``M = A A'`` and its gradient in M, symmetric, (d, d).

    The error is the mean squared error of m labels: all n, or 5,000 that `icl.data.draw` chooses of more.

    Let omega be the weights, p the predictions, and ``G_ij = 2/m omega_ij (p_i - y_i).(y_j - p_i)``. The
    gradient is ``-1/2 (X' diag(c) X - X' G X - X' G' X)``, where c are the sums of the columns of G. The sums
    of the rows of G are zero, and add nothing.

    Args:
        X: Tokens, (n, d).
        y: Labels, (n, k).
        A: A factor of M, (d, r).
        group: The number of each token's group, (n,). Tokens of a group are left out together.
    """
    n = len(X)
    Z = X @ A
    half_squares = 0.5 * np.sum(Z**2, axis=1)
    # If tokens are long, inner products are rounded by too much, and distances are computed from differences.
    far = bool(half_squares.max() > MAX_PRODUCT)
    at_once = max(1, _BLOCK // n)
    chosen = draw(n)
    parts = np.array_split(chosen, min(_PARTS, chosen.size))
    losses = np.zeros(n)
    # These are G X, and sums of the columns of G over the queries of each part, both without the factor 2/m.
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
            # the result is minus half the squared distances, up to a constant in each row
            weights -= half_squares
        own_group = group[rows][:, None] == group
        weights[own_group] = -np.inf
        weights -= weights.max(axis=1, keepdims=True)
        # The exponentials of smaller numbers are subnormal, and slow. They are negligible beside the largest
        # weight, 1.
        np.maximum(weights, -708.0, out=weights)
        np.exp(weights, out=weights)
        # the maximum has replaced minus infinity, too
        weights[own_group] = 0
        weights /= weights.sum(axis=1, keepdims=True)
        predicted = weights @ y
        missed = predicted - y[rows]
        losses[rows] = np.sum(missed**2, axis=1)
        # with the factor (p_i - y_i).(y_j - p_i) the weights become rows of G without 2/m
        weights *= missed @ y.T - np.sum(missed * predicted, axis=1, keepdims=True)
        products[rows] = weights @ X
        return np.asarray(weights.sum(axis=0))

    in_threads(sum_part, range(len(parts)))
    # the factor 2/m of G times the factor 1/2 of the gradient is 1/m, by which the result is divided
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
    # with w = R^2 the bandwidth R / sqrt(w) is one, and the weights are those of A A'
    return predict_rows(placed, y[tokens], asked, place.radius**2)


def _make_symmetric(A: Array) -> Array:
    """Return the symmetric root of A A': it has the left singular vectors and the singular values of A."""
    left, values, _ = np.linalg.svd(A)
    return np.asarray((left * values) @ left.T)
