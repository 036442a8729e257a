"""One unit of softmax attention as an estimator of scikit-learn, which only this module needs.

It stands in pipelines and cross-validation; `icl.data` has the functions behind it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icl.checks import flag, real
from icl.data import BestWindow, best_window, predict

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
            query the longest tokens in its direction count most.

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
            ValueError: For what `icl.best_window` and scikit-learn refuse.
        """
        tokens, labels = validate_data(
            self, X, y, dtype=float, multi_output=True, y_numeric=True
        )
        on_sphere = flag(self.on_sphere, "on_sphere")
        self.center_ = tokens.mean(axis=0) if on_sphere else np.zeros(tokens.shape[1])
        self._tokens = self._placed(tokens)
        self._labels = np.asarray(labels, dtype=float)
        if self.w is None:
            self.best_window_: BestWindow | None = best_window(
                self._tokens, self._labels
            )
            self.w_ = self.best_window_.w
        else:
            self.best_window_ = None
            self.w_ = real(self.w, "w", 0)
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Predict labels, (m,) or (m, k), at queries (m, d)."""
        check_is_fitted(self)
        queries = validate_data(self, X, dtype=float, reset=False)
        return predict(self._tokens, self._labels, self._placed(queries), self.w_)

    def _placed(self, rows: Array) -> Array:
        """Return rows where attention compares them; a row of length zero stays at the center."""
        if not self.on_sphere:
            return rows
        rows = rows - self.center_
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(length > 0, length, 1.0))

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` was called."""
        return hasattr(self, "w_")
