"""One unit of softmax attention as two estimators of scikit-learn, a regressor and a classifier."""

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
    deviations,
    find_window,
    make_comparable,
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

#: `fit` warns if one column varies this many times as much as another: a window that resolves the narrow one
#: would need many thousands of rows.
_UNEQUAL = 100


class _Attention(BaseEstimator):  # type: ignore[misc]
    """The parameters of both estimators, and the checks of queries."""

    #: The column labels of X in `fit`, if X was a data frame.
    _labels_of_columns: tuple[Any, ...] | None = None

    def __init__(
        self, w: float | None = None, *, place: str = "auto", metric: str = "window"
    ) -> None:
        self.w = w
        self.place = place
        self.metric = metric

    def _check_queries(self, X: Any) -> Array:
        """Return queries as an array (m, d); ValueError if they do not fit the data of `fit`."""
        X = masked_as_nan(X)
        without_text(X, "X")
        queries = validate_data(self, X, dtype=float, reset=False)
        # scikit-learn compares only names that are text
        same_columns(X, "X", self._labels_of_columns)
        return table(queries, "X", MAX_ABS_ENTRY)


class _Scored:
    """The method ``score`` of both estimators, which treats masked entries as NaN.

    It stands first among the base classes, so that it replaces that of scikit-learn.
    """

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return R^2 of a regressor, or the share of right classes of a classifier, at queries X.

        Raises:
            ValueError: If there are NaN or masked entries, or if labels of a regressor are text.
        """
        y = masked_as_nan(y)
        if isinstance(self, RegressorMixin):
            without_text(y, "y")
        return float(super().score(X, y, masked_as_nan(sample_weight)))  # type: ignore[misc]


class SoftmaxAttentionRegressor(_Scored, MultiOutputMixin, RegressorMixin, _Attention):  # type: ignore[misc]
    """Predict by softmax attention over the training data, with the window of least leave-one-out error.

    On a sphere this is the Nadaraya-Watson kernel smoother with a Gaussian kernel.

    - Standardize columns of unequal scale first, for example by `sklearn.preprocessing.StandardScaler`, or
      give each column a bandwidth by ``metric="diagonal"``.
    - Give `fit` the ``groups`` if rows occur twice in the data, or if several rows belong to one person.
      Otherwise the window becomes so narrow that such rows copy each other's labels.

    Args:
        w: Window parameter; None for the best one by `icl.best_window`. A given w needs a ``place`` other
            than ``"auto"``, because w means something else on each sphere.
        place: How rows are placed on a sphere: ``"lift"``, ``"center"`` or ``"as is"``, as `icl.Placement`
            says. ``"auto"`` is ``"lift"`` or ``"center"``, whichever has the smaller leave-one-out error. For
            a single column, and where a matrix was found, ``"auto"`` is ``"lift"``.
        metric: ``"window"`` for one bandwidth in all directions; ``"diagonal"`` or ``"full"`` for the matrix
            that `icl.best_matrix` finds.

    Attributes:
        w_: The window parameter that predicts.
        place_: How rows were placed: ``"lift"``, ``"center"`` or ``"as is"``.
        bandwidth_: The standard deviation of the Gaussian kernel, ``R / sqrt(w)``, for lifted rows on a
            sphere of radius R; None for other rows. Its unit is that of X, or of X times the root of
            ``best_matrix_`` if there is a matrix of another kind than ``"none"``.
        best_window_: The `icl.BestWindow`; None where ``w`` was given.
        best_matrix_: The `icl.BestMatrix`; None for ``metric="window"``.
    """

    #: Whether errors of label columns are summed without scaling.
    _same_unit = False
    #: The column names of X for the warning of `fit`, set by the classifier.
    _columns: Any = None

    def fit(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None
    ) -> SoftmaxAttentionRegressor:
        """Keep tokens (n, d) and labels (n,) or (n, k), and find the window; returns the estimator.

        ``groups``, (n,), says which tokens are left out together, as in `icl.best_window`. The squared
        errors of each label column are divided by the variance of that column.

        Time grows with the square of n up to n = 5,000, and with n beyond. It is about two minutes for 1e5
        rows of three columns on one core, and several times as long with a matrix.

        Warns:
            UserWarning: If a column of X varies less than a hundredth as much as another, unless there is a
                matrix or ``place="as is"``.

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
        """Fit arrays; the classifier passes the indicators of its classes as labels."""
        w = self._check_parameters()
        X, y = check_data(X, y)
        self._warn_of_units(X)
        # searches compare errors of scaled labels, and predictions are means of `y`
        labels = make_comparable(y, self._same_unit)
        matrix, window = None, None
        if w is None or self.metric != "window":
            group = number_groups(groups, len(X))
        if self.metric != "window":
            matrix = find_matrix(X, labels, group, self.metric)
        tokens = _apply_root(X, matrix)
        fits: list[tuple[Placement, Array, BestWindow | None]] = []
        for mode in self._list_placements(X.shape[1], matrix):
            place = placement_of(tokens, mode)
            placed = place_rows(place, tokens)
            if w is None:
                window = find_window(placed, labels, group)
            fits.append((place, placed, window))
        # with a given w there is a single placement
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

        With ``return_std=True`` the result is a pair of arrays of this shape. The second array estimates the
        standard deviation of a new label around its prediction, at each query.

        The standard deviation is

        - about twice too large where labels have hardly any noise, because it also counts how the function
          varies across the window,
        - too small if rows of the data repeat each other,
        - not larger at a query far from all tokens than elsewhere.

        Raises:
            ValueError: For queries that do not fit the data, and with ``return_std=True`` if `fit` had one
                token only.
        """
        check_is_fitted(self)
        return_std = flag(return_std, "return_std")
        queries = self._place_queries(self._check_queries(X))
        found = predict_rows(self._tokens, self._labels, queries, self.w_)
        if not return_std:
            return found
        if len(self._tokens) < 2:
            raise ValueError("return_std=True: needs two rows in fit, of one label nothing varies")
        return found, deviations(self._tokens, self._labels, queries, self.w_)

    def _check_parameters(self) -> float | None:
        """Return the given w or None; ValueError for parameters that are wrong or do not go together."""
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
        """Warn if distances hardly depend on some columns."""
        if self.metric != "window" or self.place == "as is":
            return
        spreads, ranges = tokens.std(axis=0), np.ptp(tokens, axis=0)
        # the range of a constant column may be above zero by rounding
        varies = ranges > 1e-12 * np.abs(tokens).max(axis=0)
        # A rare indicator has a small deviation, and an outlier in another column makes all ranges small. So
        # a column is small if its deviation and its range are.
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
            # the warning shows the line that calls `fit`
            stacklevel=4,
        )

    def _list_placements(self, dim: int, matrix: BestMatrix | None) -> list[str]:
        """Return the placements that are compared.

        ``"center"`` needs two columns, and drops the lengths of rows, which a matrix that was found counts.
        """
        if self.place != "auto":
            return [self.place]
        found = matrix is not None and matrix.kind in KINDS
        return ["lift"] if dim == 1 or found else ["lift", "center"]

    def _place_queries(self, queries: Array) -> Array:
        """Return checked queries on the sphere of the tokens."""
        return place_rows(self._place, _apply_root(queries, self.best_matrix_))

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` was called."""
        return hasattr(self, "w_")


class SoftmaxAttentionClassifier(_Scored, ClassifierMixin, _Attention):  # type: ignore[misc]
    """Classify by softmax attention: the probability of a class is the weight of its training rows.

    The window minimizes the Brier score of labels that are left out: the squared error of the probabilities.
    Parameters and advice are those of `SoftmaxAttentionRegressor`.

    Attributes:
        classes_: The classes, sorted.
        regressor_: The `SoftmaxAttentionRegressor` whose labels are the indicators of the classes.
    """

    def fit(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None
    ) -> SoftmaxAttentionClassifier:
        """Keep tokens (n, d) and classes (n,), and find the window; returns the estimator.

        For ``groups`` see `SoftmaxAttentionRegressor.fit`.

        Raises:
            ValueError, TypeError: For what `SoftmaxAttentionRegressor` and scikit-learn refuse.
        """
        X, y = masked_as_nan(X), masked_as_nan(y)
        without_text(X, "X")
        tokens, labels = validate_data(self, X, y, dtype=float)
        self._labels_of_columns = column_names(X)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        regressor = SoftmaxAttentionRegressor(self.w, place=self.place, metric=self.metric)
        # the errors of all indicators have one unit, and are summed without scaling
        regressor._same_unit = True
        regressor._columns = getattr(self, "feature_names_in_", None)
        self.regressor_ = regressor._fit(tokens, np.eye(self.classes_.size)[codes], groups)
        return self

    def predict_proba(self, X: ArrayLike) -> Array:
        """Compute the probability of each class, (m, classes), at queries (m, d); rows sum to one."""
        check_is_fitted(self)
        fitted = self.regressor_
        queries = fitted._place_queries(self._check_queries(X))
        found = predict_rows(fitted._tokens, fitted._labels, queries, fitted.w_)
        # the sums of `found` are one up to rounding
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def predict(self, X: ArrayLike) -> NDArray[np.generic]:
        """Predict the most probable class, (m,), at queries (m, d)."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[most_probable])

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` was called."""
        return hasattr(self, "regressor_")


def _apply_root(rows: Array, matrix: BestMatrix | None) -> Array:
    """Return rows times the root of the matrix; for None and for the kind "none" the rows."""
    return rows @ matrix.root if matrix is not None and matrix.kind != "none" else rows
