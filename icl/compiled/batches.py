"""Loops that turn random numbers into covariates and labels on a CPU, in one pass over memory.

Covariates and labels are those of `icl.pretrain.batches.fill`, for T steps of B contexts, each of n + 1
tokens of d coordinates. The innermost loops run over contexts. They index whole arrays, since loops over
slices are not vectorized.
"""

import numpy as np

from icl.compiled.jit import compiled


@compiled(nogil=True, error_model="numpy", fastmath={"contract"})
def place(x, tokens, inside, matrix):
    """Turn normal numbers x (d, n + 1, T B) into covariates, which overwrite x and tokens (T, d, n + 1, B).

    The first ``inside`` coordinates of a token, and the others, are each divided by their length. Then the
    matrix, (d, d), maps the token, unless the matrix is empty.
    """
    steps, dim, length, contexts = tokens.shape
    norm = np.empty((2, contexts), x.dtype)
    for i in range(length):
        for t in range(steps):
            first = t * contexts
            norm[:] = 0
            for a in range(dim):
                part = 0 if a < inside else 1
                for b in range(contexts):
                    norm[part, b] += x[a, i, first + b] * x[a, i, first + b]
            # From here on `norm` is 1 / length, infinite and not used for a part without coordinates.
            for part in range(2):
                for b in range(contexts):
                    norm[part, b] = 1 / np.sqrt(norm[part, b])
            for a in range(dim):
                part = 0 if a < inside else 1
                for b in range(contexts):
                    x[a, i, first + b] *= norm[part, b]
                    tokens[t, a, i, b] = x[a, i, first + b]
            if len(matrix) == 0:
                continue
            # every row of the matrix needs the old x
            for a in range(dim):
                for b in range(contexts):
                    tokens[t, a, i, b] = matrix[a, 0] * x[0, i, first + b]
                for c in range(1, dim):
                    for b in range(contexts):
                        tokens[t, a, i, b] += matrix[a, c] * x[c, i, first + b]
            for a in range(dim):
                for b in range(contexts):
                    x[a, i, first + b] = tokens[t, a, i, b]


@compiled(nogil=True, error_model="numpy", fastmath={"contract"})
def label(labels, values, scale, noise, noise_std):
    """Set the labels of one unit, (T, n + 1, B), to ``scale values + noise_std noise``.

    The values of the unit's functions and the noise are (n + 1, T B).
    """
    steps, length, contexts = labels.shape
    # with factors in float64 the loop would compute in float64
    real = labels.dtype.type
    for t in range(steps):
        for i in range(length):
            for b in range(contexts):
                at = t * contexts + b
                labels[t, i, b] = real(scale) * values[i, at] + real(noise_std) * noise[i, at]
