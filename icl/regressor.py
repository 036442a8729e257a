"""One unit of softmax attention as estimators of scikit-learn, which only this module needs.

They fit into pipelines and cross-validation; `icl.data` has the functions behind them.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icl.checks import (
    choice,
    column_names,
    flag,
    masked_as_nan,
    real,
    same_columns,
    shown,
    table,
    without_text,
)
from icl.data import (
    MAX_ABS_ENTRY,
    MAX_WINDOW,
    BestWindow,
    Placement,
    check_data,
    comparable,
    deviations,
    find_window,
    number_groups,
    place_rows,
    placement_of,
    predict_rows,
)
from icl.directions import KINDS, BestMatrix, find_matrix

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as missing:
    raise ImportError(
        "this needs scikit-learn, which comes with the extra "
        '"sklearn": pip install "softmax-icl[sklearn]"'
    ) from missing

__all__ = ["SoftmaxAttentionClassifier", "SoftmaxAttentionRegressor"]

Array = NDArray[np.float64]

#: `fit` warns if one column varies this many times as much as another. Where both count alike, a window that
#: resolves the smaller one is narrower than a hundredth of the larger, and needs many thousands of rows.
_UNEQUAL = 100


class _Attention(BaseEstimator):  # type: ignore[misc]
    """The parameters and the query checks that both estimators share."""

    #: The column labels of X in `fit`, if it was a data frame.
    _labels_of_columns: tuple[Any, ...] | None = None

    def __init__(
        self, w: float | None = None, *, place: str = "auto", metric: str = "window"
    ) -> None:
        self.w = w
        self.place = place
        self.metric = metric

    def _queries(self, X: Any) -> Array:
        """Return queries (m, d), checked; `same_columns` also compares names that are not text."""
        X = masked_as_nan(X)
        without_text(X, "X")
        queries = validate_data(self, X, dtype=float, reset=False)
        same_columns(X, "X", self._labels_of_columns)
        return table(queries, "X", MAX_ABS_ENTRY)


class _Scored:
    """A score for which masked entries are NaN; as the first base class it precedes that of scikit-learn."""

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return R^2 of a regressor, or the share of right classes, at X.

        NaN and masked entries are refused, and so is text as a label of a regressor.
        """
        y = masked_as_nan(y)
        if isinstance(self, RegressorMixin):
            without_text(y, "y")
        return float(super().score(X, y, masked_as_nan(sample_weight)))  # type: ignore[misc]


class SoftmaxAttentionRegressor(_Scored, MultiOutputMixin, RegressorMixin, _Attention):  # type: ignore[misc]
    """Predict by softmax attention over the training data, with the window that leaving one out finds.

    With tokens on a sphere this is the Nadaraya-Watson kernel smoother with a Gaussian kernel. Columns of
    unequal scale should be standardized before, for example by `sklearn.preprocessing.StandardScaler`, or
    get bandwidths of their own by ``metric="diagonal"``; where one column varies more than a hundred times as
    much as another, `fit` warns. Rows that stand in the data twice, or belong to one person, need ``groups``
    in `fit`, else the window becomes so narrow that they copy each other's labels.

    Args:
        w: Window parameter; None for the best one by `icl.best_window`. A given one needs a ``place`` other
            than ``"auto"``, because w means something else on each sphere.
        place: How rows are placed: ``"lift"``, ``"center"`` or ``"as is"``, as `icl.Placement` says, or
            ``"auto"``, which takes ``"lift"`` or ``"center"``, whichever has the smaller leave-one-out error,
            and ``"lift"`` for one column and where a matrix was found.
        metric: ``"window"`` for one bandwidth in all directions; ``"diagonal"`` or ``"full"`` for the matrix
            that `icl.best_matrix` finds. If it is of kind ``"none"``, all is as with ``"window"``, and if of
            kind ``"scaled"``, as with ``"window"`` and columns divided by their standard deviations.

    Attributes:
        w_: The window parameter that predicts.
        place_: How rows were placed.
        bandwidth_: For lifted rows ``R / sqrt(w)``, the standard deviation of the Gaussian kernel in the unit
            of X (with directions in the unit that the matrix makes); None otherwise.
        best_window_: The `icl.BestWindow`; None where ``w`` was given.
        best_matrix_: The `icl.BestMatrix`; None for ``metric="window"``.
    """

    #: Whether the errors of several columns are summed as they are, see `icl.best_window`.
    _same_unit = False
    #: The column names that the classifier passes on.
    _columns: Any = None

    def fit(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None
    ) -> SoftmaxAttentionRegressor:
        """Keep tokens (n, d) and labels (n,) or (n, k), and find the window; returns the estimator.

        Tokens of one of the ``groups``, (n,), are left out together, as `icl.best_window` says; with ``w``
        given and no matrix there is nothing to leave out. The errors of several columns are divided by the
        variance of each. Time grows with the square of the tokens up to 5,000, and beyond with their number,
        since no more than 5,000 labels are left out: about two minutes for 1e5 rows of three columns on one
        core, and several times as long with a matrix.

        Warns:
            UserWarning: If there is one bandwidth for all columns and one of them varies more than a hundred
                times as much as another, by the standard deviation and by the range, unless the ``place`` is
                ``"as is"``.

        Raises:
            ValueError: For what `icl.best_window`, `icl.Placement`, `icl.best_matrix` and scikit-learn
                refuse, and for parameters that do not go together.
        """
        X, y = masked_as_nan(X), masked_as_nan(y)
        without_text(X, "X")
        without_text(y, "y")
        tokens, labels = validate_data(self, X, y, dtype=float, multi_output=True, y_numeric=True)
        self._labels_of_columns = column_names(X)
        return self._fit(tokens, labels, groups)

    def _fit(self, X: Array, y: Array, groups: ArrayLike | None) -> SoftmaxAttentionRegressor:
        """Fit arrays as `fit` says; the classifier calls this with the indicators of its classes."""
        w = self._window()
        X, y = check_data(X, y)
        self._warn_of_units(X)
        labels = comparable(y, self._same_unit)
        matrix, window = None, None
        if w is None or self.metric != "window":
            group = number_groups(groups, len(X))
        if self.metric != "window":
            matrix = find_matrix(X, labels, group, self.metric)
        tokens = _turn(X, matrix)
        fits: list[tuple[Placement, Array, BestWindow | None]] = []
        for mode in self._placements(X.shape[1], matrix):
            place = placement_of(tokens, mode)
            placed = place_rows(place, tokens)
            if w is None:
                window = find_window(placed, labels, group)
            fits.append((place, placed, window))
        # with a given w there is one placement, and its risk does not matter
        risks = [window.risks.min() if window else 0.0 for _, _, window in fits]
        self._place, self._tokens, self.best_window_ = fits[int(np.argmin(risks))]
        self._labels, self.best_matrix_ = y, matrix
        self.place_ = self._place.mode
        self.w_: float = w if self.best_window_ is None else self.best_window_.w  # type: ignore[assignment]
        self.bandwidth_ = None
        if self.place_ == "lift":
            self.bandwidth_ = self._place.radius / self.w_**0.5 if self.w_ > 0 else math.inf
        return self

    def predict(self, X: ArrayLike, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Predict labels, (m,) or (m, k), at queries (m, d).

        With ``return_std=True`` the result is a pair, whose second part has the same shape: the standard
        deviation of a new label at each query around its prediction. Labels of the window vary by their noise
        and by the function across the window; their weighted variance is divided by 1 - s and multiplied by
        1 + s, where s is the sum of the squared weights. On six sets of functions with 30 to 200 rows, 1.96
        of it covered a new label in .88 to .98 of cases: .88 to .93 where about three tokens share
        the weight or n = 30, .95 to .97 in wider windows. Where labels have hardly any noise the
        function's part counts most, and it is about twice too large. At a query far from all tokens it is not
        larger, and rows that repeat each other make it too small.

        Raises:
            ValueError: For queries that do not fit, and with ``return_std`` if there was one token only.
        """
        check_is_fitted(self)
        return_std = flag(return_std, "return_std")
        queries = self._placed(self._queries(X))
        found = predict_rows(self._tokens, self._labels, queries, self.w_)
        if not return_std:
            return found
        if len(self._tokens) < 2:
            raise ValueError("return_std=True: needs two rows in fit, of one label nothing varies")
        return found, deviations(self._tokens, self._labels, queries, self.w_)

    def _window(self) -> float | None:
        """Return the given window or None; ValueError for parameters that are wrong or do not go together."""
        choice(self.metric, "metric", ("window", *KINDS))
        choice(self.place, "place", ("auto", *Placement.MODES))
        w = None if self.w is None else real(self.w, "w", 0, MAX_WINDOW)
        if self.metric != "window" and self.place not in ("auto", "lift"):
            raise ValueError(
                f'metric={shown(self.metric)}: needs place="lift" or "auto", as its distances count lengths'
            )
        if w is not None and self.place == "auto":
            raise ValueError(
                f"w={w}: needs a place that is not auto, as w means something else on each sphere"
            )
        return w

    def _warn_of_units(self, tokens: Array) -> None:
        """Warn of columns of such unequal spread that distances hardly depend on some of them."""
        if self.metric != "window" or self.place == "as is":
            return
        spreads, ranges = tokens.std(axis=0), np.ptp(tokens, axis=0)
        # a constant column moves no distance, and neither do its rounding errors
        varies = ranges > 1e-12 * np.abs(tokens).max(axis=0)
        # both count, because a rare indicator has a small deviation and an outlier makes a large range
        small = varies & (_UNEQUAL * spreads < spreads.max())
        small &= _UNEQUAL * ranges < ranges.max()
        if not small.any():
            return
        largest = int(spreads.argmax())
        smallest = int(np.where(small, spreads, np.inf).argmin())
        names = getattr(self, "feature_names_in_", self._columns)
        wide, narrow = (
            shown(str(names[at])) if names is not None else str(at) for at in (largest, smallest)
        )
        others = int(small.sum()) - 1
        count = f"{narrow} and {others} more hardly count" if others else f"{narrow} hardly counts"
        warnings.warn(
            f"columns {wide} and {narrow} of X have the standard deviations {spreads[largest]:.2g} "
            f"and {spreads[smallest]:.2g}: with one bandwidth for all columns {count}; "
            'use metric="diagonal", or scale the columns',
            # the warning names the line that calls `fit`
            stacklevel=4,
        )

    def _placements(self, dim: int, matrix: BestMatrix | None) -> list[str]:
        """Return the placements whose errors are compared.

        ``"center"`` needs two columns, and would lose the lengths that a matrix was found with.
        """
        if self.place != "auto":
            return [self.place]
        found = matrix is not None and matrix.kind in KINDS
        return ["lift"] if dim == 1 or found else ["lift", "center"]

    def _placed(self, queries: Array) -> Array:
        """Return checked queries where attention compares them with the tokens."""
        return place_rows(self._place, _turn(queries, self.best_matrix_))

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` was called."""
        return hasattr(self, "w_")


class SoftmaxAttentionClassifier(_Scored, ClassifierMixin, _Attention):  # type: ignore[misc]
    """Classify by softmax attention: the probability of a class is the weight of its training rows.

    The window has the least Brier score, the squared error of these probabilities, of labels that are left
    out. Columns of unequal scale should be standardized before, and `fit` warns as that of
    `SoftmaxAttentionRegressor` does.

    Args:
        w: As for `SoftmaxAttentionRegressor`.
        place: As for `SoftmaxAttentionRegressor`.
        metric: As for `SoftmaxAttentionRegressor`.

    Attributes:
        classes_: The classes, sorted.
        regressor_: The `SoftmaxAttentionRegressor` of the indicators of the classes.
    """

    def fit(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None
    ) -> SoftmaxAttentionClassifier:
        """Keep tokens (n, d) and classes (n,), and find the window; returns the estimator.

        For ``groups`` see `SoftmaxAttentionRegressor.fit`.

        Raises:
            ValueError: For what `SoftmaxAttentionRegressor` and scikit-learn refuse.
        """
        X, y = masked_as_nan(X), masked_as_nan(y)
        without_text(X, "X")
        tokens, labels = validate_data(self, X, y, dtype=float)
        self._labels_of_columns = column_names(X)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        regressor = SoftmaxAttentionRegressor(self.w, place=self.place, metric=self.metric)
        regressor._same_unit = True
        regressor._columns = getattr(self, "feature_names_in_", None)
        self.regressor_ = regressor._fit(tokens, np.eye(self.classes_.size)[codes], groups)
        return self

    def predict_proba(self, X: ArrayLike) -> Array:
        """Compute the probabilities of the classes at queries (m, d), (m, classes); rows sum to one."""
        check_is_fitted(self)
        queries = self._queries(X)
        fitted = self.regressor_
        found = predict_rows(fitted._tokens, fitted._labels, fitted._placed(queries), fitted.w_)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def predict(self, X: ArrayLike) -> NDArray[np.generic]:
        """Predict the most probable class at queries (m, d), (m,)."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[most_probable])

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` was called."""
        return hasattr(self, "regressor_")


def _turn(rows: Array, matrix: BestMatrix | None) -> Array:
    """Return rows times the root of the matrix, if there is one."""
    return rows @ matrix.root if matrix is not None and matrix.kind != "none" else rows
