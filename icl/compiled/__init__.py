"""Compiled loops for a CPU (private): each has a plain counterpart that the tests compare it with.

- `recurrence`: Gegenbauer polynomials. `regressions`: rows of softmax regression, for the tensor trick.
- `random_numbers`, `elementary`: its fast random numbers.
"""
