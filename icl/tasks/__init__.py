"""Function classes and their covariances.

- `base`: `Zonal`, the rotation-invariant class; write your own by deriving from it.
- `classes`: affine, ReLU, cosine, linear, quadratic. `tanh`: a smooth step. `harmonic`: one degree.
- `composed`: a class of projected covariates, and random networks.
- `quadratic_form`: the risk of any predictor that is linear in the labels, given the tokens.
- `gegenbauer`: the polynomials that all spectra are written in.
"""

from icl.tasks.base import Function, Task, Zonal, check_setting, check_task
from icl.tasks.classes import CLASSES, Affine, Cosine, Linear, Quadratic, ReLU, make_task
from icl.tasks.composed import Network, Projected
from icl.tasks.harmonic import Harmonic
from icl.tasks.quadratic_form import QuadraticRisk
from icl.tasks.tanh import Tanh

__all__ = [
    "CLASSES",
    "Affine",
    "Cosine",
    "Function",
    "Harmonic",
    "Linear",
    "Network",
    "Projected",
    "Quadratic",
    "QuadraticRisk",
    "ReLU",
    "Tanh",
    "Task",
    "Zonal",
    "check_setting",
    "check_task",
    "make_task",
]
