"""The recurrence against SciPy's Legendre polynomials."""

import numpy as np
import pytest
from scipy.special import eval_legendre

from icl.tasks import gegenbauer
from icl.tasks.gegenbauer import Polynomials


def test_polynomials_of_three_dimensions_are_those_of_legendre():
    theta = np.array([1e-3, 0.3, 1.2, 3.0])
    exact = [1 - eval_legendre(degree, np.cos(theta)) for degree in range(40)]
    np.testing.assert_allclose(Polynomials(3, theta).take(40), exact, rtol=1e-9, atol=1e-13)
    even = Polynomials(3, theta, even=True).take(20)
    np.testing.assert_allclose(even, exact[::2], rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize("dim", [2, 3, 5, 1000])
def test_the_compiled_recurrence_gives_the_same_bits(dim, even, monkeypatch):
    """It takes over in the middle of a computation, so its rounding must be that of NumPy."""

    def taken(before):
        monkeypatch.setattr(gegenbauer, "_taken", before)
        polynomials = Polynomials(dim, np.linspace(1e-6, 3.1, 77), even)
        return np.concatenate([polynomials.take(many) for many in (1, 16, 400)])

    plain, compiled = taken(-(10**12)), taken(10**12)
    assert gegenbauer._choose_loop(1) is not gegenbauer.take
    assert np.array_equal(plain, compiled)
