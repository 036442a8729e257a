"""What w = s (log n)^2 costs if s is fitted to short contexts: the price at 20,000 inputs.

For each of 24 settings, affine and ReLU functions in d = 3, 5, 8, 16 with sigma = 0.1, 0.5, 2,
the factor s has the least mean log risk at seven lengths from 20 to 200.
"""

import numpy as np
from any_length import affine, pairs, parts, relu
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize_scalar

lengths = [20, 29, 43, 63, 93, 136, 200, 20_000]
log_w = np.linspace(-3, 7, 41)


def minimum(f):
    scan = min(log_w, key=f)
    return minimize_scalar(f, bounds=(scan - 0.5, scan + 0.5), method="bounded")


prices = []
for d in (3, 5, 8, 16):
    for g in (affine, relu):
        both = pairs(g, d)
        curves = [
            [CubicSpline(log_w, np.log(part)) for part in zip(*found, strict=True)]
            for found in ([parts(np.exp(x), n, d, g, both) for x in log_w] for n in lengths)
        ]
        for sigma in (0.1, 0.5, 2.0):

            def log_risk(x, at):
                bias, noise = (np.exp(curve(x)) for curve in curves[at])  # noqa: B023
                return np.log(bias + sigma**2 * noise)  # noqa: B023

            def of_rule(log_s, at):
                return log_risk(log_s + 2 * np.log(np.log(lengths[at])), at)  # noqa: B023

            fit = minimum(lambda x: sum(of_rule(x - 3, at) for at in range(7))).x - 3
            least = minimum(lambda x: log_risk(x, 7)).fun
            prices.append(np.exp(of_rule(fit, 7) - least))
for of, price in (("median", np.median(prices)), ("largest", max(prices))):
    case = f"rule='s (log n)^2' n=20000 of={of!r}"
    print(f"P1.N.fitted | {case} | {price:.4f} | {0.003 * price:.4f}")
