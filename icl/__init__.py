"""In-context learning with softmax attention: exact risk, pretraining, the tensor trick.

Of your own data: `predict`, `best_window` (module `data`) and `SoftmaxAttentionRegressor` (module
`regressor`, which needs scikit-learn).
"""

from typing import Any

_OWN_DATA = {
    "BestWindow": "icl.data",
    "best_window": "icl.data",
    "predict": "icl.data",
    "SoftmaxAttentionRegressor": "icl.regressor",
}


def __getattr__(name: str) -> Any:
    """Return ``__version__`` or a function for your own data; looked up late, because few ask."""
    if name == "__version__":
        from importlib.metadata import version

        return version("softmax-icl")
    if name in _OWN_DATA:
        from importlib import import_module

        return getattr(import_module(_OWN_DATA[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
