import numpy as np
import pandas as pd
import pytest
import torch
from scipy.optimize import minimize_scalar
from scipy.special import ive
from scipy.stats import ks_2samp

from icl.attention import softmax_attention
from icl.covariates import uniform_sphere
from icl.risk import asymptotics, optimal_window, population_risk
from icl.streams import stream
from icl.tasks import Affine, Cosine, Quadratic, ReLU
from icl_book.measurements import beyond
from icl_book.statistics import FALSE_ALARM_RATE

SMALL = {"seeds": 2, "steps": 60, "batch_size": 64, "learning_rate": 0.3}


def test_labels_have_the_declared_mean_and_variance():
    task = beyond.Labels(3, 2.0, 0.1)
    mean, noise_std = beyond.mean_of_labels(dim=3, lipschitz=2.0, flipped=0.1)
    x = uniform_sphere(stream(1, "evaluation"), 1, 4, 3)
    y = task.sample(stream(2, "evaluation"), 200_000)(x.expand(200_000, 4, 3))
    assert set(y.unique().tolist()) == {-1.0, 1.0}
    signal = (y[:, 0] * y[:, 1]).mean()  # for independent labels it is that of the means
    assert float(signal) == pytest.approx(
        float(mean.covariance(float(x[0, 0] @ x[0, 1]))), abs=0.01
    )
    assert noise_std**2 == pytest.approx(1 - float(mean.covariance(1.0)))


@pytest.mark.parametrize("lipschitz, flipped, square", [(4.0, 0.5 - 1e-9, 1.0), (20.0, 0.25, 0.75)])
def test_half_of_the_labels_flipped_leaves_no_signal(lipschitz, flipped, square):
    _, noise = beyond.mean_of_labels(dim=3, lipschitz=lipschitz, flipped=flipped)
    assert noise**2 == pytest.approx(square, abs=0.02)


def test_units_trained_with_cross_entropy_weight_near_examples():
    found = beyond.train_on_cross_entropy(dim=3, n=20, lipschitz_values=[8.0], flips=[0.0], **SMALL)
    assert (found.least > 0.3).all() and (found.ratio > 0.3).all()


def test_a_unit_behind_a_projection_ignores_the_rest():
    found = beyond.train_on_projections(lipschitz=3.0, noise_std=0.3, n=20, **SMALL)
    assert (found.outside < 0.5).all() and (found.window > 0.3).all()
    assert len(found) == 6


def test_a_unit_that_is_given_absolute_values_does_better():
    found = beyond.train_on_absolute_values(
        dim=3, lipschitz=6.0, noise_std=0.3, n=20, contexts=500, **SMALL
    )
    assert (found.ratio > 1.5).all()


def test_the_affine_bias_is_that_of_its_only_degree():
    w = np.geomspace(0.1, 100, 61)
    kept = ive(1.5, w) / ive(0.5, w)  # coth w - 1 / w
    slope = (np.diff(np.log((1 - kept) ** 2)) / np.diff(np.log(w))).max()
    found = beyond.bias_slopes(dims=[3]).set_index("task").slope
    assert found["affine"] == pytest.approx(slope, rel=1e-9)


def test_a_mixture_of_one_class_is_that_class_and_no_unit_beats_its_own():
    task, same = ReLU(3, 1.0), beyond.Mixture(3, (ReLU(3, 1.0),) * 2)
    assert optimal_window(same, 20, 0.5).w == pytest.approx(
        optimal_window(task, 20, 0.5).w, rel=1e-9
    )
    served = beyond.prices(dims=[3], n_values=[20], noise_stds=[0.1])
    own = served[served.start == served.task]
    assert own.price.to_numpy() == pytest.approx(1) and (served.price > 1 - 1e-12).all()
    classes = Affine(3, 1.0), ReLU(3, 1.0), Cosine(3)
    best = optimal_window(beyond.Mixture(3, classes), 20, 0.1)
    assert served[served.start == "mixture"].risk.mean() == pytest.approx(
        float(best.risk), rel=1e-9
    )


def test_units_trained_on_networks_find_the_window_of_the_relu_class():
    found = beyond.train_on_networks(
        dim=3,
        n=20,
        noise_std=0.5,
        lipschitz_values=[6.0],
        hidden_units=[4],
        **SMALL | {"steps": 200},
    )
    assert found.ratio.to_numpy() == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("flipped, w", [(0.0, 6.12), (0.2, 2.67)])
def test_the_page_says_which_window_to_expect(flipped, w):
    mean, noise_std = beyond.mean_of_labels(dim=3, lipschitz=4.0, flipped=flipped)
    best = optimal_window(mean, n=30, noise_std=noise_std)
    assert best.w == pytest.approx(w, abs=0.005)


def test_local_exponents_of_a_power_law_are_its_powers():
    grid = [(L, p) for L in (1.0, 2.0, 4.0) for p in (0.0, 0.1, 0.2)]
    rows = [
        {"n": 30, "lipschitz": L, "flipped": p, "w": L**2 / max(p, 0.05), "error": 0.01}
        for L, p in grid
    ]
    found = beyond.window_exponents(pd.DataFrame(rows))
    noise = found[found.varied == "noise"].value.to_numpy()
    steep = found[found.varied == "lipschitz"].value.to_numpy()
    assert noise == pytest.approx(np.full(3, 0.5))  # a step from p = 0 has no log
    assert steep == pytest.approx(np.full(6, -1.0))


def test_one_layer_is_a_kernel_and_two_are_not():
    found = beyond.train_models(
        dim=3, n=8, lipschitz=3.0, noise_std=0.3, contexts=200, **SMALL | {"steps": 3}
    ).set_index("model")
    assert (found.others["one layer"] == 0).all()
    assert (found.others["two layers"] > 0.01).all()
    assert (found.others["two layers, no residual"] > 0.01).all()


def test_a_layer_with_one_window_is_the_unit_of_the_package():
    x = uniform_sphere(stream(0, "evaluation"), 1, 5, 9, 3)
    y = x[..., 0]
    M = 2.0 * torch.eye(3, dtype=torch.float64)
    wanted = softmax_attention(x[..., :-1, :], y[..., :-1], x[..., -1, :], M)
    found = beyond.predict("one layer", {"M": M[None]}, x, y)
    assert torch.allclose(found, wanted)


def test_equal_weights_collapse_in_one_layer_and_no_layer_beats_its_bound():
    found = beyond.collapse(dim=3, windows=[0.0, 1.0, 30.0], layers=50, contexts=3, tokens=5)
    alone = found[found.model == "attention alone"]
    first = alone[alone.layer == 1].set_index("w").spread
    assert first[0.0] < 1e-12 and first[30.0] > 0.1
    largest = alone.groupby("w").factor.max()
    bound = alone.groupby("w").bound.first()
    assert bound.to_numpy() == pytest.approx([0, 1 - np.exp(-2), 1 - np.exp(-60)])
    assert (largest < bound + 1e-9).all()


@pytest.mark.parametrize("dim, limit", [(2, 0.3), (3, -0.5), (5, 0.6)])
def test_cap_has_the_law_of_uniform_covariates_that_are_far_enough(dim, limit):
    """The coordinates along and across the query agree with those of rejection sampling."""
    count = 40_000
    x = uniform_sphere(stream(0, "covariates"), count, 2, dim)
    u = stream(0, "evaluation").uniform(size=(count, 1))
    moved = beyond.restrict_to_cap(x, limit, u)
    assert torch.equal(moved[:, 1], x[:, 1])
    assert torch.allclose(moved.norm(dim=-1), torch.ones(count, 2, dtype=x.dtype))
    t, kept = (moved[:, 0] * x[:, 1]).sum(-1), (x[:, 0] * x[:, 1]).sum(-1)
    assert t.max() <= limit + 1e-12
    kept = kept[kept <= limit]
    assert ks_2samp(t.numpy(), kept.numpy()).pvalue > FALSE_ALARM_RATE
    # the direction orthogonal to the query is that of the uniform point
    rest, before = (v[:, 0] - (v[:, :1] * x[:, 1:]).sum(-1) * x[:, 1] for v in (moved, x))
    scale = rest.norm(dim=-1, keepdim=True) / before.norm(dim=-1, keepdim=True)
    assert torch.allclose(rest, scale * before, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "length, size, u, said",
    [
        (2.0, 5, 1.0, "x: must be unit vectors"),
        (1.0, 6, 1.0, r"u \(5, 6\): must be"),
        (1.0, 5, 2.0, "u="),
    ],
)
def test_points_that_are_not_on_the_sphere_are_refused(length, size, u, said):
    x = length * uniform_sphere(stream(0, "covariates"), 5, 6, 3)
    with pytest.raises(ValueError, match=said):
        beyond.restrict_to_cap(x, 0.5, np.full((5, size), u))


MANY = [Affine(2), ReLU(2), ReLU(5), Cosine(3, 4.0), Quadratic(5), Affine(16), ReLU(16)]


@pytest.mark.parametrize("task", MANY, ids=str)
@pytest.mark.parametrize("w", [0.3, 30.0, 1e5])
def test_many_tokens_against_the_exact_risk(task, w):
    """With 1e12 tokens in the window only the variance of f in it remains, of relative order w / 1e12."""
    n = np.round(1e12 * asymptotics.effective_fraction(task.dim, w))
    exact = population_risk(task, w, n, 0.5)
    assert beyond.bias_limit(task, w) == pytest.approx(exact.bias, rel=1e-11 * (1 + w))
    assert 0.25 / 1e12 == pytest.approx(exact.noise, rel=1e-10)


@pytest.mark.parametrize("task", MANY[::2], ids=str)
def test_the_window_of_many_tokens(task):
    """It agrees with the exact window, and with the law at windows that the exact risk does not reach."""
    n = asymptotics.sharp_context(task, [1e4, 1e5], 0.5)
    assert asymptotics.sharp_window(task, n, 0.5) == pytest.approx([1e4, 1e5], rel=1e-9)
    assert np.all(n == np.round(n))

    def risk(w, length):
        noise = 0.25 * asymptotics.effective_fraction(task.dim, w) / length
        return beyond.bias_limit(task, w) + noise

    def of_many_tokens(length, near):
        least = minimize_scalar(
            lambda v: risk(np.exp(v), length),
            bounds=(np.log(near / 2), np.log(2 * near)),
            method="bounded",
            options={"xatol": 1e-9},
        )
        return np.exp(least.x)

    exact = optimal_window(task, n, 0.5).w
    many = [of_many_tokens(*pair) for pair in zip(n, exact, strict=True)]
    assert many == pytest.approx(exact, rel=3e-5)
    far = asymptotics.sharp_context(task, 2e6, 0.5)
    assert of_many_tokens(far, 2e6) == pytest.approx(2e6, rel=1.3e-3)


def test_many_tokens_in_many_dimensions():
    for task in (Affine(1000), ReLU(10**4)):
        for w in (1e-9, 2.0):
            exact = population_risk(task, w, 10**12, 0.1)
            assert beyond.bias_limit(task, w) == pytest.approx(exact.bias, rel=1e-6)
