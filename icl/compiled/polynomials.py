"""The recurrence of `icl.tasks.gegenbauer`, degree by degree, with the rounding of NumPy."""

from numba import njit

from icl.compiled.jit import compiled

inline = njit(inline="always")


# fastmath would rearrange sums, and the bits would differ from those of NumPy
@compiled(nogil=True, error_model="numpy")
def take(rows, gap, q, step, dim, degree, every):
    """Set row i of ``rows``, (count, m), to ``1 - P_l`` at m angles, for ``l = degree + i every``.

    The arrays q, step and gap are (m,). At first q is ``1 - P_l`` for ``l = degree``, and ``step`` is q less
    ``1 - P_l`` for ``l = degree - every``, or zero if ``degree`` is zero. The arrays q and step are
    overwritten, and then belong to the degree after the last row. ``every`` is 1 or 2, and ``gap`` is
    ``1 - x^every`` with x = cos(theta). The recurrence is that of `icl.tasks.gegenbauer.take`,
    ``ahead (next q - q) = behind step + (1 - q) gap``, where ``ahead`` and ``behind`` are the factors of the
    next polynomial and of the one before in ``x^every P_l``.
    """
    for i in range(len(rows)):
        ahead, behind = _up(degree, dim), 1 - _up(degree, dim)
        # If only every second degree is computed, the next polynomial is P_(l+2), and the one before P_(l-2).
        # Their factors in x^2 P_l follow from the formula of `_up`, used twice.
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
