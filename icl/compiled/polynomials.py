"""The recurrence of `icl.tasks.gegenbauer`, degree by degree, with the rounding of NumPy."""

from numba import njit

from icl.compiled.jit import compiled

inline = njit(inline="always")


# fastmath would rearrange sums, unlike NumPy
@compiled(nogil=True, error_model="numpy")
def take(rows, gap, q, step, dim, degree, every):
    """Set row i of ``rows``, (count, m), to ``1 - P_l`` at m angles, for ``l = degree + i every``.

    The other arrays are (m,). The arguments and the recurrence are those of `icl.tasks.gegenbauer.take`.
    """
    for i in range(len(rows)):
        ahead, behind = _up(degree, dim), 1 - _up(degree, dim)
        # the factors of P_(l+2) and P_(l-2) in x^2 P_l follow from the formula of `_up`, used twice
        if every == 2:
            ahead *= _up(degree + 1, dim)
            behind *= 1 - _up(degree - 1, dim)
        over, ratio = 1 / ahead, behind / ahead
        for j in range(len(q)):
            rows[i, j] = q[j]
            step[j] = step[j] * ratio + (1 - q[j]) * gap[j] * over
            q[j] += step[j]
        degree += every


@inline
def _up(degree, dim):
    """Return c in ``x P_l = c P_(l+1) + (1 - c) P_(l-1)`` for the degree l."""
    return (degree + dim - 2) / (2 * degree + dim - 2) if degree > 0 else 1.0
