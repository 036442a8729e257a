"""The loops that Python would be too slow for (private), each compiled by numba, which takes long to import.

A module of loops is imported where `can_compile` is true. Its file holds the options of a loop and all
functions that the loop calls, because numba checks no other file before it reuses its cache. These functions
are inlined, because a function that is read from the cache would round differently.

- `jit`: how loops are kept between processes.
- `training`: the steps of attention units on a CPU.
- `polynomials`: the recurrence of Gegenbauer polynomials.
- `normal`: the random numbers of the batches that units are trained on.
- `batches`: what these numbers become, covariates and labels.
"""


def can_compile() -> bool:
    """Return whether numba is installed and its compiler is enabled."""
    try:
        import numba
    except ImportError:
        return False
    return not numba.config.DISABLE_JIT  # type: ignore[attr-defined]
