"""Softmax attention on your data: predictions, and the best window by leaving one label out.

A unit with ``M = w I`` predicts ``sum_i e^{w x_i . q} y_i / sum_i e^{w x_i . q}`` at a query q. Data are
NumPy arrays, data frames, tensors or lists of numbers. `predict` neither centers nor scales them. Results are
NumPy arrays of float64; `icl.attention.softmax_attention` is for tensors and their gradients.

Bounds on the size of entries keep squares of products from overflowing and vanishing. Public functions check
their arguments; the others take checked float64 arrays.

A *tile* is a block of queries with a block of tokens, whose scores are computed at once. Memory therefore
grows with the number of tokens, not with its square. Threads share the blocks of queries, and the results do
not depend on their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icl import threads
from icl.checks import (
    choice,
    column_names,
    flag,
    masked_as_nan,
    real,
    same_columns,
    table,
)

__all__ = ["BestWindow", "Placement", "best_window", "predict", "weights"]

Array = NDArray[np.float64]

#: The size of an entry is at most this.
MAX_ABS_ENTRY = 1e60
#: The largest entry of a column is at least this in size, unless the column is zero.
MIN_COLUMN = 1e-60
#: The product of this window and two entries is finite.
MAX_WINDOW = 1e150
#: Scores of a tile: with fewer, threads wait for each other, and with more, for memory.
_TILE = 2**17
#: Fewest queries of a tile: with fewer, the tokens are read from memory more often.
_QUERIES = 64
#: OpenBLAS computes products up to this size on one thread; beyond, its threads compete with ours.
_MAX_MULTIPLICATIONS = 2**19
#: Each thread holds a tile.
_MAX_THREADS = 8
#: Exponents below this count as this, because subnormal numbers are slow.
_MIN_EXPONENT = -500.0
#: Sums of exponentials of scores up to this size cannot overflow or vanish.
_MAX_UNSHIFTED_SCORE = 300.0
#: Scores above this are rounded by more than 1e-7; squared distances keep their digits (`nearness`).
MAX_PRODUCT = 2.0**30
#: Lengths that differ by a smaller share are equal up to rounding.
_ONE_LENGTH = 1e-14
#: Coordinates that differ by a smaller share are equal up to rounding.
_ROUNDING = 1e-15
#: At most so many labels are left out or held out, so that time does not grow with the square of n.
_MAX_LEFT_OUT = 5000
#: Windows for each octave, which is the range from w to 2 w.
_PER_OCTAVE = 2
#: Weights of the window 2 w are the squares of those of w, up to this many times in sequence, because each
#: square doubles the rounding error.
_SQUARED = 24
#: The first window times the spread of the scores, so that weights hardly differ.
_FIRST = 2.0**-6
#: `low` and `high` are found among this many places of the curve on each side of w.
_POINTS = 500
#: Radius of the sphere of lifted tokens, over the largest distance of a token from the medians.
_RADII = 4.0
#: The last window times the median gap of the two highest scores: it copies the nearest label.
_COPIES = 16.0


@dataclass(frozen=True, eq=False)
class BestWindow:
    """What leaving one label out says of the window.

    Attributes:
        w: The window parameter with the least risk, interpolated between the windows of the curve.
        edge: "" if the minimum lies inside; "mean" if it is w = 0, the mean of all labels; "nearest" if it
            is the largest window, which copies the label of the nearest token.
        low: The smallest window whose risk exceeds that of w by at most one standard error of this
            difference. Labels of a group count as one observation. Windows from low to high predict these
            data about equally well.
        high: The largest such window. For many tokens low and high are about two standard errors of log w
            away from w.
        windows: The windows of the curve, (k,), beginning with 0.
        risks: The mean squared error on the labels that were left out, with their noise, (k,), for each
            window. With several columns of y it is the sum over columns, where each error is divided by the
            variance of its column unless ``same_unit`` was set.
    """

    w: float
    edge: str
    low: float
    high: float
    windows: Array = field(repr=False)
    risks: Array = field(repr=False)

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve of the error against w, a star at the best w, and the range from low to high.

        The error of a window is divided by the error at w = 0. The star has the height of the lowest point of
        the curve.

        Args:
            ax: Axes of matplotlib, which are returned; None for new ones.

        Raises:
            ImportError: Without matplotlib.
        """
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as missing:
                raise ImportError("plot needs matplotlib: pip install matplotlib") from missing
            ax = plt.subplots()[1]
        # if all labels are equal, the error of the mean is zero
        of_the_mean = self.risks[0] or 1.0
        (curve,) = ax.plot(self.windows, self.risks / of_the_mean)
        ax.axvspan(self.low, self.high, color=curve.get_color(), alpha=0.15, linewidth=0)
        ax.plot(self.w, self.risks.min() / of_the_mean, "k*")
        # The axis is linear up to the first window. If all tokens are equal, w = 0 is the only window.
        ax.set_xscale("symlog", linthresh=self.windows[1] if self.windows.size > 1 else 1.0)
        ax.set(xlabel="window parameter w", ylabel="error / error of the mean")
        return ax


def predict(X: ArrayLike, y: ArrayLike, queries: ArrayLike, w: float) -> Array:
    """Predict labels at queries by one unit of softmax attention with ``M = w I``.

    Args:
        X: Tokens, (n, d).
        y: Their labels, (n,) or (n, k).
        queries: Where to predict, (m, d), or one query (d,).
        w: Window parameter, from 0, which gives the mean of all labels, to 1e150.

    Returns:
        Predictions, (m,) or (m, k), in float64; without the first axis for one query.

    Raises:
        ValueError: If w is out of range, if shapes do not fit, or if an entry is not a finite number of size
            at most 1e60. If a column of X or y is not zero, and all its entries are below 1e-60 in size. If
            the columns of queries have other names or another order than in X.

    >>> predict([[1.0, 0.0], [0.0, 1.0]], [0.0, 1.0], [1.0, 0.0], w=0.0).item()
    0.5
    """
    same_columns(queries, "queries", column_names(X))
    X, y = check_data(X, y)
    queries, single = _check_queries(queries, X.shape[1])
    found = predict_rows(X, y, queries, real(w, "w", 0, MAX_WINDOW))
    return found[0] if single else found


def predict_rows(X: Array, y: Array, queries: Array, w: float) -> Array:
    """Return the predictions of `predict` at queries (m, d) for checked arguments."""
    largest, by_distance = _largest_score(X, queries, w)
    # the weighted sum of the ones is the sum of the weights
    summed = np.column_stack([y.reshape(len(y), -1), np.ones(len(y))])
    found = np.empty((len(queries), summed.shape[1] - 1))
    blocks, tiles = _cut_tiles(len(queries), summed)

    def average(rows: slice) -> None:
        sums = np.zeros((len(queries[rows]), summed.shape[1]))
        # this is a lower bound: w x.q is at least -largest, and w times `nearness` at least -2 largest
        highest: Array | float = -2 * largest
        for tokens in tiles:
            scores = _scores(queries[rows], X[tokens], w, by_distance)
            # large scores are counted from the highest of their query so far, and earlier sums are rescaled
            if largest > _MAX_UNSHIFTED_SCORE:
                highest, fall = _shift(scores, highest)
                np.maximum(scores, _MIN_EXPONENT, out=scores)
                sums *= _exp(fall)
            sums += np.exp(scores, out=scores) @ summed[tokens]
        found[rows] = sums[:, :-1] / sums[:, -1:]

    in_threads(average, blocks)
    return found.reshape(len(queries), *y.shape[1:])


def _shift(scores: Array, highest: Array | float) -> tuple[Array, Array]:
    """Subtract from scores (rows, tokens), in place, the highest score of their row so far.

    Return the new highest scores, (rows, 1), and ``highest``, the old ones, minus the new.
    """
    top = np.maximum(highest, scores.max(axis=1, keepdims=True))
    scores -= top
    return top, highest - top


def _exp(exponents: Array) -> Array:
    """Replace numbers, at most zero, by their exponentials; return them."""
    np.maximum(exponents, _MIN_EXPONENT, out=exponents)
    return np.exp(exponents, out=exponents)


def _largest_score(X: Array, queries: Array, w: float) -> tuple[float, bool]:
    """Return a bound on the size of ``w x.q``, and whether scores must be computed from distances."""
    largest = w * _largest_length(X) * _largest_length(queries)
    return largest, largest > MAX_PRODUCT and _have_one_length(X, queries)


def _largest_length(rows: Array) -> float:
    """Return the length of the longest row, without a temporary array of all rows."""
    return math.sqrt(np.einsum("nd,nd->n", rows, rows).max())


def _have_one_length(X: Array, queries: Array) -> bool:
    """Return whether all rows have one length."""
    lengths = np.concatenate([np.linalg.norm(part, axis=1) for part in (X, queries)])
    return bool(np.ptp(lengths) <= _ONE_LENGTH * lengths.max())


def weights(X: ArrayLike, queries: ArrayLike, w: float) -> Array:
    """Compute the attention weights, (m, n), with which `predict` averages labels; each row sums to one.

    Arguments and errors are those of `predict`. For one query, (d,), the result is (n,).

    >>> weights([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0], w=0.0)
    array([0.5, 0.5])
    """
    same_columns(queries, "queries", column_names(X))
    X = check_tokens(X)
    queries, single = _check_queries(queries, X.shape[1])
    w = real(w, "w", 0, MAX_WINDOW)
    scores = _scores(queries, X, w, _largest_score(X, queries, w)[1])
    scores -= scores.max(axis=1, keepdims=True)
    found = _exp(scores)
    found /= found.sum(axis=1, keepdims=True)
    return found[0] if single else found


def deviations(X: Array, y: Array, queries: Array, w: float) -> Array:
    """Return the standard deviation of a new label around each prediction, (m,) or (m, k).

    Let omega be the weights at a query, p the prediction, ``s = sum_i omega_i^2``, and
    ``v = sum_i omega_i (y_i - p)^2``. If labels are independent noise of variance V, the mean of v is
    ``V (1 - s)``, and the mean squared distance of a new label from p is ``V (1 + s)``. So the square of the
    result is ``v (1 + s) / (1 - s)``. There must be two tokens.

    In a narrow window v and ``1 - s`` vanish. They are computed without cancellation, from the weights of all
    tokens but the heaviest one.
    """
    labels = y.reshape(len(y), -1)
    squares = np.empty((len(queries), labels.shape[1]))
    by_distance = _largest_score(X, queries, w)[1]

    def average(rows: slice) -> None:
        """Set ``squares`` for a block of queries; arrays over tokens are (queries, n)."""
        scores = _scores(queries[rows], X, w, by_distance)
        row = np.arange(len(scores))
        heaviest = scores.argmax(axis=1)
        highest = scores[row, heaviest]
        scores[row, heaviest] = -np.inf
        second_highest = scores.max(axis=1)
        scores -= second_highest[:, None]
        others = _exp(scores)
        # `_exp` gives e^-500 for minus infinity
        others[row, heaviest] = 0
        total = others.sum(axis=1)
        others /= total[:, None]
        # this is the weight of the others over that of the heaviest
        odds = total * _exp(second_highest - highest)
        # this is the weight of the others
        rest = odds / (1 + odds)
        square = np.einsum("qn,qn->q", others, others)
        s = (1 - rest) ** 2 + rest**2 * square
        # As 1 - s is `rest` (2 - rest - rest square), this is `rest` (1 + s) / (1 - s). Below, `spread` is v
        # over `rest`, so that nothing is divided by `rest`, which may vanish.
        factor = (1 + s) / (2 - rest - rest * square)
        for column, label in enumerate(labels.T):
            # without the label of the heaviest token, this token does not contribute
            away = label - label[heaviest, None]
            mean = np.einsum("qn,qn->q", others, away)
            spread = np.einsum("qn,qn,qn->q", others, away, away) - rest * mean**2
            # rounding may leave a negative number
            squares[rows, column] = factor * np.maximum(spread, 0)

    in_threads(average, _cut(len(queries), max(16, _TILE // len(X))))
    return np.sqrt(squares).reshape(len(queries), *y.shape[1:])


class Placement:
    """Places your tokens for attention to compare them.

    Scores ``w x.q`` prefer long tokens. On a sphere all tokens are equally long, and scores prefer the near
    tokens. Attention is then the Nadaraya-Watson kernel smoother with a Gaussian kernel. There are three
    modes:

    - ``"lift"``: the median of each column is subtracted, and rows are divided by a radius R. R is four times
      the largest distance of a token from the medians. One more coordinate, ``sqrt(1 - |x|^2)``, lifts the
      rows to a unit sphere of one dimension more. The window w has the bandwidth ``R / sqrt(w)`` in the unit
      of the data. A query farther than R from the medians is pulled back to the distance R.
    - ``"center"``: the mean is subtracted, and each row is divided by its length, which is lost. This suits
      many columns, and labels that depend on directions.
    - ``"as is"``: nothing is done.

    Args:
        X: Tokens, (n, d), which set the center and R.
        mode: ``"lift"``, ``"center"`` or ``"as is"``.

    Attributes:
        mode: As given.
        center: What is subtracted, (d,).
        radius: R for ``"lift"``, and 1 for the other two modes.

    Raises:
        ValueError: For tokens that `predict` refuses, an unknown ``mode``, and ``"center"`` with one column,
            where the sphere would be two points. When called, for rows that do not fit.

    >>> place = Placement([[0.0], [2.0]])
    >>> place([[1.0], [3.0]])
    array([[0.       , 1.       ],
           [0.5      , 0.8660254]])
    """

    MODES = ("lift", "center", "as is")

    def __init__(self, X: ArrayLike, mode: str = "lift") -> None:
        """Find center and radius."""
        self._columns = column_names(X)
        self._fit(check_tokens(X), choice(mode, "mode", self.MODES))

    def _fit(self, tokens: Array, mode: str) -> None:
        """Set mode, center and radius for checked tokens."""
        if mode == "center" and tokens.shape[1] == 1:
            raise ValueError(
                'X has n_features = 1: must be 2 or more to place by "center", as the sphere would be two '
                'points; use "lift"'
            )
        self.mode = mode
        self.center, self.radius = np.zeros(tokens.shape[1]), 1.0
        if mode == "center":
            self.center = tokens.mean(axis=0)
        if mode == "lift":
            # one far token would move a mean
            self.center = np.median(tokens, axis=0)
            farthest = float(np.linalg.norm(tokens - self.center, axis=1).max())
            # if all tokens are equal, any radius will do
            self.radius = _RADII * farthest or 1.0

    def __call__(self, rows: ArrayLike) -> Array:
        """Place rows (m, d) or one row (d,); a lifted row has one more coordinate."""
        same_columns(rows, "rows", self._columns)
        rows = table(rows, "rows", MAX_ABS_ENTRY)
        dim = self.center.size
        if rows.ndim not in (1, 2) or rows.shape[-1] != dim or rows.size == 0:
            raise ValueError(f"rows has shape {rows.shape}: must be (m, {dim}) or ({dim},)")
        return place_rows(self, rows)

    def __repr__(self) -> str:
        """Return one short line."""
        return f"Placement({self.mode!r}, d={self.center.size}, radius={self.radius:g})"


def placement_of(tokens: Array, mode: str = "lift") -> Placement:
    """Return the `Placement` of checked tokens."""
    place = Placement.__new__(Placement)
    place._columns = None
    place._fit(tokens, mode)
    return place


def place_rows(place: Placement, rows: Array) -> Array:
    """Return checked rows (..., d) as a `Placement` places them."""
    if place.mode == "as is":
        return rows
    x = (rows - place.center) / place.radius
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    if place.mode == "center":
        # a row at the center has no direction, and stays there
        return np.asarray(x / np.where(length > 0, length, 1.0))
    # the mode is "lift", and lengths are in units of R
    x /= np.maximum(length, 1.0)
    length = np.minimum(length, 1.0)
    # the root of (1 - length) (1 + length) would differ from one by rounding in some short rows
    return np.concatenate([x, np.sqrt(1 - length**2)], axis=-1)


def best_window(
    X: ArrayLike,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    same_unit: bool = False,
) -> BestWindow:
    """Find the window that predicts each label best from all the others.

    If there are more than 5,000 labels, only 5,000 are left out, drawn with a fixed seed. So time grows with
    n and not with its square. The windows that are tried are w = 0 and a geometric grid, from nearly the mean
    of all labels to copies of the nearest. If tokens are multiplied by s, windows are divided by s^2.

    Args:
        X: Tokens, (n, d), at least two.
        y: Their labels, (n,) or (n, k). For a window of each column, call this for each.
        groups: The name or number of each token's group, (n,), two groups at least. Tokens of a group are
            left out together: rows that stand in the data twice, or measurements of one person.
        same_unit: Whether the errors of several columns of y are summed as they are, which is right for the
            indicators of classes. Otherwise the error of each column is divided by the variance of the
            column.

    Raises:
        ValueError: For data that `predict` refuses, and fewer than two tokens. If groups have another shape,
            a missing entry, or entries that cannot be sorted. If all tokens, or all labels that are left out,
            are in one group.
    """
    X, y = check_data(X, y)
    group = number_groups(groups, len(X))
    return find_window(X, make_comparable(y, flag(same_unit, "same_unit")), group)


def find_window(X: Array, labels: Array, group: NDArray[np.intp]) -> BestWindow:
    """Return the best window for checked tokens (n, d).

    The labels, (n, k), come from `make_comparable`, and ``group``, (n,), is the number of each token's group.
    """
    n = len(X)
    chosen = draw_left_out(group)
    # tokens are the queries, too
    sphere = _have_one_length(X, X[:1])
    smallest, octaves = _choose_windows(X, sphere)
    # each further octave has these windows doubled once more
    bases = smallest * 2.0 ** (np.arange(_PER_OCTAVE) / _PER_OCTAVE)
    windows = np.append(0.0, (2.0 ** np.arange(octaves)[:, None] * bases).ravel())
    largest = _largest_length(X) ** 2
    by_distance = sphere and windows[-1] * largest > MAX_PRODUCT
    losses = np.empty((windows.size, chosen.size))
    summed = np.column_stack([labels, np.ones(n)])
    # At w = 0 the mean label of all other groups is predicted. ``others`` are sums over these groups,
    # (n, k + 1), and the last column counts tokens.
    group_sums = np.array([np.bincount(group, column) for column in summed.T]).T
    others = summed.sum(axis=0) - group_sums[group]
    losses[0] = np.sum((labels - others[:, :-1] / others[:, -1:])[chosen] ** 2, axis=1)

    blocks, tiles = _cut_tiles(chosen.size, summed)

    def leave_out(places: slice) -> None:
        """Set the losses for all windows but w = 0, of the labels at these ``places`` of ``chosen``."""
        rows = chosen[places]
        # these are weighted sums of labels and of ones; row 0, that of w = 0, is not used
        sums = np.zeros((windows.size, rows.size, summed.shape[1]))
        # this lower bound of all scores is finite even if all tokens of the first tile are left out
        highest: Array | float = -2 * largest
        for tokens in tiles:
            # after `_shift` these are scores at w = 1 minus the highest one of the row
            gaps = _scores(X[rows], X[tokens], 1.0, by_distance)
            # the weight of a token that is left out is negligible, at most e^-500
            gaps[group[rows][:, None] == group[tokens]] = -np.inf
            highest, fall = _shift(gaps, highest)
            sums *= _exp(windows[:, None, None] * fall)
            weights = np.empty_like(gaps)
            # ``windows[0]`` is 0, and the windows of one base are _PER_OCTAVE apart
            for first_of_base, base in enumerate(bases, start=1):
                for octave, at in enumerate(range(first_of_base, windows.size, _PER_OCTAVE)):
                    if octave % _SQUARED:
                        weights *= weights
                    else:
                        _exp(np.multiply(base * 2.0**octave, gaps, out=weights))
                    sums[at] += weights @ summed[tokens]
        errors = labels[rows] - sums[1:, :, :-1] / sums[1:, :, -1:]
        losses[1:, places] = np.sum(errors**2, axis=2)

    in_threads(leave_out, blocks)
    return _find_minimum(windows, losses, group[chosen])


def draw(n: int) -> NDArray[np.intp]:
    """Return the sorted indices of the labels to leave out: all n, or 5,000 drawn with a fixed seed."""
    if n <= _MAX_LEFT_OUT:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).permutation(n)[:_MAX_LEFT_OUT])


def draw_left_out(group: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the indices of the labels to leave out (`draw`); ValueError if all are in one group."""
    chosen = draw(len(group))
    if np.ptp(group[chosen]) == 0:
        raise ValueError(
            f"groups has one group that holds all {chosen.size} labels that are left out: must have two"
        )
    return chosen


def make_comparable(y: Array, same_unit: bool) -> Array:
    """Return labels as columns (n, k), each minus its mean, because a mean far from zero costs digits.

    Several columns are divided by their standard deviations, unless they have the ``same_unit``.
    """
    columns = y.reshape(len(y), -1)
    labels: Array = columns - columns.mean(axis=0)
    if same_unit or labels.shape[1] == 1:
        return labels
    # a column that is constant up to rounding becomes zero
    varies = np.abs(labels).max(axis=0) > 1e-14 * np.abs(columns).max(axis=0)
    labels[:, ~varies] = 0
    labels[:, varies] /= labels[:, varies].std(axis=0)
    return labels


def number_groups(value: Any, n: int) -> NDArray[np.intp]:
    """Return the number of each token's group, (n,), counted from 0; with None each token is a group."""
    if value is None:
        if n < 2:
            raise ValueError(f"X has n_samples = {n}: must be 2 or more, one of which is left out")
        return np.arange(n)
    value = masked_as_nan(value)
    # NumPy would make text of a list of text and numbers, and NaN would become "nan"
    value = np.asarray(value) if hasattr(value, "dtype") else np.asarray(value, dtype=object)
    if value.shape != (n,):
        raise ValueError(f"groups has shape {value.shape}: must be ({n},), one for each token")
    try:
        # missing numbers and times differ from themselves
        missing = np.flatnonzero(value != value)
        if missing.size:
            raise ValueError(
                f"groups[{missing[0]}]={value[missing[0]]}: must be the group of the token, so fill it in"
            )
        found, group = np.unique(value, return_inverse=True)
    except TypeError:
        raise ValueError(
            "groups has entries that cannot be sorted: must be numbers or text"
        ) from None
    if found.size < 2:
        raise ValueError(f"groups has the one group {found[0]}: must have two or more")
    return group


def _find_minimum(windows: Array, losses: Array, group: NDArray[np.intp]) -> BestWindow:
    """Return the `BestWindow` of losses, (windows, labels left out); ``group`` has each label's group.

    A *place* is a position on the curve: the k-th window is at place k, and log w is linear in between.
    """
    risks = losses.mean(axis=1)
    at, last = int(risks.argmin()), windows.size - 1
    edge = "mean" if at == 0 else "nearest" if at == last else ""
    best = float(at)
    # The minimum is refined if both neighbors have a logarithm. Window 1 has the neighbor w = 0.
    if 1 < at < last:
        near = at + np.linspace(-1, 1, 2001)
        best = float(near[(_weigh_windows(near, at, last) @ risks).argmin()])
    # the cube makes places dense near the best one
    steps = np.linspace(0, 1, _POINTS) ** 3
    # there are no places between w = 0 and the first window
    begin = max(1.0, best)
    places_below = best - (best - 1) * steps[::-1]
    places_above = begin + (last - begin) * steps
    places = np.concatenate([[0.0], places_below if at > 0 else [], places_above])
    weights = _weigh_windows(places, at, last) - _weigh_windows(np.array([best]), at, last)
    # Rows of `weights` sum to zero, so that the losses of the least point may be subtracted, which keeps
    # digits.
    excess = losses - losses[at]
    # Losses of one group depend on each other, so that each group is one observation.
    units = np.unique(group, return_inverse=True)[1]
    deviations = excess - excess.mean(axis=1, keepdims=True)
    sums = np.array([np.bincount(units, row) for row in deviations])
    count = sums.shape[1]
    covariance = sums @ sums.T * (count / (count - 1) / losses.shape[1] ** 2)
    variance = np.einsum("pi,ij,pj->p", weights, covariance, weights)
    error = np.sqrt(np.maximum(variance, 0))
    # at these places the risk exceeds the least by at most one standard error
    alike = places[weights @ excess.mean(axis=1) <= error]
    w = _find_window_at(windows, best)
    low = _find_window_at(windows, alike[0])
    high = _find_window_at(windows, alike[-1])
    return BestWindow(w, edge, low, high, windows, risks)


def _weigh_windows(places: Array, at: int, last: int) -> Array:
    """Return weights (places, windows), whose product with the values of a curve interpolates the curve.

    Window k is at place k, from w = 0 at place 0 to the last window at ``last``. The value is that of a
    polynomial in log w through five windows, or fewer at the ends. The middle one is ``at``, the window of
    the least risk, for places up to 1 away from it, and the nearest window for other places.
    """
    weights = np.zeros((places.size, last + 1))
    weights[places == 0, 0] = 1
    middle = np.where(np.abs(places - at) <= 1, at, np.rint(places)).astype(int)
    for center in np.unique(middle[places > 0]):
        near = np.arange(max(1, center - 2), min(last, center + 2) + 1)
        rows = np.flatnonzero((middle == center) & (places > 0))
        for window in near:
            others = near[near != window]
            # Lagrange's polynomial is one at this window and zero at the others
            factors = (places[rows, None] - others) / (window - others)
            weights[rows, window] = factors.prod(axis=1)
    return weights


def _find_window_at(windows: Array, place: float) -> float:
    """Return the window at a place; log w is linear in the place between windows."""
    near = round(place)
    return float(windows[near] * 2 ** ((place - near) / _PER_OCTAVE))


def _choose_windows(X: Array, sphere: bool) -> tuple[float, int]:
    """Return the smallest window above 0 that is tried, and the number of octaves.

    There are zero octaves if each token has equal scores with all others, as for equal tokens or for two.
    ``sphere`` says whether all tokens have one length.
    """
    n = len(X)
    # The spread is the root mean square of the scores X (X - mean)'. The product of the triangular factors of
    # X and X - mean has the same norm, and is small.
    factors = [np.linalg.qr(part, mode="r") for part in (X, X - X.mean(axis=0))]
    spread = float(np.linalg.norm(np.inner(*factors))) / n
    # at most 64 tokens stand for all
    rows = np.unique(np.linspace(0, n - 1, min(n, 64)).astype(int))
    scores = _scores(X[rows], X, 1.0, sphere)
    # a token is not its own neighbor
    scores[np.arange(rows.size), rows] = -np.inf
    highest = scores.max(axis=1, keepdims=True)
    # Scores that differ by less than `tiny` are equal up to rounding, which on a sphere is proportional to
    # the score, and otherwise to the largest product. The share of the spread bounds the number of octaves.
    size = float(np.abs(X).max()) ** 2
    tiny = -1e-9 * highest if sphere else 1e-9 * spread + 1e-14 * X.shape[1] * size
    gaps = highest - scores
    # this is by how much the highest score of each token exceeds the next
    gaps = np.where(gaps > tiny, gaps, np.inf).min(axis=1)
    gaps = gaps[np.isfinite(gaps)]
    if gaps.size == 0:
        return 1.0, 0
    smallest = _FIRST / spread
    largest = _COPIES / float(np.median(gaps))
    return smallest, math.ceil(math.log2(max(largest / smallest, 2.0)))


def _scores(queries: Array, X: Array, w: float, by_distance: bool) -> Array:
    """Return w times inner products, or w times `nearness`, of few queries with all tokens."""
    if by_distance:
        return w * nearness(queries, X)
    queries = w * queries
    found = np.empty((len(queries), len(X)))
    # OpenBLAS starts threads of its own for larger products
    step = max(1, _MAX_MULTIPLICATIONS // queries.size)
    for start in range(0, len(X), step):
        tokens = slice(start, start + step)
        np.matmul(queries, X[tokens].T, out=found[:, tokens])
    return found


def nearness(queries: Array, X: Array) -> Array:
    """Return minus half the squared distances of few queries from all tokens, (queries, tokens).

    If all rows have one length, this is the inner product minus a constant, but keeps the digits of near
    rows. Coordinates that differ by rounding count as equal.
    """
    found = np.zeros((len(queries), len(X)))
    for q_a, x_a in zip(queries.T, X.T, strict=True):
        gaps = q_a[:, None] - x_a
        gaps[np.abs(gaps) <= _ROUNDING * np.abs(q_a)[:, None]] = 0
        gaps *= gaps
        found -= gaps
    found *= 0.5
    return found


def in_threads(work: Callable[[Any], None], blocks: Sequence[Any]) -> None:
    """Call ``work`` on every block; each call writes to its own rows."""
    count = min(threads.available(), _MAX_THREADS, len(blocks))
    # Python in a browser cannot start a thread. The caller may have set NumPy to raise on underflow, which
    # other threads do not see.
    if count == 1:
        with np.errstate(under="ignore"):
            for block in blocks:
                work(block)
        return
    with ThreadPoolExecutor(count) as pool:
        # the list waits for all blocks, and raises their errors
        list(pool.map(work, blocks))


def _cut_tiles(queries: int, summed: Array) -> tuple[list[slice], list[slice]]:
    """Return blocks of queries and blocks of tokens; ``summed`` has a row for each token."""
    tokens, columns = summed.shape
    # the product of a tile with all columns of `summed` must also be computed on one thread
    size = min(_TILE, _MAX_MULTIPLICATIONS // columns)
    rows = max(_QUERIES, size // tokens)
    return _cut(queries, rows), _cut(tokens, max(1, size // rows))


def _cut(length: int, size: int) -> list[slice]:
    """Cut a range into blocks."""
    return [slice(start, start + size) for start in range(0, length, size)]


def check_tokens(X: ArrayLike) -> Array:
    """Return tokens, (n, d), as a new array; ValueError if `predict` refuses them."""
    tokens = table(X, "X", MAX_ABS_ENTRY)
    if tokens.ndim != 2 or tokens.size == 0:
        hint = ", such as X[:, None] for one column" if tokens.ndim == 1 and tokens.size else ""
        raise ValueError(f"X has shape {tokens.shape}: must be (n, d), none of them 0{hint}")
    _check_size(tokens, "X")
    return tokens


def check_data(X: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Return tokens (n, d) and labels (n,) or (n, k) as new arrays; ValueError if `predict` refuses them."""
    tokens = check_tokens(X)
    labels = table(y, "y", MAX_ABS_ENTRY)
    if labels.ndim not in (1, 2) or labels.size == 0 or len(labels) != len(tokens):
        raise ValueError(
            f"y has shape {labels.shape}: must be ({len(tokens)},) or ({len(tokens)}, k), "
            f"as X is {tokens.shape}"
        )
    _check_size(labels, "y")
    return tokens, labels


def _check_size(rows: Array, name: str) -> None:
    """Raise ValueError unless each column is zero or has an entry of at least 1e-60 in size."""
    largest = np.atleast_1d(np.maximum(rows.max(axis=0), -rows.min(axis=0)))
    small = np.flatnonzero((largest > 0) & (largest < MIN_COLUMN))
    if small.size:
        column = f"{name}[:, {small[0]}]" if rows.ndim == 2 else name
        raise ValueError(
            f"{column} has no entry above {largest[small[0]]:.1e} in size: must have one of "
            f"{MIN_COLUMN:.0e} or more, or zeros only"
        )


def _check_queries(value: Any, dim: int) -> tuple[Array, bool]:
    """Return queries (m, d), and whether one query (d,) was given."""
    queries = table(value, "queries", MAX_ABS_ENTRY)
    single = queries.ndim == 1
    if queries.ndim not in (1, 2) or queries.shape[-1] != dim or queries.size == 0:
        raise ValueError(
            f"queries has shape {queries.shape}: must be (m, {dim}) or ({dim},), as X is (n, {dim})"
        )
    return np.atleast_2d(queries), single
