"""How loops are compiled by numba, and kept between processes."""

import contextlib
import functools

from numba import config, njit
from numba.core.caching import FunctionCache

#: For what loops call. A function that is compiled by itself becomes part of the loop in the process that
#: compiles both, but not where it is read from the cache: the two round differently.
inline = functools.partial(njit, inline="always")


def compiled(function=None, **options):
    """Compile a loop, and keep the result between processes where there is a folder for it.

    The options are those of numba. Without ``fastmath`` nothing is rearranged.
    """
    if function is None:
        return functools.partial(compiled, **options)
    if config.DISABLE_JIT:
        return function
    dispatcher = njit(nogil=True, error_model="numpy", **options)(function)
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


@inline
def horner(x, coefficients):
    """Return the polynomial with these coefficients, that of the highest power first."""
    value = coefficients[0]
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value
