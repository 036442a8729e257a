"""The loops that Python would be too slow for (private), each compiled by numba, which takes long to import.

- `jit`: how they are compiled, and kept between processes.
- `training`: the steps of attention units on a CPU.
- `polynomials`: the recurrence of Gegenbauer polynomials.
- `normal`: the random numbers that these are trained on.
"""
