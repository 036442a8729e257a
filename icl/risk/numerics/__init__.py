"""What the exact risks are computed with; nobody needs it in order to use them.

- `quadrature`: nodes in the logarithm of s and in the angle, for every window.
- `integrals`: bias and noise on the sphere, as sums over these nodes.
- `gaussian_moments`: moments of the weights of Gaussian scores, and their means over the query.
- `matrix_means`: the risk of one matrix given the query, and its mean over the query.
- `search`: the lowest minimum in w of many risks at once.
- `result`: bias + noise = total.

It is enough to read the first docstring of each module. A doctest at each door says what goes in and what
comes out, with a number that can be checked elsewhere.
"""

__all__: list[str] = []
