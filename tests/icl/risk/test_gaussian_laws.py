"""The theorems on Gaussian tokens: the laws at every w, the best matrix, and planted wrong laws."""

import math

import numpy as np
import pytest
from scipy.special import erfc

from icl.risk import distance_exponent, gaussian_distance, gaussian_risk, gaussian_window
from icl.risk.numerics.gaussian_moments import weight_moments
from icl_book.statistics import Z
from oracles import gaussian as oracle

GOLDEN = (1 + 5**0.5) / 2


# ------------------------------------------------------------------- the exponent
@pytest.mark.parametrize("w", [0.1, 0.5, 0.5**0.5, 0.72, 1.0, 1.7, 4.0, 30.0])
def test_exponent_is_the_least_over_all_queries(w):
    """A query of ``w^2 r^2 = x log n`` has C of order n^-c(x) and probability n^(-x / 2 w^2)."""
    x = np.linspace(0, 2, 400001)[1:]
    cost = np.where(x < 2 / 3, 1 - x, (2 - x) ** 2 / (8 * x)) + x / (2 * w**2)
    least = min(cost.min(), 1.0)  # x = 0, the short queries
    assert distance_exponent(w) == pytest.approx(least, abs=1e-9)


def test_exponent_at_one_is_the_golden_ratio_and_beyond_all_bounds():
    assert distance_exponent(1.0) == pytest.approx(1 / GOLDEN, rel=1e-15)
    assert distance_exponent(1e3) * 1e6 == pytest.approx(1, rel=1e-5)
    assert distance_exponent(0.5**0.5) == pytest.approx(1, rel=1e-15)


@pytest.mark.parametrize("n", [3, 50, 10**4, 10**9])
@pytest.mark.parametrize("share", [0.05, 0.4, 0.66, 0.9, 1.3, 1.8])
def test_bounds_for_every_n(n, share):
    """The two inequalities of the proof; the second term is what a small sum of the others contributes."""
    log_n = math.log(n)
    tau = math.sqrt(share * log_n)
    c, d = weight_moments(np.array([tau]), float(n))[:2, 0]
    rest = n * math.exp(-n * math.exp(-(tau**2) / 2) / 32)
    for s in (0.5, 1.0, 1 / share + 0.5, 2.0):
        if s <= 2:
            assert c <= 64 * n ** (1 - s) * math.exp(s * (s - 1) * tau**2 / 2) + rest
    heavy = log_n / tau + tau / 2
    assert c >= n / 8 * erfc(heavy / math.sqrt(2))
    assert 0 <= d <= c


# ------------------------------------------------------ noise and distance with their constants
def test_distance_at_twenty_random_settings():
    rng = np.random.default_rng(8)
    for _ in range(20):
        dim, w = int(rng.integers(1, 9)), math.exp(rng.uniform(-3, 0.3))
        n = int(math.exp(rng.uniform(0.7, 14)))
        r, p = oracle.query_law(dim, 48)
        c, distance = oracle.noise_and_distance(dim, w, n, r)
        found = gaussian_distance(dim, w, n)
        assert found.distance == pytest.approx(p @ distance, rel=1e-9) and found.error < 1e-9
        assert gaussian_risk(dim, w, n, 1.0).noise == pytest.approx(p @ c, rel=1e-9)


def test_at_one_the_distance_is_the_bias():
    """With w = 1 the limit is right, and linear functions of L = 1 see a d-th part of the distance."""
    found = gaussian_distance(3, 1.0, [5, 10**6])
    assert found.distance / 3 == pytest.approx(
        gaussian_risk(3, 1.0, [5, 10**6], 0.0).bias, rel=1e-12
    )


def off(law, dim, w, lengths):
    """Return exact over law, minus one, of noise and distance, at two context lengths; shape (2, 2)."""
    exact = np.array([oracle.long_means(dim, w, length) for length in lengths])
    return np.expm1(exact - np.array([law(dim, w, length) for length in lengths]))


def is_the_law(law, dim, w, lengths):
    far, farther = np.abs(off(law, dim, w, lengths))
    falls = lengths[1] / lengths[0]
    return bool(np.all(farther < 0.03) and np.all((farther < 1e-9) | (farther < 1.5 * far / falls)))


def book(dim, w, log_n):
    """The laws of noise and distance for many tokens, as the chapter on Gaussian tokens proves them."""
    half, square = dim / 2, w * w
    if square == pytest.approx(0.5, rel=1e-12):
        reach = math.log(2 * log_n / 3)
        noise = half * reach - math.lgamma(half + 1) - log_n
        distance = math.log(half) + (half + 1) * reach
        return np.array([noise, distance - math.lgamma(half + 2) - log_n])
    if square < 0.5:
        spread = math.log(1 - 2 * square)
        distance = math.log(dim * (1 - square)) - (half + 1) * spread - log_n
        return np.array([-half * spread - log_n, distance])
    power = float(distance_exponent(w))
    constant = math.lgamma(1 + power) + math.lgamma(1 - power) - math.lgamma(half)
    constant -= half / 2 * math.log(square * (square + 4)) + power * log_n
    heavy = math.log(2 * w * power**2 / math.sqrt(square + 4))
    long = math.log(log_n)
    return constant + np.array([(half - 1) * long, heavy + half * long])


def log_window_gap(dim, log_n):
    """The logarithm of ``1 - w*`` for many tokens, for every L and sigma, as the chapter proves it."""
    constant = math.log(math.pi) - (1 + dim / 4) * math.log(5) - 3 * math.log(GOLDEN)
    constant -= math.lgamma(dim / 2 + 1) + math.log(math.sin(math.pi / GOLDEN))
    return constant + (dim / 2 + 1) * math.log(log_n) - log_n / GOLDEN


SETTINGS = [
    (1, 0.5, (100, 400)),
    (3, 0.6, (200, 400)),
    (1, 0.5**0.5, (100, 400)),
    (3, 0.85, (400, 1600)),
    (1, 1.0, (400, 1600)),
    (3, 1.0, (400, 1600)),
    (2, 2.0, (400, 1600)),
]


@pytest.mark.parametrize("dim, w, lengths", SETTINGS)
def test_laws_of_noise_and_distance(dim, w, lengths):
    """Other code computes exact moments in contexts of e^400 and e^1600 tokens."""
    assert is_the_law(book, dim, w, lengths)


def power(w):
    return float(distance_exponent(w))


PLANTED = {
    "the exponent 1 / (1 + w^2)": (
        1,
        1.0,
        lambda w, log_n: [log_n * (power(w) - 1 / (1 + w * w))] * 2,
    ),
    "no Gamma(s) Gamma(2 - s)": (
        *(1, 1.0),
        lambda w, log_n: [-math.lgamma(1 + power(w)) - math.lgamma(1 - power(w))] * 2,
    ),
    "C for C - 6 D": (1, 1.0, lambda w, log_n: [0, -2 * math.log(power(w))]),
    "the noise's power of log n": (1, 1.0, lambda w, log_n: [0, -math.log(log_n)]),
    "no 1 - w^2": (1, 0.5, lambda w, log_n: [0, -math.log(1 - w * w)]),
    "4/3 log n at w^2 = 1/2": (1, 0.5**0.5, lambda w, log_n: [0, 1.5 * math.log(2)]),
    "no d / 2 at w^2 = 1/2": (1, 0.5**0.5, lambda w, log_n: [0, math.log(2)]),
}


@pytest.mark.slow
@pytest.mark.parametrize("dim, w, error", PLANTED.values(), ids=PLANTED)
def test_a_wrong_law_is_noticed(dim, w, error):
    lengths = (400, 1600) if w > 0.8 else (100, 400)

    def wrong(dim, w, log_n):
        return book(dim, w, log_n) + error(w, log_n)

    assert is_the_law(book, dim, w, lengths)
    assert not is_the_law(wrong, dim, w, lengths)


# --------------------------------------------------------- the golden ratio: slope and gap
def slope_at_one(dim, n, noise_std, dropped=0.0):
    """Return R'(1) for L = 1 from C and D alone, without derivatives; ``dropped`` is a part left out."""
    r, p = oracle.query_law(dim, 200)
    c, d = weight_moments(r, float(n))[:2]
    distance = dim * c + r**2 * (c - 6 * d)
    bias = ((r**2 - dim) * distance - 2 * (1 - dropped) * r**2 * c) / dim
    return p @ (bias + noise_std**2 * (r**2 - dim) * c)


def test_slope_at_one_at_twenty_random_settings():
    rng = np.random.default_rng(3)
    for _ in range(20):
        dim, n = int(rng.integers(1, 20)), int(math.exp(rng.uniform(0.7, 30)))
        noise_std = rng.uniform(0, 2)
        exact = gaussian_risk(dim, 1.0, n, noise_std).slope
        assert slope_at_one(dim, n, noise_std) == pytest.approx(exact, rel=1e-8, abs=1e-12)
        assert slope_at_one(dim, n, noise_std, dropped=1.0) != pytest.approx(exact, rel=1e-3)


def gap_tends_to(law, dim, noise_std):
    """Return whether the exact half slope over the law tends to one like 1 / log n."""
    lengths = (1000, 8000)
    far, farther = (
        abs(math.expm1(oracle.long_gap(dim, length, noise_std) - law(dim, length)))
        for length in lengths
    )
    return farther < 0.01 and farther < 1.3 * far / 8


@pytest.mark.parametrize("dim, noise_std", [(1, 0.0), (5, 0.0), (5, 2.0)])
def test_law_of_the_gap(dim, noise_std):
    assert gap_tends_to(log_window_gap, dim, noise_std)


PLANTED_GAPS = {
    "phi^2 for phi^3": lambda dim, log_n: math.log(GOLDEN),
    "no 1 / 5": lambda dim, log_n: math.log(5),
    "a power of log n less": lambda dim, log_n: -math.log(log_n),
    "exponent 2/3": lambda dim, log_n: (1 / GOLDEN - 2 / 3) * log_n,
}


@pytest.mark.parametrize("error", PLANTED_GAPS.values(), ids=PLANTED_GAPS)
def test_a_wrong_law_of_the_gap_is_noticed(error):
    assert not gap_tends_to(
        lambda dim, log_n: log_window_gap(dim, log_n) + error(dim, log_n), 1, 0.0
    )


def test_the_law_needs_long_contexts():
    """Without noise in one dimension a hundred tokens are too few: there the best w exceeds one."""
    assert gaussian_window(1, 100, 0.0).w == pytest.approx(1.015, abs=5e-4)
    assert slope_at_one(1, 100, 0.0) == pytest.approx(-0.0185, abs=5e-5)
    assert gaussian_window(1, 1000, 0.0).w < 1


# --------------------------------------------------------------------- the best matrix
MATRICES = [
    np.array(m)
    for m in ([[0.9, 0.5], [-0.2, 0.4]], [[0.0, -0.8], [0.8, 0.0]], [[1.2, 0], [0, 0.1]])
]


def matrix_formula(matrix, n, noise_std, aligned=False):
    """Return the risk of a plane matrix from C, D, length and angle of ``M x_q``, or with angle zero."""
    r, p = oracle.query_law(2, 60)
    total = 0.0
    for angle in np.arange(64) * np.pi / 32:
        direction = np.array([math.cos(angle), math.sin(angle)])
        image = matrix @ direction
        length = np.linalg.norm(image)
        cosine = 1.0 if aligned else image @ direction / length
        tau = length * r
        c, d = weight_moments(tau, float(n))[:2]
        square = c + tau**2 * (1 - c - 6 * d) + c
        total += p @ ((square - 2 * r * cosine * tau * (1 - c) + r**2) / 2 + noise_std**2 * c) / 64
    return total


@pytest.mark.parametrize("matrix", MATRICES, ids=["skew", "turn", "diagonal"])
def test_no_matrix_beats_a_multiple_of_the_identity(matrix):
    n, noise_std, count = 12, 0.5, 60_000
    rng = np.random.default_rng(11)
    x, query = rng.standard_normal((count, n, 2)), rng.standard_normal((count, 2))
    scores = np.einsum("cnd,de,ce->cn", x, matrix, query)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    miss = np.einsum("cn,cnd->cd", weights, x) - query
    errors = (miss**2).sum(1) / 2 + noise_std**2 * (weights**2).sum(1)

    def agrees(expected):
        return abs(errors.mean() - expected) < Z * errors.std() / count**0.5

    exact = matrix_formula(matrix, n, noise_std)
    assert agrees(exact)
    assert not agrees(matrix_formula(matrix, n, noise_std, aligned=True))
    lengths = np.linalg.norm(
        [matrix @ (math.cos(a), math.sin(a)) for a in np.arange(64) * np.pi / 32], axis=1
    )
    per_query = gaussian_risk(2, lengths, n, noise_std).total.mean()
    assert per_query == pytest.approx(matrix_formula(matrix, n, noise_std, aligned=True), rel=1e-9)
    assert exact > per_query > gaussian_window(2, n, noise_std).risk


def shells(rng, shape):
    """Tokens of two lengths, neither normal nor bounded away from each other's."""
    x = rng.standard_normal(shape)
    length = rng.choice([0.3, 2.0], size=(*shape[:-1], 1))
    return x / np.linalg.norm(x, axis=-1, keepdims=True) * length


def ball(rng, shape):
    x = rng.standard_normal(shape)
    radius = rng.random((*shape[:-1], 1)) ** (1 / shape[-1])
    return x / np.linalg.norm(x, axis=-1, keepdims=True) * radius


@pytest.mark.parametrize("law", [shells, ball], ids=["shells", "ball"])
def test_turning_away_costs_on_every_rotation_invariant_law(law):
    """The risk at the angle alpha exceeds that at zero by ``2 (1 - cos alpha) E r m``, and E m > 0."""
    count, n, tau, alpha = 40_000, 6, 3.0, 1.1
    rng = np.random.default_rng(6)
    x, query = law(rng, (count, n, 3)), law(rng, (count, 3))
    r = np.linalg.norm(query, axis=1)
    first = query / r[:, None]
    other = np.cross(first, rng.standard_normal((count, 3)))
    other /= np.linalg.norm(other, axis=1, keepdims=True)

    def predict(angle):
        looks = math.cos(angle) * first + math.sin(angle) * other
        scores = tau * r[:, None] * np.einsum("cnd,cd->cn", x, looks)
        weights = np.exp(scores - scores.max(1, keepdims=True))
        prediction = np.einsum("cn,cnd->cd", weights / weights.sum(1, keepdims=True), x)
        return ((prediction - query) ** 2).sum(1), (prediction * looks).sum(1)

    straight, along = predict(0.0)
    turned, _ = predict(alpha)
    gain = 2 * (1 - math.cos(alpha)) * r * along
    excess = turned - straight - gain
    assert abs(excess.mean()) < Z * excess.std() / count**0.5
    assert gain.mean() > 10 * gain.std() / count**0.5
    wrong = turned - straight - gain / 2
    assert abs(wrong.mean()) > Z * wrong.std() / count**0.5
