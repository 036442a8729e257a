"""The population risk of softmax attention and of its competitors.

- `exact`: the risk and its optimal window.
- `length`: the price of a rule that carries a window to longer contexts.
- `matrix`: the risk of any matrix, its gradient, and gradient flow.
- `monte_carlo`: the same by sampling, and the best predictor linear in the labels.
- `baselines`: linear attention and the nearest neighbor. `low_rank`: Theorem 4's two-parameter risk.
- `heads`: several heads, each a window and a value. `kriging`: bounds on the best linear predictor.
- `gaussian`: the risk on Gaussian tokens, and its law for many of them.
- `asymptotics`: laws for many tokens on the sphere.

The folder `numerics` has nodes, integrals, moments and searches. The other modules can be used without
reading it.

All functions raise TypeError for a task that is not rotation invariant, and ValueError for an argument out of
range or shapes that do not broadcast.
"""

from icl.risk.baselines import (
    LinearOptimum,
    linear_optimum,
    linear_risk,
    nearest_neighbor_risk,
)
from icl.risk.exact import (
    OptimalWindow,
    mismatch_risk,
    optimal_window,
    population_risk,
    split_risk,
)
from icl.risk.gaussian import (
    GaussianDistance,
    GaussianWindow,
    distance_exponent,
    gaussian_distance,
    gaussian_risk,
    gaussian_window,
)
from icl.risk.heads import Heads, heads_risk, optimal_heads
from icl.risk.kriging import KrigingBounds, kriging_bounds
from icl.risk.length import length_price
from icl.risk.low_rank import low_rank_risk
from icl.risk.matrix import matrix_risk, population_flow
from icl.risk.monte_carlo import MonteCarlo, bayes_linear_risk, monte_carlo_risk
from icl.risk.numerics.result import MatrixRisk, Risk, SplitRisk, WindowRisk

__all__ = [
    "GaussianDistance",
    "GaussianWindow",
    "Heads",
    "KrigingBounds",
    "LinearOptimum",
    "MatrixRisk",
    "MonteCarlo",
    "OptimalWindow",
    "Risk",
    "SplitRisk",
    "WindowRisk",
    "bayes_linear_risk",
    "distance_exponent",
    "gaussian_distance",
    "gaussian_risk",
    "gaussian_window",
    "heads_risk",
    "kriging_bounds",
    "length_price",
    "linear_optimum",
    "linear_risk",
    "low_rank_risk",
    "matrix_risk",
    "mismatch_risk",
    "monte_carlo_risk",
    "nearest_neighbor_risk",
    "optimal_heads",
    "optimal_window",
    "population_flow",
    "population_risk",
    "split_risk",
]
