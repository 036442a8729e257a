"""One unit of softmax attention as an estimator of scikit-learn, which only this module needs.

It stands in pipelines and cross-validation; `icl.data` has the functions behind it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icl.checks import flag, real, table, unmasked
from icl.data import MOST, MOST_WINDOW, BestWindow, best_window, labeled, predict, scaled

try:
    from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as missing:
    raise ImportError(
        "SoftmaxAttentionRegressor needs scikit-learn: pip install scikit-learn"
    ) from missing

__all__ = ["SoftmaxAttentionRegressor"]

Array = NDArray[np.float64]


class SoftmaxAttentionRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Predict by softmax attention over the training data, with the window that leaving one out finds.

    Args:
        w: Window parameter; None for the best one by `icl.best_window`.
        on_sphere: Whether to move tokens and queries to the unit sphere: the mean of the training tokens is
            subtracted and each row divided by its length. Otherwise they are taken as they are, and for a
            query the longest tokens in its direction count most. One feature allows no sphere, which would
            be two points.

    Attributes:
        w_: The window parameter that predicts.
        best_window_: The `icl.BestWindow`; None where ``w`` was given.
        center_: What is subtracted from each row, (d,).
    """

    def __init__(self, w: float | None = None, *, on_sphere: bool = True) -> None:
        self.w = w
        self.on_sphere = on_sphere

    def fit(self, X: ArrayLike, y: ArrayLike) -> SoftmaxAttentionRegressor:
        """Keep tokens (n, d) and labels (n,) or (n, k), and find the window; returns the estimator.

        Raises:
            ValueError: For what `icl.best_window` and scikit-learn refuse, and for one feature on the sphere.
        """
        unmasked(X, "X")
        unmasked(y, "y")
        tokens, labels = validate_data(self, X, y, dtype=float, multi_output=True, y_numeric=True)
        dim = tokens.shape[1]
        self._on_sphere = flag(self.on_sphere, "on_sphere")
        if self._on_sphere and dim == 1:
            raise ValueError(
                "X has n_features = 1: must be 2 or more with on_sphere=True, as the sphere would be two "
                "points; use on_sphere=False"
            )
        w = None if self.w is None else real(self.w, "w", 0, MOST_WINDOW)
        shrunk, exponent = scaled(tokens)
        center = np.ldexp(shrunk.mean(axis=0), exponent)
        self.center_ = center if self._on_sphere else np.zeros(dim)
        # as copies
        self._tokens, self._labels = labeled(self._placed(tokens), labels)
        self.best_window_: BestWindow | None = None
        if w is None:
            self.best_window_ = best_window(self._tokens, self._labels)
            w = self.best_window_.w
        self.w_ = w
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Predict labels, (m,) or (m, k), at queries (m, d)."""
        check_is_fitted(self)
        unmasked(X, "X")
        queries = validate_data(self, X, dtype=float, reset=False)
        queries = table(self._placed(queries), "X", MOST)
        return predict(self._tokens, self._labels, queries, self.w_)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return R^2 of the predictions at X, as scikit-learn's regressors do; masked entries are refused."""
        unmasked(y, "y")
        unmasked(sample_weight, "sample_weight")
        return float(super().score(X, y, sample_weight))

    def _placed(self, rows: Array) -> Array:
        """Return rows where attention compares them; a row of length zero stays at the center."""
        if not self._on_sphere:
            return rows
        sizes = np.maximum(np.abs(rows), np.abs(self.center_))
        # divided by powers of two, which change no digit, nothing overflows and no square vanishes
        with np.errstate(under="ignore"):
            exponents = np.frexp(sizes.max(axis=1, keepdims=True))[1]
            rows = np.ldexp(rows, -exponents) - np.ldexp(self.center_, -exponents)
            exponents = np.frexp(np.abs(rows).max(axis=1, keepdims=True))[1]
            rows = np.ldexp(rows, -exponents)
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(length > 0, length, 1.0))

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` was called."""
        return hasattr(self, "w_")
