"""Covariates and labels of the batches on a CPU, each made of what was drawn in one pass over memory.

They are those of `icl.pretrain.batches.fill`. A context has n + 1 tokens of d coordinates, the query last.
The innermost loops run over the B contexts of a step; what was drawn for T steps has T B of them. Loops that
index whole arrays are vectorized, those over slices are not.
"""

import numpy as np

from icl.compiled.jit import compiled


@compiled(nogil=True, error_model="numpy", fastmath={"contract"})
def place(x, tokens, inside, matrix):
    """Turn normal numbers x (d, n + 1, T B) into covariates, in x and in tokens (T, d, n + 1, B).

    The first ``inside`` coordinates of each token are divided by their length and the others by theirs; then
    a matrix (d, d) maps all of them, unless it is empty.
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
            # From here on these are one over the lengths. A part without coordinates gets infinity, which is
            # not used.
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
            # every row of the matrix needs the old x, so that the product goes to the tokens first
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
    """Set labels (T, n + 1, B) to ``scale values + noise_std noise``; values and noise are (n + 1, T B)."""
    steps, length, contexts = labels.shape
    # factors in float64 would make the loop compute in float64
    real = labels.dtype.type
    for t in range(steps):
        for i in range(length):
            for b in range(contexts):
                at = t * contexts + b
                labels[t, i, b] = real(scale) * values[i, at] + real(noise_std) * noise[i, at]
