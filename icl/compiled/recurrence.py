"""The compiled recurrence of the Gegenbauer polynomials."""

from icl.compiled.jit import compiled, inline


@inline
def _up(i, dim):
    return (i + dim - 2) / (2 * i + dim - 2) if i > 0 else 1.0


@compiled  # without fastmath: nothing may be rearranged in differences of small numbers
def recur(rows, q, step, gap, dim, degree, even):
    """Continue the recurrence of `icl.tasks.gegenbauer`: rows (k, m) from a degree on, state (m,)."""
    for row in rows:
        ahead, behind = _up(degree, dim), 1 - _up(degree, dim)
        if even:
            ahead *= _up(degree + 1, dim)
            behind *= 1 - _up(degree - 1, dim)
        ratio, lift = behind / ahead, 1 / ahead
        for j in range(q.size):
            row[j] = q[j]
            step[j] = ratio * step[j] + lift * (gap[j] * (1 - q[j]))
            q[j] += step[j]
        degree += 2 if even else 1
