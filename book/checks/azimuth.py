"""The risk of heads for many tokens on the sphere, to first order in 1/n, without harmonics.

``K`` is the covariance of the labels of two tokens, without noise, as a function of the cosine
between them. Means over one token and over two are integrals over their angles to the query and
the angle between their directions across it.
"""

import numpy as np


def law(d, finest, nodes=14):
    """Angles to the query with their weights, on panels that shrink towards the query."""
    node, weight = np.polynomial.legendre.leggauss(nodes)
    edges = np.append(0, np.geomspace(finest, np.pi, 8))[:, None]
    theta = (edges[:-1] + np.diff(edges, axis=0) * (node + 1) / 2).ravel()
    p = (np.diff(edges, axis=0) * weight).ravel() * np.sin(theta) ** (d - 2)
    return theta, p / p.sum()


def risk_of_heads(K, d, sigma, finest=0.1):
    """The least risk for these windows and n: one head has the value 1, several have any values."""
    theta, p = law(d, finest)
    psi, across = law(d - 1, np.pi / 4, nodes=10)
    t, s = np.cos(theta), np.sin(theta)
    both = K(np.outer(t, t)[..., None] + np.outer(s, s)[..., None] * np.cos(psi)) @ across
    of_query = p * K(t)

    def risk(windows, n):
        e = np.exp(np.outer(windows, t) - np.abs(windows)[:, None])
        r = e / (e @ p)[:, None]
        of = (r * p) @ both  # the covariance of a head's mean with a token's label
        means, shift = of @ (r * p).T, r @ of_query
        spread = sigma**2 + K(1.0) - of[:, None] - of + means[..., None]
        form = means + np.einsum("at,bt,t,abt->ab", r, r, p, spread) / n
        # The mean of a quotient is not the quotient of the means.
        size = (r * r) @ p
        moved = of @ (r * r * p).T - means * size
        form -= (moved + moved.T) / n
        shift -= ((r * r) @ of_query - size * shift) / n
        v = np.linalg.lstsq(form, shift, rcond=1e-12)[0] if len(shift) > 1 else np.ones(1)
        return v @ form @ v - 2 * v @ shift + K(1.0)

    return risk


def affine(c, d=5):
    return (1 + c / d) / 3


def relu(c, d=5):
    angle = np.arccos(np.clip(c, -1, 1))
    return (1 + (np.sin(angle) + (np.pi - angle) * c) / (np.pi * d)) / 3
