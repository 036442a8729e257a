"""Predictions and the best window for one's own data, against loops, and what is refused."""

import math
import subprocess
import sys
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import binom

import icl
from icl.attention import softmax_attention
from icl.risk import optimal_window, population_risk
from icl.tasks import Linear, ReLU
from icl_book.statistics import FALSE_ALARM_RATE, t_interval

RNG = np.random.default_rng(0)
X = RNG.standard_normal((23, 3))
Y = np.sin(X[:, 0]) + 0.3 * RNG.standard_normal(23) + 5
Q = RNG.standard_normal((7, 3))


def slowly(tokens, labels, query, w):
    """The definition, in loops over numbers of Python."""
    top = max(sum(a * b for a, b in zip(token, query, strict=True)) for token in tokens)
    above, below = 0.0, 0.0
    for token, label in zip(tokens, labels, strict=True):
        score = sum(a * b for a, b in zip(token, query, strict=True))
        weight = math.exp(w * (score - top))
        above, below = above + weight * label, below + weight
    return above / below


def losses(tokens, labels, w):
    found = []
    for i in range(len(tokens)):
        others = [j for j in range(len(tokens)) if j != i]
        guess = slowly(tokens[others], labels[others], tokens[i], w)
        found.append((guess - labels[i]) ** 2)
    return found


def left_out(tokens, labels, w):
    return sum(losses(tokens, labels, w)) / len(tokens)


def test_predictions_are_those_of_loops_and_of_the_unit():
    for w in (0.0, 0.7, 30.0):
        found = icl.predict(X, Y, Q, w)
        wanted = [slowly(X, Y, query, w) for query in Q]
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        unit = softmax_attention(*map(torch.as_tensor, (X, Y, Q)), w * torch.eye(3).double())
        np.testing.assert_allclose(found, unit, rtol=1e-12)


def test_the_curve_is_that_of_loops_and_its_minimum_that_of_a_dense_scan():
    best = icl.best_window(X, Y)
    assert best.windows[0] == 0 and np.all(np.diff(best.windows) > 0)
    for w, risk in zip(best.windows, best.risks, strict=True):
        assert risk == pytest.approx(left_out(X, Y, w), rel=1e-9)
    dense = best.w * 2 ** np.linspace(-0.5, 0.5, 21)
    least = dense[np.argmin([left_out(X, Y, w) for w in dense])]
    assert best.edge == "" and best.w == pytest.approx(least, rel=0.04)


def linear_data(seed, n, dim, noise_std):
    rng = np.random.default_rng(seed)
    tokens = rng.standard_normal((n, dim))
    tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
    return tokens, tokens[:, 0] + noise_std * rng.standard_normal(n)


@pytest.mark.parametrize("seed", range(3))
def test_at_low_and_high_the_excess_is_one_standard_error(seed):
    tokens, labels = linear_data(seed, 60, 3, 0.3)
    best = icl.best_window(tokens, labels)
    assert 0 < best.low < best.w < best.high < best.windows[-1]
    least = np.array(losses(tokens, labels, best.w))
    for end in (best.low, best.high):
        for w in (end, 0.9 * end, 1.1 * end):
            excess = losses(tokens, labels, w) - least
            errors = excess.mean() / (excess.std(ddof=1) / math.sqrt(60))
            if w == end:
                assert errors == pytest.approx(1, rel=0.03)
            else:
                assert (errors < 1) == (best.low < w < best.high)


@pytest.mark.parametrize("n", [2, 5, 30, 400])
@pytest.mark.parametrize(("dim", "noise_std"), [(1, 0.5), (5, 0.0), (10, 5.0)])
def test_the_best_window_is_none_outside_low_and_high(n, dim, noise_std):
    tokens, labels = linear_data(n, n, dim, noise_std)
    for y in (labels, np.sign(labels), np.column_stack([labels, labels**2])):
        best = icl.best_window(tokens, y)
        assert 0 <= best.low <= best.w <= best.high <= best.windows[-1]
        assert (best.edge == "mean") == (best.w == 0)
        assert (best.edge == "nearest") == (0 < best.w == best.windows[-1])
        icl.predict(tokens, y, tokens[:2], best.high)


@pytest.mark.parametrize("n", [1600, pytest.param(10_000, marks=pytest.mark.slow)])
def test_with_many_tokens_low_and_high_are_near_the_window(n):
    best = icl.best_window(*linear_data(0, n, 10, 0.5))
    assert best.low < best.w < best.high < 1.5 * best.low


def test_the_exact_window_mostly_lies_between_low_and_high():
    """Asserted is a share of 0.9, with a false-alarm rate of 1e-5."""
    tokens, sets = 400, 100
    exact = optimal_window(Linear(5), tokens, 0.5).w
    ends = [icl.best_window(*linear_data(k, tokens, 5, 0.5)) for k in range(sets)]
    inside = sum(best.low <= exact <= best.high for best in ends)
    assert inside >= binom.ppf(FALSE_ALARM_RATE, sets, 0.9)


def test_tiles_do_not_change_the_numbers(monkeypatch):
    """With the second window the highest score rises from tile to tile."""
    whole = [icl.predict(X, Y, Q, w) for w in (2.0, 200.0)], icl.best_window(X, Y)
    monkeypatch.setattr("icl.data._TILE", 50)
    monkeypatch.setattr("icl.data._QUERIES", 2)
    monkeypatch.setattr("icl.data._MAX_MULTIPLICATIONS", 60)
    found = [icl.predict(X, Y, Q, w) for w in (2.0, 200.0)]
    np.testing.assert_allclose(found, whole[0], rtol=1e-13)
    np.testing.assert_allclose(icl.best_window(X, Y).risks, whole[1].risks, rtol=1e-11)


def test_threads_do_not_change_a_bit(monkeypatch):
    monkeypatch.setattr("icl.data._TILE", 50)
    monkeypatch.setattr("icl.data._QUERIES", 2)
    found = {}
    for threads in ("1", "3", "no number"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        found[threads] = icl.predict(X, Y, Q, 2.0), icl.best_window(X, Y).risks
    for predictions, risks in found.values():
        assert np.array_equal(predictions, found["1"][0])
        assert np.array_equal(risks, found["1"][1])


def test_several_columns_of_labels_add_up():
    both = np.column_stack([Y, 1000 * X[:, 1] ** 2])
    assert icl.predict(X, both, Q, 3.0).shape == (7, 2)
    assert icl.predict(X, both, Q[0], 3.0).shape == (2,)
    assert icl.predict(X, Y, Q[0], 3.0).shape == ()
    parts = [icl.best_window(X, both[:, k]).risks for k in range(2)]
    found = icl.best_window(X, both, same_unit=True).risks
    np.testing.assert_allclose(found, sum(parts), rtol=1e-10)
    relative = [part / column.var() for part, column in zip(parts, both.T, strict=True)]
    np.testing.assert_allclose(icl.best_window(X, both).risks, sum(relative), rtol=1e-10)


@pytest.mark.parametrize("units", [[1e-50, 1.0], [1.0, 1e50], [1e-50, 1e50], [-3.0, 7.0]])
def test_the_units_of_columns_of_labels_decide_nothing(units):
    both = np.column_stack([Y, X[:, 1] ** 2])
    one, other = icl.best_window(X, both), icl.best_window(X, both * units + np.multiply(units, 5))
    for name in ("w", "low", "high", "risks"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-9)


def test_a_constant_column_of_labels_counts_for_nothing():
    """Its mean is 1/3 up to rounding, which must not be divided by itself."""
    wider = np.column_stack([Y, np.full(23, 1 / 3), np.zeros(23)])
    np.testing.assert_allclose(
        icl.best_window(X, wider).risks, icl.best_window(X, Y).risks / Y.var(), rtol=1e-10
    )


@pytest.mark.parametrize(
    "names",
    [["a", "b", "c"], [0, 1, 2], [5, 7, 9], pd.MultiIndex.from_product([["a"], [0, 1, 2]])],
    ids=["text", "counted", "integers", "two levels"],
)
def test_columns_of_other_names_or_order_are_refused(names):
    frame = pd.DataFrame(X, columns=names)
    turned = frame.iloc[:, [1, 0, 2]]
    matrix = icl.best_matrix(frame, Y)
    for call in (
        lambda rows: icl.predict(frame, Y, rows, 1.0),
        lambda rows: icl.weights(frame, rows, 1.0),
        icl.Placement(frame),
        matrix,
        icl.SoftmaxAttentionRegressor().fit(frame, Y).predict,
        icl.SoftmaxAttentionClassifier().fit(frame, Y > 0).predict_proba,
    ):
        # where all are text, scikit-learn has words of its own
        with pytest.raises(
            ValueError, match=r"has the columns \[.*\]: must have those|feature names"
        ):
            call(turned)
        with warnings.catch_warnings():
            # of scikit-learn, that there are no names
            warnings.simplefilter("ignore")
            # such as an array, columns without names are in the order of X
            for rows in (X, pd.DataFrame(X)):
                np.testing.assert_array_equal(call(rows), call(frame))


@pytest.mark.parametrize("names", [["a", "b", "c"], [0, 1, 2], [5, 7, 9]])
def test_a_row_of_a_frame_has_its_columns_in_their_order(names):
    frame = pd.DataFrame(X, columns=names)
    row = frame.iloc[4]
    for call in (
        lambda rows: icl.predict(frame, Y, rows, 1.0),
        lambda rows: icl.weights(frame, rows, 1.0),
        icl.Placement(frame),
        icl.best_matrix(frame, Y),
    ):
        with pytest.raises(
            ValueError, match=r"has the columns \[.*\]: must have those of X in thei"
        ):
            call(row.iloc[[2, 1, 0]])
        for same in (row, pd.Series(X[4])):
            np.testing.assert_array_equal(call(same), call(X[4]))


@pytest.mark.parametrize(
    "kind",
    [
        np.ndarray.tolist,
        pd.DataFrame,
        torch.as_tensor,
        lambda a: torch.as_tensor(a).requires_grad_(),
        lambda a: torch.as_tensor(a).to_sparse(),
        np.asfortranarray,
        np.ma.masked_array,
        lambda a: np.ma.masked_array(a, mask=np.zeros(a.shape)),
        lambda a: list(np.ma.masked_array(a)),
    ],
)
def test_numpy_pandas_tensors_and_lists_give_the_same(kind):
    y = pd.Series(Y) if kind is pd.DataFrame else kind(Y)
    found = icl.predict(kind(X), y, kind(Q), 2.0)
    assert type(found) is np.ndarray and found.dtype == np.float64
    np.testing.assert_array_equal(found, icl.predict(X, Y, Q, 2.0))
    assert icl.best_window(kind(X), y).w == icl.best_window(X, Y).w


def test_what_no_window_can_see_changes_nothing():
    """A constant feature adds the same to all scores of a query, a constant label to all predictions."""
    wider = np.column_stack([X, np.full(23, 3.0)])
    found = icl.predict(wider, Y + 100, np.column_stack([Q, np.full(7, 3.0)]), 2.0)
    np.testing.assert_allclose(found - 100, icl.predict(X, Y, Q, 2.0), rtol=1e-11)


def test_edges_are_named():
    line = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    circle = np.column_stack([np.cos(line), np.sin(line)])
    steps = np.repeat([0.0, 1.0], 30)  # exact labels that jump twice
    assert icl.best_window(circle, np.tile([0.0, 1.0], 30)).edge == "mean"
    assert icl.best_window(circle, steps).edge == "nearest"
    assert icl.best_window(circle, np.cos(line)).w > 1
    same = icl.best_window(np.full((5, 2), 0.1), range(5))
    assert (same.w, same.edge, same.windows.tolist()) == (0.0, "mean", [0.0])
    assert same.risks[0] == pytest.approx(np.var(range(5)) * (5 / 4) ** 2)


@pytest.mark.parametrize("power", [-59, -30, -3, 3, 30, 59])
def test_scaling_the_tokens_scales_the_window(power):
    whole, s = icl.best_window(X, Y), 10.0**power
    wanted = icl.predict(X, Y, Q, whole.w)
    with np.errstate(all="raise"):
        small = icl.best_window(s * X, Y)
        found = icl.predict(s * X, Y, s * Q, small.w)
        for w in (small.low, small.high, *small.windows):
            icl.predict(s * X, Y, s * Q, w)
    for name in ("w", "low", "high", "windows"):
        there, here = getattr(small, name), getattr(whole, name)
        np.testing.assert_allclose(s * there * s, here, rtol=1e-9)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    np.testing.assert_allclose(small.risks, whole.risks, rtol=1e-9)
    assert small.edge == whole.edge


@pytest.mark.parametrize("power", [-59, 59])
def test_scaling_the_labels_leaves_the_window(power):
    with np.errstate(all="raise"):
        found = icl.best_window(X, Y * 10.0**power)
    assert found.w == pytest.approx(icl.best_window(X, Y).w, rel=1e-9)
    assert found.low < found.w < found.high


def test_tokens_that_rounding_can_hardly_tell_apart_are_taken():
    rng = np.random.default_rng(0)
    for _ in range(300):
        t = np.append(10 ** rng.uniform(-9, -6), np.zeros(rng.integers(2, 60)))
        icl.best_window(np.column_stack([1 + t, 1 - t]), rng.standard_normal(t.size))


def test_memory_does_not_grow_with_the_square_of_the_tokens():
    """All scores would be 26 MB, all differences 1.6 GB."""
    rng = np.random.default_rng(1)
    tokens, labels = rng.standard_normal((1797, 64)), rng.standard_normal(1797)
    tracemalloc.start()
    icl.best_window(tokens, labels)
    icl.predict(tokens, labels, tokens, 1.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12e6


@pytest.mark.slow
def test_leaving_one_out_has_the_exact_risk_in_the_mean():
    """Over data sets, the curve has the mean of the exact risk of one example less, plus the noise."""
    task, n, noise_std = ReLU(3, lipschitz=4.0), 100, 0.5
    rng = np.random.default_rng(2)
    differences = []
    for _ in range(100):
        tokens = rng.standard_normal((n, 3))
        tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
        f = task.sample(rng, 1)(torch.as_tensor(tokens)[None])[0].numpy()
        found = icl.best_window(tokens, f + noise_std * rng.standard_normal(n))
        at = [15, 18, 21]  # w of about 5, 14 and 40
        exact = population_risk(task, found.windows[at], n - 1, noise_std).total
        differences.append(found.risks[at] - noise_std**2 - exact)
    _, low, high = t_interval(np.transpose(differences))
    assert np.all((low < 0) & (high > 0)) and np.all(high - low < 0.12)


def test_data_of_ones_own_need_neither_torch_nor_scikit_learn():
    code = "import icl, sys; icl.best_window([[0., 1.], [1., 0.], [1., 1.]], [1, 2, 3])"
    code += "; print([m for m in ('torch', 'sklearn', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("largest", [31.0, 33.0, 299.0, 301.0, 5000.0])
def test_scores_that_are_all_high_or_all_low_give_the_same(largest, sign):
    """Two scores that differ by one, on either side of those whose exponentials are summed as they are."""
    for size in (1e-59, 1e-14, 1.0, 1e14, 1e59):
        tokens, labels, query = [[largest], [largest - 1]], [size, 3 * size], [float(sign)]
        wanted = size * (1 + 2 / (1 + np.exp(sign)))
        np.testing.assert_allclose(icl.predict(tokens, labels, query, 1.0), wanted, rtol=1e-13)


# ------------------------------------------------------------------------------------- a subset is left out
def test_of_many_labels_a_part_is_left_out(monkeypatch):
    whole = icl.best_window(X, Y)
    monkeypatch.setattr("icl.data._MAX_LEFT_OUT", 9)
    found = icl.best_window(X, Y)
    chosen = np.random.default_rng(0).permutation(23)[:9]
    for w, risk in zip(found.windows[:12], found.risks, strict=False):
        wanted = np.mean([losses(X, Y, w)[i] for i in chosen])
        assert risk == pytest.approx(wanted, rel=1e-9)
    assert np.array_equal(found.windows, whole.windows)


def test_with_many_labels_time_grows_with_the_tokens_alone(monkeypatch):
    """Time is counted in scores."""
    counted, scores = [], icl.data._scores

    def count(queries, tokens, *more):
        counted.append(len(queries) * len(tokens))
        return scores(queries, tokens, *more)

    monkeypatch.setattr(icl.data, "_scores", count)
    monkeypatch.setattr("icl.data._MAX_LEFT_OUT", 100)
    rng = np.random.default_rng(1)
    numbers = []
    for n in (500, 4000):
        counted.clear()
        tokens = rng.standard_normal((n, 3))
        icl.best_window(tokens, tokens[:, 0])
        numbers.append(sum(counted))
    assert numbers[1] == 8 * numbers[0]


@pytest.mark.parametrize("kind", ["array", "one column", "weights"])
@pytest.mark.parametrize("far", [1e3, 1e5, -999_999.0, 1e7, 1e12, 1e20])
def test_a_far_token_leaves_near_distances_their_digits(kind, far):
    """On the lifted sphere inner products hold distances down to 1e-8 of the farthest token only."""
    x = np.append(np.linspace(0, 1, 101), far)
    y = np.append(np.sin(6 * x[:-1]), 0)
    queries = np.array([0.25, 0.5, 0.803])
    if kind == "one column":
        tokens, places = x[:, None], queries[:, None]
    else:
        tokens, places = np.column_stack([x, -x]), np.column_stack([queries, -queries])
    omega = np.exp(-0.5 * (np.linalg.norm(tokens - places[:, None], axis=-1) / 0.02) ** 2)
    place = icl.Placement(tokens)
    w = (place.radius / 0.02) ** 2
    placed, asked = place(tokens), place(places)
    if kind == "weights":
        found = icl.weights(placed, asked, w) @ y
    else:
        found = icl.predict(placed, y, asked, w)
    # up to the stretch of distances along a radius, which falls with the square of far
    np.testing.assert_allclose(found, omega @ y / omega.sum(axis=1), rtol=1e-6)


def test_between_inner_products_and_distances_nothing_jumps():
    rng = np.random.default_rng(31)
    tokens = icl.Placement(X)(1e-4 * X)  # near the pole
    tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
    y, queries = rng.standard_normal(23), tokens[:5]
    for w in (0.999 * 2.0**30, 1.001 * 2.0**30):
        found = icl.predict(tokens, y, queries, w)
        scores = np.longdouble(w) * (queries.astype(np.longdouble) @ tokens.T.astype(np.longdouble))
        omega = np.exp(scores - scores.max(axis=1, keepdims=True))
        wanted = (omega @ y / omega.sum(axis=1)).astype(float)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_rows_that_differ_by_rounding_are_the_same():
    """Proportional rows have one direction up to rounding, which no window may tell apart."""
    rows = np.outer(np.random.default_rng(32).uniform(0.1, 1, 60), [0.3, 0.7])
    place = icl.Placement(np.vstack([rows, -rows]), "center")
    best = icl.best_window(place(np.vstack([rows, -rows])), np.repeat([0.0, 1.0], 60))
    assert best.windows[-1] < 1e3


def test_groups_are_left_out_together():
    """Rows that stand in the data twice no longer predict each other."""
    rng = np.random.default_rng(11)
    X = rng.standard_normal((40, 2))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = X[:, 0] + 0.5 * rng.standard_normal(40)
    twice, labels, group = np.repeat(X, 2, axis=0), np.repeat(y, 2), np.repeat(np.arange(40), 2)
    found, once = (
        icl.best_window(twice, labels, groups=[f"row {number}" for number in group]),
        icl.best_window(X, y),
    )
    # twice the rows are no more data, so that the range is no narrower
    for name in ("w", "low", "high"):
        assert getattr(found, name) == pytest.approx(getattr(once, name), rel=0.05)
    assert icl.best_window(twice, labels).edge == "nearest"
    for window, risk in zip(found.windows[:12], found.risks[:12], strict=True):
        losses = []
        for i in range(len(twice)):
            others = group != group[i]
            omega = np.exp(window * (twice[others] @ twice[i]))
            losses.append((omega @ labels[others] / omega.sum() - labels[i]) ** 2)
        assert risk == pytest.approx(np.mean(losses))


def test_labels_of_one_group_alone_cannot_be_left_out(monkeypatch):
    monkeypatch.setattr("icl.data._MAX_LEFT_OUT", 2)
    with pytest.raises(ValueError, match="groups has one group that holds all 2 labels that are"):
        icl.best_window(X, Y, groups=["most"] * 22 + ["last"])


def test_the_curve_is_drawn_in_one_call():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    rng = np.random.default_rng(12)
    X = rng.standard_normal((60, 2))
    found = icl.best_window(X, X[:, 0] + 0.5 * rng.standard_normal(60))
    ax = found.plot()
    assert found.plot(ax) is ax
    curve, star, *_ = ax.get_lines()
    np.testing.assert_array_equal(curve.get_xdata(), found.windows)
    np.testing.assert_allclose(curve.get_ydata(), found.risks / found.risks[0])
    assert star.get_xdata()[0] == found.w and curve.get_ydata().min() == star.get_ydata()[0]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("angles", [np.linspace(0, 6, 60), np.zeros(60)])
def test_a_window_of_zero_is_drawn_too(angles):
    """On a logarithmic axis the star of the mean would be lost, and tokens all alike have no other window."""
    pytest.importorskip("matplotlib").use("agg")
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    found = icl.best_window(circle, np.tile([0.0, 1.0], 30))
    ax = found.plot()
    assert found.w == ax.get_lines()[1].get_xdata()[0] == 0
    left, right = ax.transAxes.inverted().transform(ax.transData.transform([[0, 0], [1, 0]]))[:, 0]
    assert 0 <= left < right
