"""The loops that Python would be too slow for (private), each compiled by numba, which takes long to import.

A module of loops is imported where `can_compile` says yes. Its file holds all that decides what numba makes
of a loop, the options and the functions that it calls, since numba looks at no other file before it takes
what it has kept. These functions are inlined. One that is compiled by itself becomes part of the loop in
the process that compiles both, but not where it is read from the cache, and the two round differently.

- `jit`: how loops are kept between processes.
- `training`: the steps of attention units on a CPU.
- `polynomials`: the recurrence of Gegenbauer polynomials.
- `normal`: the random numbers that these are trained on.
"""


def can_compile() -> bool:
    """Return whether numba is here, and is not told to run loops in Python."""
    try:
        import numba
    except ImportError:
        return False
    return not numba.config.DISABLE_JIT  # type: ignore[attr-defined]
