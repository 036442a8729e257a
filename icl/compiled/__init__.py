"""Compiled loops for a CPU (private): each has a plain counterpart that the tests compare it with.

- `recurrence`: Gegenbauer polynomials. `regressions`: rows of softmax regression, for the tensor trick.
- `elementary`: how they are compiled, and the powers of two that the regressions need.
"""
