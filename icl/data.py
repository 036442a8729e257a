r"""Softmax attention on your data: predictions, and the best window by leaving one label out.

A unit with ``M = w I`` predicts ``sum_i e^{w x_i . q} y_i / sum_i e^{w x_i . q}``. Data are NumPy arrays,
data frames, tensors or lists of numbers, taken as they are: nothing is centered or scaled. Results are NumPy
arrays of float64; `icl.attention.softmax_attention` is for tensors and their gradients.

Entries are at most 1e60 in size, and each column of tokens and labels has one of 1e-60 or more, or is zero,
so that squares of products neither overflow nor vanish. Public functions check their arguments, and those
below them take float64 arrays that are checked.

Work goes by tiles of some queries and some tokens. Queries of a tile share what is read of the tokens, and
memory grows with the number of tokens, not with its square. The queries are divided among as many threads as
`icl.threads` allows, and eight at most, because each thread holds a tile; the numbers do not depend on how
many there are.
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
#: Scores of a tile, one megabyte: threads wait for each other with fewer, and for memory with more.
_TILE = 2**17
#: Queries of a tile, unless there are few tokens: with fewer of them, tokens are read from memory more often.
_QUERIES = 64
#: Largest product that OpenBLAS still computes on one thread; beyond it, its threads compete with ours.
_MAX_MULTIPLICATIONS = 2**19
#: Each thread holds a tile, so this bounds the memory.
_MAX_THREADS = 8
#: The exponential of a smaller number is negligible beside the largest weight, one. Of much smaller ones the
#: products with labels are subnormal numbers, which are slow.
_MIN_EXPONENT = -500.0
#: Exponentials of scores up to this size are summed without a shift, because no sum over- or underflows.
_MAX_UNSHIFTED_SCORE = 300.0
#: Scores above this are rounded by more than 1e-7. Between rows of one length they are then taken from
#: squared distances, which keep their digits.
MAX_PRODUCT = 2.0**30
#: Lengths that differ by a smaller share are one length up to rounding.
_ONE_LENGTH = 1e-14
#: Coordinates that differ by a smaller share are equal up to rounding.
_ROUNDING = 1e-15
#: At most so many labels are left out, or held out, so that time grows with n and not with its square.
_MAX_LEFT_OUT = 5000
#: Windows between w and 2 w.
_PER_OCTAVE = 2
#: Octaves after which weights are no longer squares of earlier ones, whose rounding errors double each time.
_SQUARED = 24
#: First window, times the spread of the scores, so that weights differ by two per cent.
_FIRST = 2.0**-6
#: Points of the curve on each side of w, among which low and high are.
_POINTS = 500
#: The sphere on which tokens are lifted has this radius, in largest distances from their medians.
_RADII = 4.0
#: Where the second nearest token has a weight of e^-16, the nearest is copied.
_COPIES = 16.0


@dataclass(frozen=True, eq=False)
class BestWindow:
    """What leaving one label out says of the window.

    Attributes:
        w: The window parameter of the least risk, from a polynomial in log w through the least value of the
            curve and two neighbors on each side.
        edge: "" if the minimum lies inside; "mean" if it is w = 0, the mean of all labels; "nearest" if it
            is the largest window, which copies the label of the nearest token.
        low: The smallest window whose losses exceed those of w by no more than one standard error of the
            paired difference. From low to high, with w among them, these data hardly tell windows apart. Of
            groups that are left out together, each counts as one observation.
        high: The largest such window. Near w an excess grows with the square of the distance in log w, its
            error with the distance itself, so that for many tokens low and high are about two standard
            errors of log w to each side. With 200 independent rows they enclosed the best window for new
            places in .88 to .96 of the data sets, and with 60 rows, 2 % of outliers or 20 groups in .67 to
            .94. The median risk of w was within 2 % of the least one there, and within 6 % here.
        windows: The curve's windows, (k,), beginning with 0.
        risks: The mean squared error of the label that was left out, (k,). With noisy labels it contains
            the noise of the label that is predicted. Of several columns of y it is the sum over columns, each
            divided by its variance unless they were said to have the same unit.
    """

    w: float
    edge: str
    low: float
    high: float
    windows: Array = field(repr=False)
    risks: Array = field(repr=False)

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve of the error against w, a star at the best w, and the range from low to high.

        The error is divided by that of the mean of all labels, which is w = 0. The star has the height of the
        curve's least point, a window of the grid next to w.

        Args:
            ax: Axes of matplotlib; None for new ones.

        Returns:
            The axes.

        Raises:
            ImportError: Without matplotlib.
        """
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as missing:
                raise ImportError("plot needs matplotlib: pip install matplotlib") from missing
            ax = plt.subplots()[1]
        # the mean has no error where all labels are equal
        of_the_mean = self.risks[0] or 1.0
        (curve,) = ax.plot(self.windows, self.risks / of_the_mean)
        ax.axvspan(self.low, self.high, color=curve.get_color(), alpha=0.15, linewidth=0)
        ax.plot(self.w, self.risks.min() / of_the_mean, "k*")
        # The axis is linear only from w = 0 to the first window, and logarithmic beyond. The curve is w = 0
        # alone where tokens do not tell their neighbors apart, see `_range`.
        ax.set_xscale("symlog", linthresh=self.windows[1] if self.windows.size > 1 else 1.0)
        ax.set(xlabel="window parameter w", ylabel="error / error of the mean")
        return ax


def predict(X: ArrayLike, y: ArrayLike, queries: ArrayLike, w: float) -> Array:
    """Predict labels at queries by one unit of softmax attention with ``M = w I``.

    The result is a NumPy array, also for tensors, whose gradients are not followed: for these there is
    `icl.attention.softmax_attention`.

    Args:
        X: Tokens, (n, d).
        y: Their labels, (n,) or (n, k).
        queries: Where to predict, (m, d), or one query (d,).
        w: Window parameter, from 0, the mean of all labels, to 1e150.

    Returns:
        Predictions, (m,) or (m, k), in float64; without the first axis for one query.

    Raises:
        ValueError: If w is out of range, if shapes do not fit, if an entry is not a finite number of size at
            most 1e60, if all entries of a column of X or y are below 1e-60 in size and not all are zero, or
            if data frames, or a Series that is a query, have columns of different names or order.

    >>> predict([[1.0, 0.0], [0.0, 1.0]], [0.0, 1.0], [1.0, 0.0], w=0.0).item()
    0.5
    """
    same_columns(queries, "queries", column_names(X))
    X, y = check_data(X, y)
    queries, single = _check_queries(queries, X.shape[1])
    found = predict_rows(X, y, queries, real(w, "w", 0, MAX_WINDOW))
    return found[0] if single else found


def predict_rows(X: Array, y: Array, queries: Array, w: float) -> Array:
    """Return the predictions of `predict`, (m,) or (m, k), at queries (m, d); all arguments are checked."""
    largest, by_distance = _largest_score(X, queries, w)
    # the sum of the last column is that of the weights
    summed = np.column_stack([y.reshape(len(y), -1), np.ones(len(y))])
    found = np.empty((len(queries), summed.shape[1] - 1))
    blocks, tiles = _tiles(len(queries), summed)

    def average(rows: slice) -> None:
        """Set the predictions of a block of queries."""
        sums = np.zeros((len(queries[rows]), summed.shape[1]))
        # This is below all scores: w times an inner product is at least minus the largest, and w times
        # `nearness` at least twice that.
        highest: Array | float = -2 * largest
        for tokens in tiles:
            scores = _scores(queries[rows], X[tokens], w, by_distance)
            # large scores are counted from the highest of a query so far, which rises from tile to tile
            if largest > _MAX_UNSHIFTED_SCORE:
                highest, fall = _shift(scores, highest)
                np.maximum(scores, _MIN_EXPONENT, out=scores)
                sums *= _exp(fall)
            sums += np.exp(scores, out=scores) @ summed[tokens]
        found[rows] = sums[:, :-1] / sums[:, -1:]

    in_threads(average, blocks)
    return found.reshape(len(queries), *y.shape[1:])


def _shift(scores: Array, highest: Array | float) -> tuple[Array, Array]:
    """Subtract the highest score of each row so far; return it, and its former value minus it."""
    top = np.maximum(highest, scores.max(axis=1, keepdims=True))
    scores -= top
    return top, highest - top


def _exp(exponents: Array) -> Array:
    """Return the exponentials of numbers up to zero, but at least e^-500, in their place."""
    np.maximum(exponents, _MIN_EXPONENT, out=exponents)
    return np.exp(exponents, out=exponents)


def _largest_score(X: Array, queries: Array, w: float) -> tuple[float, bool]:
    """Return the most that w times an inner product is in size, and whether scores come from distances."""
    largest = w * _largest_length(X) * _largest_length(queries)
    return largest, largest > MAX_PRODUCT and _have_one_length(X, queries)


def _largest_length(rows: Array) -> float:
    """Return the length of the longest row, without a temporary of the size of all rows."""
    return math.sqrt(np.einsum("nd,nd->n", rows, rows).max())


def _have_one_length(X: Array, queries: Array) -> bool:
    """Return whether all rows have one length, so that scores differ as half their squared distances do."""
    lengths = np.concatenate([np.linalg.norm(part, axis=1) for part in (X, queries)])
    return bool(np.ptp(lengths) <= _ONE_LENGTH * lengths.max())


def weights(X: ArrayLike, queries: ArrayLike, w: float) -> Array:
    """Compute the attention weights with which `predict` averages labels.

    Args:
        X: Tokens, (n, d).
        queries: Where to predict, (m, d), or one query (d,).
        w: Window parameter, from 0 to 1e150.

    Returns:
        Weights, (m, n), or (n,) for one query. They are not negative, and each row sums to one.

    Raises:
        ValueError: As `predict` raises it.

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
    """Return the standard deviations of a new label around predictions, (m,) or (m, k); two tokens at least.

    With weights omega, predictions p and ``s = sum_i omega_i^2``, labels of independent noise vary in the
    window by ``sum_i omega_i (y_i - p)^2``, in the mean the variance of the noise times ``1 - s``. The mean
    squared distance of a new label from p is that variance times ``1 + s``. So the square of the result is
    ``sum_i omega_i (y_i - p)^2 (1 + s) / (1 - s)``. In a narrow window ``1 - s`` vanishes with the weights of
    all tokens but the heaviest, so that these are normalized by themselves.
    """
    labels = y.reshape(len(y), -1)
    squares = np.empty((len(queries), labels.shape[1]))
    by_distance = _largest_score(X, queries, w)[1]

    def average(rows: slice) -> None:
        """Set the squared deviations in ``squares`` for a block of queries.

        Arrays over tokens are (queries, n).
        """
        scores = _scores(queries[rows], X, w, by_distance)
        heaviest, row = scores.argmax(axis=1), np.arange(len(scores))
        highest = scores[row, heaviest]
        scores[row, heaviest] = -np.inf
        second_highest = scores.max(axis=1)
        scores -= second_highest[:, None]
        others = _exp(scores)
        # `_exp` gives at least e^-500, also for minus infinity
        others[row, heaviest] = 0
        total = others.sum(axis=1)
        others /= total[:, None]
        # the weight of the others over that of the heaviest
        odds = total * _exp(second_highest - highest)
        # this is the weight of all tokens but the heaviest
        rest = odds / (1 + odds)
        square = np.einsum("qn,qn->q", others, others)
        s = (1 - rest) ** 2 + rest**2 * square
        # The weighted variance of the labels is rest times the spread below. The factor of the spread,
        # rest (1 + s) / (1 - s), is written without the quotient of vanishing numbers.
        factor = (1 + s) / (2 - rest - rest * square)
        for column, label in enumerate(labels.T):
            # labels are counted from that of the heaviest token, which then adds nothing
            away = label - label[heaviest, None]
            mean = np.einsum("qn,qn->q", others, away)
            spread = np.einsum("qn,qn,qn->q", others, away, away) - rest * mean**2
            # equal labels leave a rounding error of either sign
            squares[rows, column] = factor * np.maximum(spread, 0)

    # with fewer queries at once, tokens would be read from memory more often
    in_threads(average, _cut(len(queries), max(16, _TILE // len(X))))
    return np.sqrt(squares).reshape(len(queries), *y.shape[1:])


class Placement:
    """Places your tokens for attention to compare them.

    Scores ``w x.q`` prefer long tokens. On a sphere they prefer near ones, so that attention is the
    Nadaraya-Watson kernel smoother with a Gaussian kernel. There are three ways to place rows:

    - ``"lift"``: the median of each column is subtracted, rows are divided by the radius R, four times the
      largest distance of a token from the medians, and one more coordinate, ``sqrt(1 - |x|^2)``, takes them
      to the unit sphere of one dimension more. Lengths are kept: with the window w the bandwidth is
      ``R / sqrt(w)`` in the unit of the data. Distances along a radius are stretched by less than 4 %. A
      query beyond R is pulled back to it. A far token makes R and w large, but leaves the bandwidth as it is.
    - ``"center"``: the mean is subtracted and each row divided by its length, which is lost. It suits
      many columns, and labels that depend on directions.
    - ``"as is"``: nothing is done.

    Args:
        X: Tokens, (n, d), which say where the center is, and how large R.
        mode: ``"lift"``, ``"center"`` or ``"as is"``.

    Attributes:
        mode: As given.
        center: What is subtracted, (d,).
        radius: R; 1 for the other two.

    Raises:
        ValueError: For tokens that `predict` refuses, an unknown ``mode``, and ``"center"`` with one column,
            where the sphere would be two points. When called, for rows that do not fit, also in the names of
            their columns.

    >>> place = Placement([[0.0], [2.0]])
    >>> place([[1.0], [3.0]])
    array([[0.       , 1.       ],
           [0.5      , 0.8660254]])
    """

    MODES = ("lift", "center", "as is")

    def __init__(self, X: ArrayLike, mode: str = "lift") -> None:
        """Find center and radius of tokens."""
        self._columns = column_names(X)
        self._fit(check_tokens(X), choice(mode, "mode", self.MODES))

    def _fit(self, tokens: Array, mode: str) -> None:
        """Set mode, center and radius for checked tokens; ValueError for "center" with one column."""
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
            # one far token would move a mean, and all other tokens would lose digits
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
    """Return the `Placement` of tokens that are checked."""
    place = Placement.__new__(Placement)
    place._columns = None
    place._fit(tokens, mode)
    return place


def place_rows(place: Placement, rows: Array) -> Array:
    """Return rows (..., d), which are checked, as a `Placement` places them."""
    if place.mode == "as is":
        return rows
    x = (rows - place.center) / place.radius
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    if place.mode == "center":
        # a row at the center has no direction, and stays there
        return np.asarray(x / np.where(length > 0, length, 1.0))
    # The mode is "lift", and lengths are in units of R: a row beyond R is pulled back to it.
    x /= np.maximum(length, 1.0)
    length = np.minimum(length, 1.0)
    # This root is exactly one for all short rows. That of (1 - length) (1 + length) would vary from one short
    # row to another, by rounding.
    return np.concatenate([x, np.sqrt(1 - length**2)], axis=-1)


def best_window(
    X: ArrayLike,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    same_unit: bool = False,
) -> BestWindow:
    """Find the window that predicts each label best from all the others.

    Every label is left out once, or 5,000 of them, drawn at random with a fixed seed, if there are more: all
    tokens predict them, so that time grows with n and not with its square. All windows are tried in one pass
    over the scores: a geometric grid of two windows an octave, from one that hardly differs from the mean of
    all labels to one that copies the nearest label for half of the tokens. Between them each loss is taken as
    a polynomial in log w. Tokens that are multiplied by s have windows divided by s^2.

    Args:
        X: Tokens, (n, d), at least two.
        y: Their labels, (n,) or (n, k). For a window of each column, call this for each.
        groups: What tells apart the groups of tokens that are left out together, (n,), two groups at least:
            rows that stand in the data twice, or measurements of one person. None is each by itself.
        same_unit: Whether the errors of several columns of y are summed as they are, which is right for the
            indicators of classes. Otherwise each is divided by the variance of its column, so that no unit
            decides which of them counts.

    Raises:
        ValueError: For data that `predict` refuses, fewer than two tokens, groups of another shape, with a
            missing entry or with entries that cannot be sorted, and if all tokens or all labels that are left
            out are in one group.
    """
    X, y = check_data(X, y)
    group = number_groups(groups, len(X))
    return find_window(X, comparable(y, flag(same_unit, "same_unit")), group)


def find_window(X: Array, labels: Array, group: NDArray[np.intp]) -> BestWindow:
    """Return the best window for checked tokens (n, d).

    Labels, (n, k), are those that `comparable` returns, and ``group`` has the number of each token's group.
    """
    n = len(X)
    chosen = draw_left_out(group)
    sphere = _have_one_length(X, X[:1])
    smallest, octaves = _range(X, sphere)
    # after w = 0 the windows go octave by octave, and the bases are those of the first octave
    bases = smallest * 2.0 ** (np.arange(_PER_OCTAVE) / _PER_OCTAVE)
    windows = np.append(0.0, (2.0 ** np.arange(octaves)[:, None] * bases).ravel())
    largest = _largest_length(X) ** 2
    by_distance = sphere and windows[-1] * largest > MAX_PRODUCT
    losses = np.empty((windows.size, chosen.size))
    summed = np.column_stack([labels, np.ones(n)])
    # The sums over the tokens of all other groups, (n, k + 1), are the total minus those of the own group.
    # Their last column counts tokens. The means, sums over counts, are what w = 0 predicts.
    others = (
        summed.sum(axis=0) - np.array([np.bincount(group, column) for column in summed.T]).T[group]
    )
    losses[0] = np.sum((labels - others[:, :-1] / others[:, -1:])[chosen] ** 2, axis=1)

    blocks, tiles = _tiles(chosen.size, summed)

    def leave_out(places: slice) -> None:
        """Set the losses of a block of labels for all windows but w = 0.

        Sums over tokens are (windows, labels, k + 1), and those of w = 0 are not used.
        """
        rows = chosen[places]
        sums = np.zeros((windows.size, rows.size, summed.shape[1]))
        # this is below all scores, and finite, because a tile may have tokens of the left-out group alone
        highest: Array | float = -2 * largest
        for tokens in tiles:
            gaps = _scores(X[rows], X[tokens], 1.0, by_distance)
            # what is left out keeps a weight of e^-500 at most, which is negligible
            gaps[group[rows][:, None] == group[tokens]] = -np.inf
            highest, fall = _shift(gaps, highest)
            sums *= _exp(windows[:, None, None] * fall)
            weights = np.empty_like(gaps)
            # window 0 is w = 0, and those of one base are _PER_OCTAVE places apart
            for first_of_base, base in enumerate(bases, start=1):
                for octave, at in enumerate(range(first_of_base, windows.size, _PER_OCTAVE)):
                    if octave % _SQUARED:
                        # the squares are the weights of the doubled window
                        weights *= weights
                    else:
                        _exp(np.multiply(base * 2.0**octave, gaps, out=weights))
                    sums[at] += weights @ summed[tokens]
        errors = labels[rows] - sums[1:, :, :-1] / sums[1:, :, -1:]
        losses[1:, places] = np.sum(errors**2, axis=2)

    in_threads(leave_out, blocks)
    return _find_minimum(windows, losses, group[chosen])


def draw(n: int) -> NDArray[np.intp]:
    """Return the sorted indices of n labels, or of 5,000 of them, drawn at random with a fixed seed."""
    if n <= _MAX_LEFT_OUT:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).permutation(n)[:_MAX_LEFT_OUT])


def draw_left_out(group: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the indices that `draw` returns; ValueError if they are in one group."""
    chosen = draw(len(group))
    if np.ptp(group[chosen]) == 0:
        raise ValueError(
            f"groups has one group that holds all {chosen.size} labels that are left out: must have two"
        )
    return chosen


def comparable(y: Array, same_unit: bool) -> Array:
    """Return labels (n, k) minus their means, because a mean far from zero would take digits of sums.

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
    """Return the number of each token's group, (n,); without groups each token is one by itself.

    ValueError for another shape, for entries that are missing or cannot be sorted, and unless there are two
    groups or more.
    """
    if value is None:
        if n < 2:
            raise ValueError(f"X has n_samples = {n}: must be 2 or more, one of which is left out")
        return np.arange(n)
    value = masked_as_nan(value)
    # NumPy makes text of a mixed list: NaN would become the group "nan", and 1 and "1" would be equal
    value = np.asarray(value) if hasattr(value, "dtype") else np.asarray(value, dtype=object)
    if value.shape != (n,):
        raise ValueError(f"groups has shape {value.shape}: must be ({n},), one for each token")
    try:
        # numbers and times that are missing differ from themselves
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
    """Return the `BestWindow` of losses, (windows, labels left out); ``group`` has each label's group."""
    risks = losses.mean(axis=1)
    at, last = int(risks.argmin()), windows.size - 1
    edge = "mean" if at == 0 else "nearest" if at == last else ""
    # places on the curve, whose window k is at k
    best = float(at)
    # A minimum inside is refined between its two neighbors, unless one of these is w = 0, which has no
    # logarithm.
    if 1 < at < last:
        near = at + np.linspace(-1, 1, 2001)
        best = float(near[(_weigh_windows(near, at, last) @ risks).argmin()])
    # the cube makes the places dense near the best
    steps = np.linspace(0, 1, _POINTS) ** 3
    # between w = 0 and the first window there are no places
    begin = max(1.0, best)
    places_below = best - (best - 1) * steps[::-1]
    places_above = begin + (last - begin) * steps
    places = np.concatenate([[0.0], places_below if at > 0 else [], places_above])
    weights = _weigh_windows(places, at, last) - _weigh_windows(np.array([best]), at, last)
    # the weights of a difference sum to zero, so that losses may be counted from the least
    excess = losses - losses[at]
    # losses of one group depend on each other, so that groups are what is counted
    units = np.unique(group, return_inverse=True)[1]
    deviations = excess - excess.mean(axis=1, keepdims=True)
    sums = np.array([np.bincount(units, row) for row in deviations])
    count = sums.shape[1]
    # The covariance of the risks of two windows. The count over count - 1 makes up for the mean that was
    # subtracted.
    covariance = sums @ sums.T * (count / (count - 1) / losses.shape[1] ** 2)
    variance = np.einsum("pi,ij,pj->p", weights, covariance, weights)
    error = np.sqrt(np.maximum(variance, 0))
    alike = places[weights @ excess.mean(axis=1) <= error]
    w, low, high = (_window(windows, place) for place in (best, alike[0], alike[-1]))
    return BestWindow(w, edge, low, high, windows, risks)


def _weigh_windows(places: Array, at: int, last: int) -> Array:
    """Return weights that interpolate, (places, windows): each row times a curve is the curve's value there.

    Place k is window k, place 0 is w = 0, and ``last`` is the last window. Weights are those of a polynomial
    in log w through five windows: around the least one, ``at``, if that is a neighbor of the place, and
    otherwise around the nearest. At the ends of the curve there are fewer.
    """
    weights = np.zeros((places.size, last + 1))
    weights[places == 0, 0] = 1
    middle = np.where(np.abs(places - at) <= 1, at, np.rint(places)).astype(int)
    for center in np.unique(middle[places > 0]):
        near = np.arange(max(1, center - 2), min(last, center + 2) + 1)
        rows = np.flatnonzero((middle == center) & (places > 0))
        for window in near:
            others = near[near != window]
            # this is Lagrange's polynomial, one at this window and zero at the others
            factors = (places[rows, None] - others) / (window - others)
            weights[rows, window] = factors.prod(axis=1)
    return weights


def _window(windows: Array, place: float) -> float:
    """Return the window at a place, ``k`` for the k-th of the curve, and in between on the scale of log w."""
    near = round(place)
    return float(windows[near] * 2 ** ((place - near) / _PER_OCTAVE))


def _range(X: Array, sphere: bool) -> tuple[float, int]:
    """Return the smallest window and the number of octaves.

    There are zero octaves if no token has neighbors of different scores, as for equal tokens or for two.
    ``sphere`` says whether all tokens have one length, so that scores may be taken from distances.
    """
    n = len(X)
    # This is the root mean square of the scores X (X - mean)'. The triangular factors of both matrices,
    # (d, d), have a product of the same norm.
    factors = [np.linalg.qr(part, mode="r") for part in (X, X - X.mean(axis=0))]
    spread = float(np.linalg.norm(np.inner(*factors))) / n
    # the median of gaps is taken over these tokens
    rows = np.unique(np.linspace(0, n - 1, min(n, 64)).astype(int))
    scores = _scores(X[rows], X, 1.0, sphere)
    # what counts is how much nearer the nearest other token is than the next one
    scores[np.arange(rows.size), rows] = -np.inf
    highest = scores.max(axis=1, keepdims=True)
    # Scores that differ by less are equal up to rounding. On a sphere they are minus half the squared
    # distances, and rounded relative to themselves, else relative to the largest product.
    size = float(np.abs(X).max()) ** 2
    tiny = -1e-9 * highest if sphere else 1e-9 * spread + 1e-14 * X.shape[1] * size
    gaps = highest - scores
    # this leaves the gap to the next different score
    gaps = np.where(gaps > tiny, gaps, np.inf).min(axis=1)
    gaps = gaps[np.isfinite(gaps)]
    if gaps.size == 0:
        return 1.0, 0
    smallest = _FIRST / spread
    largest = _COPIES / float(np.median(gaps))
    # there is at least one octave
    return smallest, math.ceil(math.log2(max(largest / smallest, 2.0)))


def _scores(queries: Array, X: Array, w: float, by_distance: bool) -> Array:
    """Return w times the inner products of few queries with all tokens, (queries, tokens).

    With ``by_distance`` it is w times `nearness`.
    """
    if by_distance:
        return w * nearness(queries, X)
    queries = w * queries
    found = np.empty((len(queries), len(X)))
    # products are small enough that OpenBLAS starts no threads of its own
    step = max(1, _MAX_MULTIPLICATIONS // queries.size)
    for start in range(0, len(X), step):
        tokens = slice(start, start + step)
        np.matmul(queries, X[tokens].T, out=found[:, tokens])
    return found


def nearness(queries: Array, X: Array) -> Array:
    """Return minus half the squared distances of few queries from all tokens, (queries, tokens).

    For rows of one length these differ from inner products by a constant. Where the length is large, inner
    products lose digits, while the distances of near rows keep theirs. Coordinates that differ by rounding
    count as equal.
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
    # One thread is the caller's own, since a browser's Python may not start another. Here the caller's
    # settings of NumPy, which other threads do not have, may make an underflow an error, but a small weight
    # is zero.
    if count == 1:
        with np.errstate(under="ignore"):
            for block in blocks:
                work(block)
        return
    with ThreadPoolExecutor(count) as pool:
        # the list waits for all blocks, and raises an error of work
        list(pool.map(work, blocks))


def _tiles(queries: int, summed: Array) -> tuple[list[slice], list[slice]]:
    """Cut queries and tokens into blocks, which meet in tiles with scores and products within the limits."""
    tokens, columns = summed.shape
    # the scores of a tile are multiplied with all columns that are summed
    size = min(_TILE, _MAX_MULTIPLICATIONS // columns)
    rows = max(_QUERIES, size // tokens)
    return _cut(queries, rows), _cut(tokens, max(1, size // rows))


def _cut(length: int, size: int) -> list[slice]:
    """Cut a range into blocks."""
    return [slice(start, start + size) for start in range(0, length, size)]


def check_tokens(X: ArrayLike) -> Array:
    """Return tokens, (n, d), as a new array; ValueError for those that `predict` refuses."""
    tokens = table(X, "X", MAX_ABS_ENTRY)
    if tokens.ndim != 2 or tokens.size == 0:
        hint = ", such as X[:, None] for one column" if tokens.ndim == 1 and tokens.size else ""
        raise ValueError(f"X has shape {tokens.shape}: must be (n, d), none of them 0{hint}")
    _check_size(tokens, "X")
    return tokens


def check_data(X: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Return tokens (n, d) and labels (n,) or (n, k) as new arrays; ValueError as `predict` raises it."""
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
    """Raise ValueError unless each column is zero or has an entry of at least 1e-60, which can be squared."""
    largest = np.atleast_1d(np.maximum(rows.max(axis=0), -rows.min(axis=0)))
    small = np.flatnonzero((largest > 0) & (largest < MIN_COLUMN))
    if small.size:
        column = f"{name}[:, {small[0]}]" if rows.ndim == 2 else name
        raise ValueError(
            f"{column} has no entry above {largest[small[0]]:.1e} in size: must have one of "
            f"{MIN_COLUMN:.0e} or more, or zeros only"
        )


def _check_queries(value: Any, dim: int) -> tuple[Array, bool]:
    """Return queries (m, d), and whether one query (d,) was given; ValueError as `predict` raises it."""
    queries = table(value, "queries", MAX_ABS_ENTRY)
    single = queries.ndim == 1
    if queries.ndim not in (1, 2) or queries.shape[-1] != dim or queries.size == 0:
        raise ValueError(
            f"queries has shape {queries.shape}: must be (m, {dim}) or ({dim},), as X is (n, {dim})"
        )
    return np.atleast_2d(queries), single
