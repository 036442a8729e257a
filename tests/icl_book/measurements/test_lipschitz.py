import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from icl.streams import stream
from icl_book.measurements import curvature, lipschitz


def square(function):
    """Return a printed bound that is R^2 everywhere."""
    return SimpleNamespace(
        function=function, tex="R^2", log10=lambda n, R: 2 * math.log10(R)
    )


def test_printed_bounds_are_compared_with_the_constants():
    """f has the constant R / 2, so R^2 is 2 R times as large; <f, v> has R^2 times that."""
    found = lipschitz.printed([square("f")], [5], [1.0, 4.0])
    assert found.eval("printed - proved").to_numpy() == pytest.approx(
        [math.log10(2), math.log10(8)]
    )
    inner = lipschitz.inner_product([5], [4.0]).proved
    assert inner.item() == pytest.approx(found.proved[1] + math.log10(16))


def test_sizes_by_proof_are_those_that_the_ascent_finds():
    """By hand for n = 1 large score: |u| of (R^2, 0, ...) and alpha at least e^(R^2)."""
    assert lipschitz.largest_size("f", 7, 4.0) == 0
    assert lipschitz.largest_size("1/alpha", 4, 2.0) == pytest.approx(
        2 / math.log(10) - math.log10(4)
    )
    bounds = [square(g) for g in ("u", "alpha", "1/alpha")]
    proof = lipschitz.sizes(bounds, [3], [4.0])["size"]
    found = lipschitz.searched_sizes(
        bounds, [3], [4.0], 16, 150, stream(0, "initialization")
    )["size"]
    assert (found <= proof + 1e-9).all() and np.allclose(found, proof, atol=0.01)


def test_the_range_of_curvature_is_that_of_two_tokens():
    p = np.linspace(0, 1, 100_001)
    assert curvature.two_tokens(p).max() == pytest.approx(curvature.SMOOTH)
    assert curvature.two_tokens(p).min() == pytest.approx(curvature.CONCAVE)
    x = math.log(0.3 / 0.7) / math.sqrt(
        2
    )  # the scores (x, -x) / sqrt 2 ... differ by x sqrt 2
    t = torch.tensor(x, dtype=torch.float64)
    twice = torch.func.grad(
        torch.func.grad(lambda t: (math.sqrt(2) * t).sigmoid() ** 2)
    )(t)
    assert twice.item() == pytest.approx(float(curvature.two_tokens(0.3)))
    found = curvature.extremes([2], 24, stream(0, "monte carlo"))
    assert np.allclose(found.value, 1, atol=0.01) and (found.value <= found.most).all()
