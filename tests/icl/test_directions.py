"""The matrix of leaving one out: its gradient, and that it finds exactly the directions that count."""

import numpy as np
import pytest
from scipy.stats import binom

import icl
from icl.directions import left_out_gradient
from icl_book.statistics import FALSE_ALARM_RATE


def plain_loss(X, y, M):
    """Return the loss of leaving each label out, by a loop over tokens."""
    losses = []
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        gaps = X[others] - X[i]
        omega = np.exp(-0.5 * np.einsum("ij,jk,ik->i", gaps, M, gaps))
        predicted = omega @ y[others] / omega.sum()
        losses.append(np.sum((predicted - y[i]) ** 2))
    return np.mean(losses)


@pytest.mark.parametrize("columns", [1, 3])
def test_the_gradient_is_that_of_the_plain_loss(columns):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((25, 3)), rng.standard_normal((25, columns))
    A = rng.standard_normal((3, 3))
    loss, slope = left_out_gradient(X, y, A, np.arange(25))
    M = A @ A.T
    assert loss == pytest.approx(plain_loss(X, y, M))
    for _ in range(3):
        turn = rng.standard_normal((3, 3))
        turn = 1e-5 * (turn + turn.T)
        ahead, behind = plain_loss(X, y, M + turn), plain_loss(X, y, M - turn)
        assert np.sum(slope * turn) == pytest.approx((ahead - behind) / 2, rel=1e-5)


def on_sphere(rng, n, dim):
    rows = rng.standard_normal((n, dim))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def three_columns(X):
    return np.abs(X[:, 0]) + X[:, 1] * X[:, 2]


def test_it_finds_the_three_columns_of_ten_that_matter():
    rng = np.random.default_rng(2)
    X, queries = on_sphere(rng, 1000, 10), on_sphere(rng, 2000, 10)
    y = three_columns(X) + 0.3 * rng.standard_normal(1000)
    found = icl.best_matrix(X, y)
    assert found.kind == "diagonal" and found.gain > 2 * found.error > 0
    sizes = np.diag(found.M)
    assert np.array_equal(found.M, np.diag(sizes))
    assert sizes[3:].max() < 0.5 * sizes[:3].min()
    error = {}
    for metric in ("window", "diagonal"):
        fitted = icl.SoftmaxAttentionRegressor(metric=metric).fit(X, y)
        error[metric] = np.mean((fitted.predict(queries) - three_columns(queries)) ** 2)
    assert error["diagonal"] < 0.009 < 0.018 < error["window"]


def test_a_turned_direction_needs_the_full_matrix():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (400, 2))
    across = np.array([0.6, -0.8])
    y = np.sin(6 * X @ across) + 0.1 * rng.standard_normal(400)
    found = icl.best_matrix(X, y, "full")
    assert found.kind == "full"
    values, vectors = np.linalg.eigh(found.M)
    assert values[0] < 0.05 * values[1]
    assert abs(vectors[:, 1] @ across) > 0.99
    assert icl.best_matrix(X, y).gain < 0.5 * found.gain


def test_where_all_directions_count_alike_it_finds_no_matrix():
    """One data set in forty or so may seem to gain two standard errors; three of sixty have p = 0.2."""
    kinds = []
    for seed in range(20):
        rng = np.random.default_rng([4, seed])
        X = rng.standard_normal((150, 3))
        y = np.exp(-np.sum(X**2, axis=1)) + 0.1 * rng.standard_normal(150)
        found = icl.best_matrix(X, y)
        kinds.append(found.kind)
        if found.kind in ("none", "scaled"):
            variances = np.ones(3) if found.kind == "none" else np.var(X, axis=0)
            multiple = found.M[0, 0] * variances[0] / variances
            np.testing.assert_allclose(found.M, np.diag(multiple), atol=1e-12)
    # P(fewer) < 1e-4 at a rate of one in forty
    assert kinds.count("none") + kinds.count("scaled") >= 16


@pytest.mark.slow
def test_few_tokens_seem_to_gain_no_more_often_than_said():
    """Six tokens hold out two, where two standard errors would be a gain in one data set of five."""
    sets = 300
    gains = 0
    for seed in range(sets):
        rng = np.random.default_rng([5, seed])
        X = rng.standard_normal((6, 3))
        y = np.exp(-np.sum(X**2, axis=1)) + 0.1 * rng.standard_normal(6)
        gains += icl.best_matrix(X, y).kind == "diagonal"
    assert gains <= binom.isf(FALSE_ALARM_RATE, sets, 0.08)


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_the_units_of_columns_decide_nothing(kind):
    """A useless column of a thousandfold unit could leave the search at the mean of all labels."""
    rng = np.random.default_rng(10)
    X, queries = rng.standard_normal((2, 400, 4))
    y = np.sin(X[:, 0]) + X[:, 1]
    one = icl.SoftmaxAttentionRegressor(metric=kind).fit(X, y)
    assert one.score(queries, np.sin(queries[:, 0]) + queries[:, 1]) > 0.97
    for units in ([1, 1, 1, 1e3], [1e-50, 1, 1e-3, 1e50]):
        other = icl.SoftmaxAttentionRegressor(metric=kind).fit(X * units, y)
        assert other.best_matrix_.kind == kind
        np.testing.assert_allclose(other.predict(queries * units), one.predict(queries), atol=0.02)


def test_the_units_of_columns_of_labels_decide_nothing():
    rng = np.random.default_rng(13)
    X = rng.uniform(-1, 1, (90, 2))
    y = np.column_stack([np.sin(4 * X[:, 0]), X[:, 1]]) + 0.1 * rng.standard_normal((90, 2))
    one, other = icl.best_matrix(X, y), icl.best_matrix(X, y * [1e-6, 1e6])
    np.testing.assert_allclose(other.M, one.M, rtol=1e-6)
    assert other.gain == pytest.approx(one.gain)
    summed = icl.best_matrix(X, y * [1e-6, 1e6], same_unit=True)
    np.testing.assert_allclose(summed.M, icl.best_matrix(X, y[:, 1]).M, rtol=1e-3)


def test_groups_are_left_out_and_held_out_together():
    """Twice the rows are no more data, so that neither the matrix nor the error of its gain differs."""
    rng = np.random.default_rng(14)
    X = rng.uniform(-1, 1, (90, 2))
    y = np.sin(4 * X[:, 0]) + 0.2 * rng.standard_normal(90)
    once = icl.best_matrix(X, y)
    twice = icl.best_matrix(
        np.repeat(X, 2, axis=0), np.repeat(y, 2), groups=np.repeat(range(90), 2)
    )
    np.testing.assert_allclose(twice.M, once.M, rtol=0.02, atol=0.02 * np.abs(once.M).max())
    assert (twice.gain, twice.error) == pytest.approx((once.gain, once.error), rel=0.02)
    loss, slope = left_out_gradient(X, y[:, None], np.eye(2), np.arange(90))
    loss_twice, slope_twice = left_out_gradient(
        np.repeat(X, 2, axis=0), np.repeat(y, 2)[:, None], np.eye(2), np.repeat(np.arange(90), 2)
    )
    assert loss_twice == pytest.approx(loss)
    np.testing.assert_allclose(slope_twice, slope)


@pytest.mark.parametrize("far", [1e5, -999_999.0, 1e10])
def test_a_far_token_leaves_the_matrix(far):
    """One wrong entry in the column that counts could make every prediction the mean."""
    rng = np.random.default_rng(17)
    X, queries = rng.uniform(0, 1, (2, 200, 2))
    y = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(200)
    X[7, 0], y[7] = far, 0
    found = icl.best_matrix(X, y)
    assert found.kind == "diagonal"
    fitted = icl.SoftmaxAttentionRegressor(metric="diagonal").fit(X, y)
    assert fitted.score(queries, np.sin(6 * queries[:, 0])) > 0.97


def test_the_gradient_beside_a_far_token_is_that_of_the_others():
    """Tokens of another cluster have no weights, but their lengths could cost digits."""
    rng = np.random.default_rng(18)
    X, y = rng.standard_normal((30, 3)), rng.standard_normal((30, 1))
    group = np.arange(30)
    wanted, slope = left_out_gradient(X, y, np.eye(3), group)
    apart = X + np.where(group < 15, 0, 1e6)[:, None] * [1, 0, 0]
    halves = [
        left_out_gradient(X[part], y[part], np.eye(3), group[:15])
        for part in (slice(0, 15), slice(15, 30))
    ]
    found, slope = left_out_gradient(apart, y, np.eye(3), group)
    assert found == pytest.approx(np.mean([half[0] for half in halves]), rel=1e-8)
    # only the other columns are compared, since sums over both clusters round that of the first
    wanted = np.mean([half[1] for half in halves], axis=0)[1:, 1:]
    np.testing.assert_allclose(slope[1:, 1:], wanted, rtol=1e-6, atol=1e-9)


def test_a_part_of_many_labels_gives_the_gradient(monkeypatch):
    rng = np.random.default_rng(19)
    X, y = rng.standard_normal((40, 2)), rng.standard_normal((40, 1))
    monkeypatch.setattr("icl.directions.draw", lambda n: np.arange(0, n, 4))
    group = np.arange(40)
    loss, slope = left_out_gradient(X, y, np.eye(2), group)
    ahead, behind = (
        left_out_gradient(X * [1, 1 + step], y, np.eye(2), group)[0] for step in (1e-5, -1e-5)
    )
    # M_22 = (1 + step)^2
    assert 2 * slope[1, 1] == pytest.approx((ahead - behind) / 2e-5, rel=1e-5)
    chosen = np.arange(0, 40, 4)
    wanted = [
        (np.average(np.delete(y, i), weights=omega) - y[i, 0]) ** 2
        for i in chosen
        for omega in [np.exp(-0.5 * np.sum((np.delete(X, i, axis=0) - X[i]) ** 2, axis=1))]
    ]
    assert loss == pytest.approx(np.mean(wanted))


@pytest.mark.parametrize("size", [1e-59, 1e-3, 1e59])
def test_the_unit_of_length_is_free(size):
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, (90, 2))
    y = np.sin(4 * X[:, 0]) + 0.1 * rng.standard_normal(90)
    one, other = icl.best_matrix(X, y), icl.best_matrix(X * size, y)
    np.testing.assert_allclose(other.M * size**2, one.M, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(other(X * size), one(X), rtol=1e-6, atol=1e-9)
    assert other.gain == pytest.approx(one.gain)


def test_labels_that_are_all_alike_have_no_direction():
    found = icl.best_matrix(np.random.default_rng(8).standard_normal((12, 2)), np.ones(12))
    assert found.kind == "none" and found.gain == 0


def test_tokens_that_are_all_alike_have_no_direction():
    found = icl.best_matrix(np.ones((12, 2)), np.arange(12.0))
    assert found.kind == "none" and np.isfinite(found.M).all()


def test_the_gradient_is_the_same_in_few_and_in_many_blocks(monkeypatch):
    rng = np.random.default_rng(9)
    X, y = rng.standard_normal((90, 3)), rng.standard_normal((90, 1))
    whole = left_out_gradient(X, y, np.eye(3), np.arange(90))
    monkeypatch.setattr("icl.directions._BLOCK", 200)
    for one, other in zip(whole, left_out_gradient(X, y, np.eye(3), np.arange(90)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
