"""The loops that Python would be too slow for (private), each compiled by numba, which takes long to import.

`recurrence` is that of the Gegenbauer polynomials, `training` the steps of attention units on a CPU, and
`normal` the random numbers that these are trained on. For the last two there is PyTorch where numba is not.
"""

import functools
import importlib
import warnings


@functools.cache
def has(compiler):
    """Return whether a compiler, "numba" or "triton", can be imported; a warning says if not."""
    try:
        importlib.import_module(compiler)
    except ImportError as error:
        text = f"training takes longer, as its steps are not compiled: {error}"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
        return False
    return True


@functools.cache
def module(name):
    """Return the module with this name, or None where numba is not, or is told not to compile."""
    if not has("numba") or importlib.import_module("numba").config.DISABLE_JIT:
        return None
    return importlib.import_module(f"icl.compiled.{name}")
