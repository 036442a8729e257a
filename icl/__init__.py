"""In-context learning with softmax attention: exact risk, pretraining, the tensor trick.

For your own data: `predict`, `best_window`, `weights` and `Placement` (module `data`), `best_matrix` (module
`directions`), `SoftmaxAttentionRegressor` and `SoftmaxAttentionClassifier` (module `regressor`, which needs
scikit-learn).
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from icl.data import BestWindow, Placement, best_window, predict, weights
    from icl.directions import BestMatrix, best_matrix
    from icl.regressor import SoftmaxAttentionClassifier, SoftmaxAttentionRegressor

    __version__: str

__all__ = [
    "BestMatrix",
    "BestWindow",
    "Placement",
    "SoftmaxAttentionClassifier",
    "SoftmaxAttentionRegressor",
    "best_matrix",
    "best_window",
    "predict",
    "weights",
]

#: The modules of the names that `icl.data` does not define.
_HOMES = {
    "BestMatrix": "icl.directions",
    "best_matrix": "icl.directions",
    "SoftmaxAttentionClassifier": "icl.regressor",
    "SoftmaxAttentionRegressor": "icl.regressor",
}


# a type checker that saw this function would accept every name of the module
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Return ``__version__`` or a name of `__all__`, which is imported on first use."""
        if name == "__version__":
            from importlib.metadata import version

            return version("softmax-icl")
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_HOMES.get(name, "icl.data")), name)


def __dir__() -> list[str]:
    """List the names that are defined so far, the names of `__all__`, and ``__version__``."""
    return sorted({*globals(), *__all__, "__version__"})
