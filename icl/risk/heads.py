"""Several heads: the exact risk of a layer that adds softmax averages, and the best such layer.

Setting as in `icl.risk.exact`. A layer of H *isotropic* heads with windows ``w_h`` and values ``v_h``, real
numbers of either sign, predicts ::

    sum_h v_h sum_i omega_i(w_h) y_i,      omega_i(w) ~ exp(w x_i . x_q).

A head with ``w < 0`` averages around the antipode of the query. With ``V = sum_h v_h`` the error without
noise is ``sum_h v_h sum_i omega_i(w_h) (f(x_i) - f(x_q)) + (V - 1) f(x_q)``. Hence the risk is a quadratic in
the values, ::

    bias  = v'G v - 2 (V - 1) g'v + (V - 1)^2 k(1),       noise = sigma^2 v'N v,
    G_hk  = E sum_ij omega_i(w_h) omega_j(w_k) (gamma_iq + gamma_jq - gamma_ij),
    g_h   = E sum_i omega_i(w_h) gamma_iq,                N_hk  = E sum_i omega_i(w_h) omega_i(w_k),

with the variogram gamma of the class and the variance ``k(1)`` of its functions.

As in `icl.risk.exact`, an integral replaces the denominator of the weights, here one integral for each head.
Let t be the cosine between token and query, ``E_h = exp(w_h t - |w_h|)`` and
``phi(s, u) = E exp(-s E_h - u E_k)``. Below, e^(..) stands for ``exp(-s E_h - u E_k)``::

    N_hk = n int int phi^(n-1) E[E_h E_k e^(..)] ds du,
    G_hk = n int int phi^(n-1) E[2 gamma E_h E_k e^(..)] ds du
         + n (n-1) int int phi^(n-2) sum_l a_l A_l B_l ds du,    A_l = E[E_h (1 - P_l) e^(..)].

Here a_l are the coefficients of the class and P_l the polynomials of degree l; B_l is A_l with E_k in place
of E_h. Every term is positive, so that nothing cancels. Since e^(..) is a factor in s times a factor in u,
all means over a token are products of a matrix (angles, nodes in s) with a matrix (angles, nodes in u).

The best isotropic heads need not be the best among all matrices M_h.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from icl.checks import affordable, integer, reals
from icl.covariates import invert_cap_mass
from icl.risk.exact import optimal_window
from icl.risk.numerics.integrals import bandlimit, integrate, spectrum
from icl.risk.numerics.quadrature import angle_probabilities, gauss_panels, log_mean_weight
from icl.risk.numerics.result import Risk
from icl.tasks import Zonal, check_setting
from icl.tasks.base import Array, fine_variance, variogram_of
from icl.tasks.gegenbauer import Polynomials

#: Width of panels in log s: means over a token are analytic for ``|Im log s| < pi / 2``.
_PANEL = 3.0
#: Integrals end where ``phi^(n-2)`` has fallen below ``exp(-_CUT)``.
_CUT = 36.0
#: Largest value of 1 - phi, so that log phi is finite.
_BELOW_ONE = 1 - 1e-16
#: Most multiplications of a pair of heads, about a minute.
_MAX_WORK = 1e12
#: Most products of exponentials in memory at once.
_MAX_BLOCK = 2**20
#: Nodes of a panel for the value, for its error, and in a search.
_FINE, _COARSE, _SEARCH = 18, 16, 8
#: A larger relative error of the risk raises ValueError.
_TOLERANCE = 1e-8
#: Angles at which panels are planned, dense at both poles.
_NEAR = np.geomspace(1e-9, 1, 400) * (math.pi / 2)
_FROM_POLE_TO_POLE = np.concatenate([[0], _NEAR, math.pi - _NEAR[-2::-1], [math.pi]])
#: Least distance of windows in arsinh w, because closer windows hardly lower the risk.
_MIN_DISTANCE = 0.1


@dataclass(frozen=True, eq=False)
class Heads:
    """The best isotropic heads that a search found.

    Attributes:
        windows: Window parameters, (heads,), in descending order.
        values: The best values, (heads,).
        bias: The mean squared error without noise.
        noise: What label noise adds to the mean squared error.
        error: Estimated relative error of the risk.
    """

    windows: Array
    values: Array
    bias: float
    noise: float
    error: float

    @property
    def risk(self) -> float:
        """The risk, bias + noise."""
        return self.bias + self.noise


def heads_risk(
    task: Zonal, windows: ArrayLike, values: ArrayLike, n: ArrayLike, noise_std: ArrayLike
) -> Risk:
    """Compute the exact population risk of a layer of isotropic softmax heads.

    Args:
        task: A rotation-invariant class from `icl.tasks`. If the values do not sum to one,
            `Zonal.left_out_level` counts.
        windows: Window parameters ``w_h`` of either sign, (heads,) or one number.
        values: Values ``v_h`` of either sign, of the same shape.
        n: Context length, >= 1.
        noise_std: Standard deviation of the label noise, >= 0; it and ``n`` broadcast.

    Raises:
        ValueError: If an argument is out of range, if a window is so narrow that it hardly contains a token,
            or if the relative error of the risk exceeds 1e-8, as where heads nearly coincide and their values
            cancel.

    >>> from icl.tasks import Affine
    >>> one = heads_risk(Affine(dim=5), 5.18, 1.0, n=200, noise_std=0.5)
    >>> two = heads_risk(Affine(dim=5), [1.55, -2.17], [1.90, -0.91], n=200, noise_std=0.5)
    >>> round(float(one.total), 6), round(float(two.total), 6)
    (0.016325, 0.008336)
    """
    w, v = _check_heads(windows, values)
    # 0.0 stands for a window
    _, n, noise_std = check_setting(task, 0.0, n, noise_std)
    # rows are bias, noise and error
    rows = np.empty((3, n.size))
    for length in np.unique(n):
        of_length = n.ravel() == length
        fine, coarse = (Moments(task, float(length), order) for order in (_FINE, _COARSE))
        variance = noise_std.ravel()[of_length] ** 2
        rows[:, of_length] = _compute_risk(fine, coarse, w, v, variance)
    bias, noise, error = (row.reshape(n.shape)[()] for row in rows)
    return Risk(bias, noise, error)


def optimal_heads(task: Zonal, n: float, noise_std: float, heads: int = 2) -> Heads:
    """Search the windows of the best isotropic heads, 1 to 4, with the best values for these windows.

    The risk has several local minima in the windows, and the search need not find the lowest. The risk of the
    result is exact. ``n`` and ``noise_std`` are single numbers.

    Often two heads merge at the minimum, and their values grow with opposite signs. The risk is flat there,
    and the search keeps windows at least 0.1 apart in arsinh w.

    Raises:
        ValueError: For what `optimal_window` and `heads_risk` refuse.

    >>> from icl.tasks import Affine
    >>> found = optimal_heads(Affine(dim=5), n=200, noise_std=0.5)
    >>> bool(found.risk < 0.00834), bool(found.windows[1] < 0 < found.windows[0])
    (True, True)
    """
    heads = integer(heads, "heads", 1, 4)
    best = optimal_window(task, n, noise_std)
    if np.ndim(best.w):
        raise ValueError(f"n and noise_std have shape {np.shape(best.w)}: must be one number each")
    variance = float(noise_std) ** 2
    # the best single window may be zero
    scale = max(float(best.w), 0.5)
    rough = Moments(task, float(n), _SEARCH)

    def risk(x: Array) -> float:
        """Return the risk with the best values at windows ``sinh x``, infinite if two are too close."""
        if np.diff(np.sort(x)).min(initial=math.inf) < _MIN_DISTANCE:
            return math.inf
        return rough.best_values(np.sinh(x), variance)[1]

    start = _search_grid(risk, float(np.arcsinh(scale)), heads)
    windows = np.sort(np.sinh(_refine(risk, start)))[::-1]
    fine, coarse = (Moments(task, float(n), order) for order in (_FINE, _COARSE))
    values, _ = fine.best_values(windows, variance)
    column = _compute_risk(fine, coarse, windows, values, np.array([variance]))[:, 0]
    bias, noise, error = column.tolist()
    return Heads(windows, values, bias, noise, error)


def _check_heads(windows: ArrayLike, values: ArrayLike) -> tuple[Array, Array]:
    """Return windows and values as arrays (heads,)."""
    w = np.atleast_1d(reals(windows, "windows", -1e8, 1e8))
    v = np.atleast_1d(reals(values, "values", -1e8, 1e8))
    if w.ndim != 1 or w.size == 0 or v.shape != w.shape:
        raise ValueError(
            f"windows and values have shapes {w.shape}, {v.shape}: must be (heads,), the same"
        )
    return w, v


def _compute_risk(fine: Moments, coarse: Moments, w: Array, v: Array, variance: Array) -> Array:
    """Return bias, noise and relative error of the risk, (3, k), for k variances of the label noise."""
    # the axes are fine and coarse rule, then bias and noise
    parts = np.array([moments.bias_and_noise(w, v) for moments in (fine, coarse)])
    # the k variances multiply the noise
    parts = parts[:, :, None] * np.stack([np.ones_like(variance), variance])
    total = parts[0].sum(axis=0)
    error = np.abs(parts[0] - parts[1]).sum(axis=0) / np.maximum(total, 1e-300)
    if not np.all(error <= _TOLERANCE):
        raise ValueError(
            f"windows={w}, values={v}: two quadrature rules differ by {error.max():.1e} of the risk, at most "
            f"{_TOLERANCE:g} is allowed; heads that nearly coincide lose digits"
        )
    return np.stack([*parts[0], error])


def _search_grid(risk: Callable[[Array], float], scale: float, heads: int) -> Array:
    """Return windows, as arsinh w, at which the search begins, from a grid on both sides of zero.

    More heads than two are added one by one, after `_refine` has improved the windows found so far.
    """
    # the grid is coarse, because `_refine` finds the minimum
    grid = scale * np.array([-1.0, -0.6, -0.3, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2])
    best = min((np.array(some) for some in combinations(grid, min(heads, 2))), key=risk)
    while best.size < heads:
        best = _refine(risk, best)
        best = min((np.append(best, one) for one in grid), key=risk)
    return best


def _refine(risk: Callable[[Array], float], start: Array) -> Array:
    """Return windows, as arsinh w, at the local minimum of the risk near ``start``.

    The risk is so flat at its minimum that more digits are not needed.
    """
    simplex = start + np.vstack([np.zeros(start.size), 0.2 * np.eye(start.size)])
    options = {"initial_simplex": simplex, "xatol": 0.01, "fatol": 1e-7 * risk(start)}
    limit = {"maxfev": 80 * start.size}
    return np.asarray(minimize(risk, start, method="Nelder-Mead", options=options | limit).x)


class Moments:
    """G, N and g of the module's docstring, for one class and one context length n.

    ``order`` is the number of nodes of a panel. Entries are kept.
    """

    def __init__(self, task: Zonal, n: float, order: int):
        self.task, self.n, self.order = task, n, order
        self.fine = fine_variance(task)
        # this is k(1) with the constant part that the covariance leaves out
        self.power = float(task.covariance(np.array(1.0))) + task.left_out_level
        self._pairs: dict[tuple[float, float], tuple[float, float]] = {}
        self._singles: dict[float, float] = {}

    def forms(self, windows: Array) -> tuple[Array, Array, Array]:
        """Return G and N, (heads, heads), and g, (heads,)."""
        G, N = np.empty((2, windows.size, windows.size))
        for h, w_h in enumerate(windows.tolist()):
            for k, w_k in enumerate(windows[: h + 1].tolist()):
                G[h, k], N[h, k] = G[k, h], N[k, h] = self.pair(w_h, w_k)
        return G, N, np.array([self.single(w) for w in windows.tolist()])

    def bias_and_noise(self, windows: Array, values: Array) -> tuple[float, float]:
        """Return the bias, which includes fine variance, and the noise for label noise of variance one."""
        G, N, g = self.forms(windows)
        excess = float(values.sum()) - 1
        noise = float(values @ N @ values)
        bias = float(values @ G @ values - 2 * excess * (g @ values)) + excess**2 * self.power
        # fine variance is noise at the tokens, and at the query it counts once more
        return bias + self.fine * (1 + noise), noise

    def best_values(self, windows: Array, variance: float) -> tuple[Array, float]:
        """Return the best values at these windows, and the risk.

        The minimum is one Newton step away from v = (1, 0, ..., 0). The unknowns are the values of all heads
        but the first, and ``1 - V``, so that ``k(1)``, which is much larger than the risk, enters only one
        entry of the matrix.
        """
        G, N, g = self.forms(windows)
        A = G + (variance + self.fine) * N
        # `slope` is half the gradient
        slope = A[0] - g[0]
        # row h moves value from the first head to head h + 1
        differences = np.eye(windows.size)[1:] - np.eye(windows.size)[0]
        # `curvature` has half the second derivatives
        curvature = np.empty_like(A)
        curvature[:-1, :-1] = differences @ A @ differences.T
        curvature[-1, :-1] = curvature[:-1, -1] = differences @ (g - A[0])
        curvature[-1, -1] = A[0, 0] - 2 * g[0] + self.power
        # the matrix is nearly singular if two heads merge
        unknown = -np.linalg.lstsq(
            curvature, np.append(differences @ slope, -slope[0]), rcond=1e-15
        )[0]
        values = (
            np.eye(windows.size)[0]
            + unknown[:-1] @ differences
            - unknown[-1] * np.eye(windows.size)[0]
        )
        bias, noise = self.bias_and_noise(windows, values)
        return values, bias + variance * noise

    def pair(self, w_h: float, w_k: float) -> tuple[float, float]:
        """Return the entries of G and N for heads with two windows, which may be equal."""
        # G and N are symmetric
        key = (max(w_h, w_k), min(w_h, w_k))
        if key not in self._pairs:
            # `integrate` computes one head for w >= 0 only
            if w_h == w_k >= 0:
                self._pairs[key] = self._compute_one(w_h)
            else:
                self._pairs[key] = self._compute_two(*key)
        return self._pairs[key]

    def single(self, w: float) -> float:
        """Return the entry of g for one head, ``E sum_i omega_i(w) gamma_iq``.

        It is ``n int phi^(n-1) E[gamma E_h e^(-s E_h)] ds``.
        """
        if w not in self._singles:
            task, n = self.task, self.n
            s, weight, log_s_end = _make_nodes(task.dim, abs(w), n, self.order)
            theta, p = _make_angles(task, (w,), (log_s_end,), self.order)
            E = _kernel(w, theta)
            # these are 1 - exp(-s E) and exp(-s E), (angles, nodes in s); phi is the mean of `kept`
            lost = -np.expm1(-np.outer(E, s))
            kept = 1 - lost
            one_minus_phi = np.minimum(p @ lost, _BELOW_ONE)
            power = n * np.exp((n - 1) * np.log1p(-one_minus_phi))
            self._singles[w] = float(
                (weight * power) @ ((p * E * variogram_of(task, theta)) @ kept)
            )
        return self._singles[w]

    def _compute_one(self, w: float) -> tuple[float, float]:
        """Return the entries of G and N for a single head with w >= 0: its bias and noise at v = 1."""
        rows = integrate(self.task, w, np.array([self.n]), self.order, slopes=False)
        bias, noise = rows[:, 0].tolist()
        # G leaves out fine variance, which `bias_and_noise` adds
        return bias - self.fine * (1 + noise), noise

    def _compute_two(self, w_h: float, w_k: float) -> tuple[float, float]:
        """Return the entries of G and N for heads with two windows; ValueError for too narrow ones."""
        task, n = self.task, self.n
        # a single token has weight one for every window
        if n == 1:
            return self._compute_one(0.0)
        s, s_weight, log_s_end = _make_nodes(task.dim, abs(w_h), n, self.order)
        u, u_weight, log_u_end = _make_nodes(task.dim, abs(w_k), n, self.order)
        theta, p = _make_angles(task, (w_h, w_k), (log_s_end, log_u_end), self.order)
        resolved = max(_find_max_degree(w_h, log_s_end), _find_max_degree(w_k, log_u_end))
        a, rest = spectrum(task, int(min(bandlimit(task), resolved)))
        # these are degrees minus one
        degrees = np.flatnonzero(a)
        # almost all work is `rows @ kept` below
        work = float(s.size * u.size * theta.size * (2 * degrees.size + 8))
        unit = "multiplications: too narrow for n tokens"
        affordable(work, _MAX_WORK, "windows", (w_h, w_k), unit)

        # Each integral needs the mean, over angles, of exp(-s E_h - u E_k) times factors, which are `rows`:
        # first E_h E_k and 2 gamma E_h E_k. Then 1, gamma and all 1 - P_l follow, times E_h, and once more
        # times E_k.
        gamma = variogram_of(task, theta)
        # `missed` is 1 - P_l for coefficients that are not zero
        missed = Polynomials(task.dim, theta).take(a.size + 1)[1 + degrees]
        factors = np.vstack([np.ones_like(theta), gamma, missed])
        E_h, E_k = _kernel(w_h, theta), _kernel(w_k, theta)
        both = np.vstack([E_h * E_k, 2 * gamma * E_h * E_k])
        rows = p * np.vstack([both, factors * E_h, factors * E_k])
        # these are 1 - exp(-s E_h) and 1 - exp(-u E_k), (angles, nodes)
        lost_s = -np.expm1(-np.outer(E_h, s))
        lost_u = -np.expm1(-np.outer(E_k, u))
        # phi is the mean of (1 - lost_s) (1 - lost_u)
        one_minus_phi = (p @ lost_s)[:, None] + p @ lost_u - (lost_s.T * p) @ lost_u
        log_phi = np.log1p(-np.minimum(one_minus_phi, _BELOW_ONE))
        # all arrays here are (nodes in s, nodes in u)
        weight = n * s_weight[:, None] * u_weight
        singles = weight * np.exp((n - 1) * log_phi)
        pairs = weight * (n - 1) * np.exp((n - 2) * log_phi)

        G = N = neglected = 0.0
        # all nodes in u together might not fit into memory
        step = max(1, _MAX_BLOCK // (theta.size * s.size))
        for start in range(0, u.size, step):
            some = slice(start, start + step)
            kept = (1 - lost_s)[:, :, None] * (1 - lost_u)[:, None, some]
            means = rows @ kept.reshape(theta.size, -1)
            noise, single = means[:2]
            pair, missing = _sum_over_degrees(a[degrees], rest, *np.split(means[2:], 2))
            at_single, at_pair = singles[:, some].ravel(), pairs[:, some].ravel()
            N += float(at_single @ noise)
            G += float(at_single @ single + at_pair @ pair)
            neglected += float(at_pair @ missing)
        # the neglected terms must be as small as the error of a Gauss rule of this order
        if neglected > 10 ** (-0.75 * self.order) * G:
            raise ValueError(
                f"windows={(w_h, w_k)}: too narrow for {task!r}, whose spectrum falls too slowly"
            )
        return G, N


def _sum_over_degrees(a: Array, rest: float, first: Array, second: Array) -> tuple[Array, Array]:
    """Return ``sum_l a_l A_l B_l`` over all degrees, and a bound on the part that is neglected.

    The rows of ``first`` belong to head h:

    - ``m_h = E[E_h e^(..)]``,
    - ``E[E_h gamma e^(..)]``, which is ``sum_l a_l A_l`` over all degrees,
    - ``A_l`` for each coefficient a_l in ``a``.

    ``second`` belongs to head k, with m_k and B_l. In later degrees, whose coefficients have the sum
    ``rest``, the product of ``m_h - A_l`` and ``m_k - B_l`` is neglected.
    """
    A, B = first[2:], second[2:]
    total = a @ (A * B)
    if rest == 0:
        return total, np.zeros_like(total)
    # these are the sums over later degrees
    later_A, later_B = first[1] - a @ A, second[1] - a @ B
    # without the neglected product, A_l B_l is m_h B_l + m_k A_l - m_h m_k
    total += first[0] * later_B + second[0] * later_A - first[0] * second[0] * rest
    # both differences fall with the degree, so that the last four rows bound later ones
    last = np.abs((A[-4:] - first[0]) * (B[-4:] - second[0])).max(axis=0)
    return total, rest * last


def _kernel(w: float, theta: Array) -> Array:
    """Return ``exp(w cos theta - |w|)``, whose largest value is one."""
    half = np.sin(theta / 2) if w >= 0 else np.cos(theta / 2)
    return np.exp(-2 * abs(w) * half**2)


def _make_nodes(dim: int, w: float, n: float, order: int) -> tuple[Array, Array, float]:
    """Return nodes and weights in s for a head with window w >= 0, and log s where the integral ends.

    E is `_kernel`. The first panel begins at s = 0 and has its nodes in s, because means over a token are
    entire functions of s. All other panels have their nodes in log s. At the end ``phi^(n-2)`` has vanished,
    or exp(-s E) even for the farthest token. The log s that is returned is at least 0, since
    `_find_max_degree` takes its root.
    """
    log_mean = log_mean_weight(dim, w)
    # at this log s, s E is exp(5) even for the farthest token, with E = exp(-2 w)
    high = 2 * w + 5.0
    if n > 2:
        # The integrand has vanished where -log phi exceeds `needed`. This is so, up to two percent, if s E
        # exceeds needed + 4 for all tokens except a share of exp(-needed), beyond the cap.
        needed = _CUT / (n - 2)
        high = min(high, w * invert_cap_mass(dim, -math.expm1(-needed)) + math.log(needed + 4))
        # It is also so if 0.63 s E[E] exceeds `needed`, because for log s <= 0 this product is at most 1 -
        # phi.
        linear = math.log(needed / 0.63) - log_mean
        if linear <= 0:
            high = min(high, linear)
    # the product of weights for two heads, each about s, must not overflow
    if high > 300:
        raise ValueError(
            f"windows={w:g}: too narrow for n={n:g}, hardly a token lies in such a window"
        )
    # up to this log s one panel in s is enough
    first_end = min(0.0, math.log(8 / n) - log_mean, high)
    edges = np.linspace(first_end, high, 1 + math.ceil((high - first_end) / _PANEL))
    log_s, weight = gauss_panels(edges, order)
    near, near_weight = gauss_panels(np.array([0.0, math.exp(first_end)]), order)
    nodes = np.concatenate([near, np.exp(log_s)])
    return (nodes, np.concatenate([near_weight, weight * np.exp(log_s)]), max(high, 0.0))


def _find_max_degree(w: float, log_end: float) -> float:
    """Return the highest degree l that a window resolves, for an integral that ends at ``s = exp(log_end)``.

    For small s the mean of P_l has fallen to exp(-18) at ``l = 6 sqrt(|w|)``. For the last s, ``exp(-s E)``
    turns from 0 to 1 within about ``(2 |w| log_end)^(-1/2)``. `_sum_over_degrees` bounds what higher degrees
    would change.
    """
    return math.sqrt(abs(w)) * (6 + 3 * math.sqrt(log_end)) + 20


def _make_angles(
    task: Zonal, windows: Sequence[float], log_ends: Sequence[float], order: int
) -> tuple[Array, Array]:
    """Return angles between token and query, with probabilities, for integrals over the angle.

    The angles are the nodes of Gauss rules on panels. A head needs short panels up to the angle at which
    ``exp(-s E)`` turns from 0 to 1 for the largest s, and for the polynomials P_l that it resolves. Other
    widths would change only the time and the error, which `_compute_risk` estimates.

    ``log_ends`` has, for each window, the log s at which the integral of the head ends.
    """
    theta = _FROM_POLE_TO_POLE
    # `need` is the number of panels per radian, first for the density of the angle
    need = np.full(theta.size, (1 + math.sqrt(task.dim)) / 2)
    for w, log_end in zip(windows, log_ends, strict=True):
        half = np.sin(theta / 2) if w >= 0 else np.cos(theta / 2)
        # E is exp(-tau) with tau = 2 |w| half^2. `past` is positive in the tail, where s E is below exp(-4).
        past = np.maximum(2 * abs(w) * half**2 - log_end - 4, 0.0)
        # tau changes by |w| sin theta per radian, and a panel has the width _PANEL in tau, in the tail up to
        # 16
        need += abs(w) * np.sin(theta) / np.minimum(_PANEL + 0.3 * past, 16.0)
        # a panel of the width 13 / l resolves P_l
        need += min(bandlimit(task), _find_max_degree(w, log_end)) / 13 / (1 + past / 10)
    # `panels` counts the panels from the first angle to each
    panels = np.concatenate([[0.0], np.cumsum((need[1:] + need[:-1]) / 2 * np.diff(theta))])
    edges = np.interp(np.linspace(0, panels[-1], 1 + math.ceil(panels[-1])), panels, theta)
    return angle_probabilities(task.dim, edges, order)
