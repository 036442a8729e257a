"""What replaces a step of gradient descent, in NumPy.

The scores are S = A1 X A2', the rows of F are their softmax, and the loss is half the
squared length of F - B. The step is X' = X - eta A1' P A2 with P the gradient of the
loss in the scores. Once the targets move in place of the weights, by minus the change
of the rows, and once the query tokens A1 are multiplied by the matrix X' X^-1, with the
keys A2 as they are. If queries and keys are the same tokens and move together, no
matrix does it: at X = I it would make the scores symmetric, and the step does not.
"""

import numpy as np

n, d, eta = 12, 4, 0.1
rng = np.random.default_rng(0)


def softmax(scores):
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def loss(scores, B):
    return ((softmax(scores) - B) ** 2).sum() / 2


def after_a_step(A1, X, A2, B):
    F = softmax(A1 @ X @ A2.T)
    P = F * (F - B) - F * (F * (F - B)).sum(axis=1, keepdims=True)
    return X - eta * A1.T @ P @ A2


A1, A2 = rng.standard_normal((2, n, d))
X = np.eye(d) + rng.standard_normal((d, d)) / d
B = softmax(rng.standard_normal((n, n)))
moved = after_a_step(A1, X, A2, B)
before, after = A1 @ X @ A2.T, A1 @ moved @ A2.T

# P is the gradient: the loss falls by eta |A1' P A2|^2 to first order.
fallen = loss(before, B) - loss(A1 @ (X + 1e-4 * (moved - X)) @ A2.T, B)
assert abs(fallen / (1e-4 * ((moved - X) ** 2).sum() / eta) - 1) < 1e-3, fallen

instead = loss(before, B + softmax(before) - softmax(after))
apart = abs(loss(after, B) - instead) / instead
print(f"P2.icl.identity | kind='normalized' moved='weights' | {apart:.0f} | 1e-10")
assert apart < 1e-10, apart

queries = A1 @ moved @ np.linalg.inv(X)
by_queries, by_step = queries @ X @ A2.T - before, after - before
lengths = np.linalg.norm(by_queries) * np.linalg.norm(by_step)
print(f"P2.icl.imitates | what='exact' | {(by_queries * by_step).sum() / lengths:.9f} | 1e-9")

together = A1 @ after_a_step(A1, np.eye(d), A1, B) @ A1.T
assert np.linalg.norm(together - together.T) > 1e-3 * np.linalg.norm(together)
