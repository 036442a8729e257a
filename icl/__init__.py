"""In-context learning with softmax attention: exact risk, pretraining, the tensor trick.

Of your own data: `predict`, `best_window` (module `data`) and `SoftmaxAttentionRegressor` (module
`regressor`, which needs scikit-learn).
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from icl.data import BestWindow, best_window, predict
    from icl.regressor import SoftmaxAttentionRegressor

    __version__: str

__all__ = ["BestWindow", "SoftmaxAttentionRegressor", "best_window", "predict"]


# where a type checker saw this function, every name would be right
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Return ``__version__`` or a name of `__all__`, imported when it is asked for: few need it."""
        if name == "__version__":
            from importlib.metadata import version

            return version("softmax-icl")
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        home = "icl.regressor" if name == "SoftmaxAttentionRegressor" else "icl.data"
        return getattr(import_module(home), name)


def __dir__() -> list[str]:
    """List the names that are there without an import, and those that are imported when asked for."""
    return sorted({*globals(), *__all__, "__version__"})
