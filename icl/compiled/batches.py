"""Loops that turn random numbers into covariates and labels on a CPU, in one pass over memory.

The covariates and labels are those of `icl.pretrain.batches.fill`. A batch has B contexts. Random numbers are
drawn for the batches of T steps at once, so their last axis has T B contexts. A context has n + 1 tokens of d
coordinates, and the query is the last token. The innermost loops run over the B contexts of a step. They
index whole arrays, since loops over slices are not vectorized.
"""

import numpy as np

from icl.compiled.jit import compiled


@compiled(nogil=True, error_model="numpy", fastmath={"contract"})
def place(x, tokens, inside, matrix):
    """Turn normal numbers x (d, n + 1, T B) into covariates, which overwrite x and tokens (T, d, n + 1, B).

    Functions are evaluated at x, and units read the tokens.

    A token has two parts: its first ``inside`` coordinates, and the others. Each part is divided by its
    length. Then the matrix, (d, d), maps the token, unless the matrix is empty.
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
            # So far `norm` is the square of the length, and from here on it is 1 / length. For a part without
            # coordinates it is infinite, and not used.
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
            # Every row of the matrix needs the old x, so the product is written to the tokens first, and
            # copied to x when it is complete.
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

    The values of the unit's functions and the normal numbers ``noise`` are (n + 1, T B). Functions may be
    drawn with the Lipschitz constant 1, and then ``scale`` is that of the unit's class.
    """
    steps, length, contexts = labels.shape
    # with factors in float64 the loop would compute in float64
    real = labels.dtype.type
    for t in range(steps):
        for i in range(length):
            for b in range(contexts):
                at = t * contexts + b
                labels[t, i, b] = real(scale) * values[i, at] + real(noise_std) * noise[i, at]
