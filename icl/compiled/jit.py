"""A decorator that compiles loops with numba, and keeps them on disk for other processes."""

import contextlib
import functools

from numba import config, njit


def compiled(function=None, **options):
    """Decorate a loop, ``@compiled(...)``, so that numba compiles it with these options of `numba.njit`.

    If numba's compiler is disabled, the loop stays as it is.
    """
    # Python first calls ``compiled(...)`` with the options alone, and then the result with the loop.
    if function is None:
        return functools.partial(compiled, **options)
    if config.DISABLE_JIT:
        return function
    dispatcher = njit(**options)(function)
    # numba raises RuntimeError without a folder for its cache
    with contextlib.suppress(RuntimeError):
        dispatcher.enable_caching()
    return dispatcher
