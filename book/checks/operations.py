"""Two ways to one gradient, with the operations of their matrix products counted.

The loss is half the squared distance of the softmax of the rows of A1 X A2' from the rows of B.
The large product has n^2 rows and d^2 columns; the small matrices are A1, A2 and n x n ones. A
product of a p x q matrix and a q x r one takes 2 p q r operations.
"""

import numpy as np


class Counter:
    """What all products so far have cost."""

    def __init__(self):
        self.operations = 0

    def times(self, a, b):
        self.operations += 2 * a.shape[0] * a.shape[1] * b.shape[1]
        return a @ b


def pull(S, B):
    """The gradient of the loss in the scores."""
    f = np.exp(S - S.max(axis=1, keepdims=True))
    f /= f.sum(axis=1, keepdims=True)
    return f * (f - B - (f * (f - B)).sum(axis=1, keepdims=True))


def with_large(A1, A2, X, B, count):
    K = np.kron(A1, A2)
    scores = count.times(K, X.reshape(-1, 1)).reshape(B.shape)
    return count.times(K.T, pull(scores, B).reshape(-1, 1)).reshape(X.shape)


def with_small(A1, A2, X, B, count):
    scores = count.times(count.times(A1, X), A2.T)
    return count.times(count.times(A1.T, pull(scores, B)), A2)


rng = np.random.default_rng(0)
counted = {}
for size in (16, 32):
    A1, A2, X = rng.standard_normal((3, size, size)) / size**0.5
    B = rng.dirichlet(np.ones(size), size)
    gradients = []
    for name, way in (("explicit", with_large), ("closed form", with_small)):
        count = Counter()
        gradients.append(way(A1, A2, X, B, count))
        counted.setdefault(name, []).append(count.operations)
    assert np.allclose(*gradients, atol=1e-13, rtol=1e-10)
for name, (one, two) in counted.items():
    print(f"P2.scale.operations | form={name!r} growing='n = d' | {np.log2(two / one):.6f} | 1e-6")
