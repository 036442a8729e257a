"""The estimator keeps scikit-learn's contract and predicts what the functions predict."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import estimator_checks_generator

import icl

CHECKS = [
    (estimator, check)
    for on_sphere in (True, False)
    for estimator, check in estimator_checks_generator(
        icl.SoftmaxAttentionRegressor(on_sphere=on_sphere)
    )
]


@pytest.mark.parametrize(
    ("estimator", "check"),
    CHECKS,
    ids=[getattr(check, "func", check).__name__ for _, check in CHECKS],
)
@pytest.mark.filterwarnings("ignore")
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def test_it_predicts_what_the_functions_predict():
    X, y = load_diabetes(return_X_y=True)
    placed = X - X.mean(axis=0)
    placed /= np.linalg.norm(placed, axis=1, keepdims=True)
    fitted = icl.SoftmaxAttentionRegressor().fit(X, y)
    assert fitted.w_ == pytest.approx(icl.best_window(placed, y).w)
    np.testing.assert_allclose(fitted.predict(X[:9]), icl.predict(placed, y, placed[:9], fitted.w_))
    raw = icl.SoftmaxAttentionRegressor(w=100.0, on_sphere=False).fit(X, y)
    np.testing.assert_allclose(raw.predict(X[:9]), icl.predict(X, y, X[:9], 100.0))
    assert raw.best_window_ is None
    assert fitted.get_params() == {"w": None, "on_sphere": True}
    assert cross_val_score(icl.SoftmaxAttentionRegressor(), X, y).mean() > 0.35


def test_wrong_parameters_are_refused():
    for wrong, message in (({"w": -1.0}, "w=-1.0"), ({"on_sphere": "no"}, "on_sphere")):
        with pytest.raises(ValueError, match=message):
            icl.SoftmaxAttentionRegressor(**wrong).fit(np.eye(2), [0.0, 1.0])


RNG = np.random.default_rng(0)
TOKENS = RNG.standard_normal((30, 3))
LABELS = TOKENS[:, 0] + 0.3 * RNG.standard_normal(30)


def fit(X, y, **parameters):
    return icl.SoftmaxAttentionRegressor(**parameters).fit(X, y)


def test_masked_entries_are_refused_before_scikit_learn_drops_the_mask():
    fitted = fit(TOKENS, LABELS)
    X, y = (np.ma.masked_array(a, mask=np.zeros(a.shape)) for a in (TOKENS, LABELS))
    assert fit(X, y).w_ == fitted.w_
    assert fitted.score(X, y) == fitted.score(TOKENS, LABELS)
    X[4, 1] = y[7] = np.ma.masked
    refused = [
        (lambda: fit(X, LABELS), r"X\[4, 1\] is masked"),
        (lambda: fit(TOKENS, y), r"y\[7\] is masked"),
        (lambda: fit(TOKENS, list(y)), r"y\[7\] is masked"),
        (lambda: fitted.predict(X), r"X\[4, 1\] is masked"),
        (lambda: fitted.score(X, LABELS), r"X\[4, 1\] is masked"),
        (lambda: fitted.score(TOKENS, y), r"y\[7\] is masked"),
        (lambda: fitted.score(TOKENS, LABELS, y), r"sample_weight\[7\] is masked"),
    ]
    for call, message in refused:
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("on_sphere", [True, False])
@pytest.mark.parametrize("w", [None, 2.0])
def test_the_callers_arrays_may_change_after_the_fit(on_sphere, w):
    X, y = TOKENS.copy(), LABELS.copy()
    fitted = fit(X, y, on_sphere=on_sphere, w=w)
    before = fitted.predict(TOKENS)
    X[:], y[:] = 0, 0
    fitted.set_params(on_sphere=not on_sphere)
    np.testing.assert_array_equal(fitted.predict(TOKENS), before)


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e-30, 1e30, 1e200, 3e307])
def test_on_the_sphere_the_unit_of_length_is_free(size):
    whole = fit(TOKENS, LABELS)
    with np.errstate(all="raise"):
        scaled = fit(TOKENS * size, LABELS)
        found = scaled.predict(TOKENS[:9] * size)
    assert scaled.w_ == pytest.approx(whole.w_, rel=1e-12)
    np.testing.assert_allclose(found, whole.predict(TOKENS[:9]), rtol=1e-11)
    np.testing.assert_allclose(scaled.center_ / size, whole.center_, rtol=1e-12)


def test_a_query_far_beyond_the_tokens_has_a_direction():
    wanted = fit(TOKENS, LABELS).predict(TOKENS[:9] * 1e100)
    for size in (1e-100, 1e300):
        found = fit(TOKENS * 1e-200, LABELS).predict(TOKENS[:9] * size)
        np.testing.assert_allclose(found, wanted, rtol=1e-11)


def test_what_predict_would_refuse_is_refused_by_fit():
    for size, message in (
        (1e200, r"X\[0, 0\]=.*e\+19\d: must be a finite number of size at most 1e\+70"),
        (1e-170, r"X has no entry above .*e-170 in size: must have one of 1e-7\d or"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(TOKENS * size, LABELS, on_sphere=False)
    with pytest.raises(ValueError, match=r"X\[0, 0\]=.*: must be a finite number of"):
        fit(TOKENS * 1e200, LABELS, on_sphere=False, w=1.0)
    with pytest.raises(ValueError, match=r"y\[0\]=.*: must be a finite number of size"):
        fit(TOKENS, LABELS * 1e200, w=1.0)
    with pytest.raises(ValueError, match=r"X\[0, 0\]=.*: must be a finite number of"):
        fit(TOKENS, LABELS, on_sphere=False).predict(TOKENS * 1e200)
    for w in (1e200, np.inf, np.nan):
        with pytest.raises(ValueError, match=r"w=.*: must be a finite number >= 0"):
            fit(TOKENS, LABELS, w=w)


def test_one_feature_has_no_sphere():
    """The sphere of one dimension is two points, so that only two values would be predicted."""
    with pytest.raises(ValueError, match="n_features = 1: must be 2 or more with on_s"):
        fit(TOKENS[:, :1], LABELS)
    found = fit(TOKENS[:, :1], LABELS, on_sphere=False).predict(TOKENS[:, :1])
    assert np.unique(found).size == 30


def test_without_scikit_learn_the_message_says_what_to_install():
    code = "import sys; sys.modules['sklearn'] = None; import icl; icl.predict; "
    code += "icl.SoftmaxAttentionRegressor"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip().endswith(
        "ImportError: SoftmaxAttentionRegressor needs scikit-learn: pip install scikit-learn"
    )
