"""The loops that Python would be too slow for (private), each compiled by numba, which takes long to import.

- `jit`: how they are compiled, and kept between processes.
- `training`: the steps of attention units on a CPU.
- `polynomials`: the recurrence of Gegenbauer polynomials.
- `normal`: the random numbers that these are trained on.
"""

import importlib
from typing import Any


def load(name: str) -> Any:
    """Return the module of loops with this name; None without numba, or if it is told not to compile."""
    try:
        numba: Any = importlib.import_module("numba")
    except ImportError:
        return None
    return None if numba.config.DISABLE_JIT else importlib.import_module(f"icl.compiled.{name}")
