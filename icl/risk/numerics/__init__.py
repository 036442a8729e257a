"""Numerical methods behind the exact risks, which can be used without reading this folder.

- `quadrature`: nodes in the logarithm of s and in the angle, for every window.
- `integrals`: bias and noise on the sphere, as sums over these nodes.
- `gaussian_moments`: moments of the weights of Gaussian scores, and their means over the query.
- `matrix_means`: the risk of one matrix given the query, and its mean over the query.
- `search`: the lowest minimum in w of many risks at once.
- `result`: bias + noise = total.

It is enough to read the first docstring of each module. The doctest of each public function shows its
arguments and result, with a number that can be checked independently.
"""

__all__: list[str] = []
