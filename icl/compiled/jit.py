"""How loops that numba compiles are kept between processes."""

import contextlib
import functools

from numba import config, njit


def compiled(function=None, **options):
    """Compile a loop with options of numba, and keep the result on disk where there is a folder for it.

    This is a decorator, ``@compiled(...)``. If numba's compiler is disabled, the loop stays as it is.
    """
    if function is None:
        return functools.partial(compiled, **options)
    if config.DISABLE_JIT:
        return function
    dispatcher = njit(**options)(function)
    # numba raises RuntimeError if it finds no folder for its cache
    with contextlib.suppress(RuntimeError):
        dispatcher.enable_caching()
    return dispatcher
