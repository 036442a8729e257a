"""How loops that numba compiles are kept between processes."""

import contextlib
import functools

from numba import config, njit
from numba.core.caching import FunctionCache


def compiled(function=None, **options):
    """Compile a loop with options of numba, and keep the result where there is a folder for it."""
    if function is None:
        return functools.partial(compiled, **options)
    if config.DISABLE_JIT:
        return function
    dispatcher = njit(**options)(function)
    # no folder, or nothing is compiled
    with contextlib.suppress(RuntimeError, OSError, AttributeError):
        kept = _Kept(function)
        if hasattr(dispatcher, "_cache"):
            dispatcher._cache = kept
    return dispatcher


class _Kept(FunctionCache):
    """numba's cache, without which the loop is compiled again: a full disk or a quota ends no computation."""

    def load_overload(self, sig, target_context):
        with contextlib.suppress(OSError):
            return super().load_overload(sig, target_context)

    def save_overload(self, sig, data):
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)
