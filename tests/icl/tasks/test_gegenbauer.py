"""The recurrence against SciPy's Legendre polynomials."""

import numpy as np
from scipy.special import eval_legendre

from icl.tasks.gegenbauer import Polynomials


def test_polynomials_of_three_dimensions_are_those_of_legendre():
    theta = np.array([1e-3, 0.3, 1.2, 3.0])
    exact = [1 - eval_legendre(degree, np.cos(theta)) for degree in range(40)]
    np.testing.assert_allclose(Polynomials(3, theta).take(40), exact, rtol=1e-9, atol=1e-13)
    even = Polynomials(3, theta, even=True).take(20)
    np.testing.assert_allclose(even, exact[::2], rtol=1e-9, atol=1e-13)
