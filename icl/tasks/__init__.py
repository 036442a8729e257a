"""Function classes and their covariances.

- `base`: `Zonal`, the rotation-invariant class; write your own by deriving from it. `Projected` covariates.
- `classes`: affine, ReLU, cosine, linear, quadratic, sign, a smooth step, one degree alone, random networks.
- `quadratic_form`: the risk of any predictor that is linear in the labels, given the tokens.
- `gegenbauer`: the polynomials that all spectra are written in, and the law of the angle.
"""

from icl.tasks.base import Function, Projected, Task, Zonal, check_setting, check_task
from icl.tasks.classes import (
    CLASSES,
    Affine,
    Cosine,
    Harmonic,
    Linear,
    Network,
    Quadratic,
    ReLU,
    Sign,
    Tanh,
    make_task,
)
from icl.tasks.gegenbauer import angle_quadrature
from icl.tasks.quadratic_form import QuadraticRisk

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
    "Sign",
    "Tanh",
    "Task",
    "Zonal",
    "angle_quadrature",
    "check_setting",
    "check_task",
    "make_task",
]
