"""How many times the floor of linear predictors exceeds d + 2 times the noise variance over n.

The functions are ReLU functions with L = 1 and sigma = 0.5, and their covariance is expanded
by integrating it against Gegenbauer polynomials. The card divides by the sampled risk of least
squares, so that its number may differ by four standard errors of this risk.
"""

import numpy as np
from scipy.special import comb, eval_gegenbauer, roots_gegenbauer

sigma, n = 0.5, 20_000
for d, error in ((3, 0.3), (5, 0.5)):
    alpha = d / 2 - 1
    t, weight = roots_gegenbauer(1000, alpha)
    weight = weight / weight.sum()
    angle = np.arccos(t)
    covariance = (1 + (np.sin(angle) + (np.pi - angle) * t) / np.pi / d) / 3
    degree = np.arange(200)
    many = comb(degree + d - 1, d - 1) - comb(degree + d - 3, d - 1)
    polynomial = eval_gegenbauer(degree[:, None], alpha, t)
    polynomial /= eval_gegenbauer(degree, alpha, 1.0)[:, None]
    each = np.clip(polynomial @ (weight * covariance), 0, None)
    times = (many * each / (1 + n * each / sigma**2)).sum() / ((d + 2) * sigma**2 / n)
    print(f"P1.H.bayes | d={d} n={n} predictor='floor' | {times:.4f} | {error}")
