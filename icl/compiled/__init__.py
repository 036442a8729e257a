"""Compiled loops for a CPU (private): each has a plain counterpart that the tests compare it with.

- `recurrence`: Gegenbauer polynomials. `softmax_kernels`: steps of pretraining.
- `random_numbers`, `elementary`: its fast random numbers.
"""
