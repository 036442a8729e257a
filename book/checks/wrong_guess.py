"""What the window of half or twice the true L costs.

ReLU functions in d = 5, in long contexts. The context is so long that the factor no
longer moves: n = 1e12 and 1e14 are compared.
"""

import numpy as np
from many_tokens import best, coefficients, risk

d, sigma = 5, 0.5


def relu(theta):
    return (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / (3 * np.pi * d)


a, rest = coefficients(relu, d)
for true_over_guess in (2.0, 0.5):
    factors = []
    for n in (1e12, 1e14):
        w = best(a, rest, d, n, sigma)  # of L = 1
        true = (true_over_guess**2 * a, true_over_guess**2 * rest, d, n, sigma)
        factors.append(risk(w, *true) / risk(best(*true), *true))
    label = f"task='ReLU' dim=5 ratio={true_over_guess}"
    error = abs(factors[1] - factors[0])
    print(f"P1.T3.price | {label} | {factors[1]:.5f} | {error:.5f}")
