"""A decorator that compiles loops with numba, and keeps them on disk for other processes."""

import contextlib
import functools

from numba import config, njit


def compiled(function=None, **options):
    """Decorate a loop, ``@compiled(...)``, so that numba compiles it with these options of `numba.njit`.

    The compiled loop is kept on disk if numba finds a folder for it. If numba's compiler is disabled, the
    loop stays as it is.
    """
    # Python first calls ``compiled(...)`` with the options alone, and then calls the result with the loop.
    if function is None:
        return functools.partial(compiled, **options)
    if config.DISABLE_JIT:
        return function
    dispatcher = njit(**options)(function)
    # numba raises RuntimeError if it does not find a folder for its cache
    with contextlib.suppress(RuntimeError):
        dispatcher.enable_caching()
    return dispatcher
