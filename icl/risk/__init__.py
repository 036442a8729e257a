"""The population risk of softmax attention and of its competitors.

- `exact`: the risk and its optimal window, by its `roots`; from `integrals` on the nodes of `quadrature`.
- `matrix`: the risk of any matrix and its gradient, a mean over `queries`. `flow`: gradient flow.
- `certificate`: that no matrix beats the best multiple of the identity.
- `monte_carlo`: the same by sampling, and the best predictor linear in the labels.
- `baselines`: linear attention and nearest neighbors. `low_rank`: Theorem 4's two-parameter risk.
- `gaussian`: the risk on Gaussian tokens, from `gaussian_moments`; `gaussian_limits`: for many tokens;
  `gaussian_covariance`: for tokens of any covariance. `ball`: many tokens, uniform in the unit ball.
- `asymptotics`: laws for many tokens. `worst_case`: the worst function of a Lipschitz class.
"""

from icl.risk.ball import BallLimit, ball_limit, least_ball_limit
from icl.risk.baselines import (
    LinearOptimum,
    gaussian_linear_optimum,
    gaussian_linear_risk,
    linear_optimum,
    linear_risk,
    nearest_neighbor_risk,
    neighbors_risk,
)
from icl.risk.certificate import FormMargin, form_margin
from icl.risk.exact import OptimalWindow, Risk, mismatch_risk, optimal_window, population_risk
from icl.risk.flow import population_flow
from icl.risk.gaussian import GaussianValue, GaussianWindow, gaussian_risk, gaussian_value, gaussian_window
from icl.risk.gaussian_covariance import CommutingRisk, commuting_risk
from icl.risk.gaussian_limits import (
    HermiteFloor,
    OneToken,
    hermite_floor,
    least_hermite_floor,
    log_window_gap,
    one_token_gap,
)
from icl.risk.low_rank import LowRankRisk, low_rank_risk
from icl.risk.matrix import MatrixRisk, curvatures, matrix_risk
from icl.risk.monte_carlo import MonteCarlo, bayes_linear_risk, monte_carlo_risk, ridge_risk
from icl.risk.worst_case import WorstCase, worst_case_risk

__all__ = [
    "BallLimit",
    "CommutingRisk",
    "FormMargin",
    "GaussianValue",
    "GaussianWindow",
    "HermiteFloor",
    "LinearOptimum",
    "LowRankRisk",
    "MatrixRisk",
    "MonteCarlo",
    "OneToken",
    "OptimalWindow",
    "Risk",
    "WorstCase",
    "ball_limit",
    "bayes_linear_risk",
    "commuting_risk",
    "curvatures",
    "form_margin",
    "gaussian_linear_optimum",
    "gaussian_linear_risk",
    "gaussian_risk",
    "gaussian_value",
    "gaussian_window",
    "hermite_floor",
    "least_ball_limit",
    "least_hermite_floor",
    "linear_optimum",
    "linear_risk",
    "log_window_gap",
    "low_rank_risk",
    "matrix_risk",
    "mismatch_risk",
    "monte_carlo_risk",
    "nearest_neighbor_risk",
    "neighbors_risk",
    "one_token_gap",
    "optimal_window",
    "population_flow",
    "population_risk",
    "ridge_risk",
    "worst_case_risk",
]
