"""The compiled recurrence of the Gegenbauer polynomials."""

import contextlib
import functools

from numba import config, njit
from numba.core.caching import FunctionCache

inline = functools.partial(njit, inline="always")


def compiled(function):
    """Compile a loop, and keep the result between processes where there is a folder for it."""
    if config.DISABLE_JIT:
        return function
    dispatcher = njit(nogil=True, error_model="numpy")(function)
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
def _up(i, dim):
    return (i + dim - 2) / (2 * i + dim - 2) if i > 0 else 1.0


@compiled  # without fastmath: nothing may be rearranged in differences of small numbers
def recur(rows, q, step, gap, dim, degree, even):
    """Continue the recurrence of `icl.tasks.gegenbauer`: rows (k, m) from a degree on, state (m,)."""
    for row in rows:
        ahead, behind = _up(degree, dim), 1 - _up(degree, dim)
        if even:
            ahead *= _up(degree + 1, dim)
            behind *= 1 - _up(degree - 1, dim)
        ratio, lift = behind / ahead, 1 / ahead
        for j in range(q.size):
            row[j] = q[j]
            step[j] = ratio * step[j] + lift * (gap[j] * (1 - q[j]))
            q[j] += step[j]
        degree += 2 if even else 1
