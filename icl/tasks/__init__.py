"""Function classes and their covariances.

- `base`: `Zonal`, the rotation-invariant class; a user-defined class derives from it. `Projected` covariates.
- `classes`: affine, ReLU, cosine without and with a phase, linear, quadratic, sign, a smooth step, random
  networks.
- `quadratic_form`: the risk of any predictor that is linear in the labels, given the tokens.
- `spectrum`: a class known by its power in each degree, and a map of the sphere, turned at random.
- `own`: the spectrum of a class that gives its covariance alone. `check`: what `sample` draws against it.
- `gegenbauer`: the polynomials that all spectra are written in, and the law of the angle.
"""

from icl.tasks.base import Function, Projected, Task, Zonal, check_setting, check_task
from icl.tasks.check import check_class
from icl.tasks.classes import (
    CLASSES,
    Affine,
    Cosine,
    Linear,
    Network,
    PhasedCosine,
    Quadratic,
    ReLU,
    Sign,
    Tanh,
    make_task,
)
from icl.tasks.gegenbauer import angle_quadrature
from icl.tasks.quadratic_form import QuadraticRisk
from icl.tasks.spectrum import Globe, Spectrum, globe

__all__ = [
    "CLASSES",
    "Affine",
    "Cosine",
    "Function",
    "Globe",
    "Linear",
    "Network",
    "PhasedCosine",
    "Projected",
    "Quadratic",
    "QuadraticRisk",
    "ReLU",
    "Sign",
    "Spectrum",
    "Tanh",
    "Task",
    "Zonal",
    "angle_quadrature",
    "check_class",
    "check_setting",
    "check_task",
    "globe",
    "make_task",
]
