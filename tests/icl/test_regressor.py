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
    np.testing.assert_allclose(
        fitted.predict(X[:9]), icl.predict(placed, y, placed[:9], fitted.w_)
    )
    raw = icl.SoftmaxAttentionRegressor(w=100.0, on_sphere=False).fit(X, y)
    np.testing.assert_allclose(raw.predict(X[:9]), icl.predict(X, y, X[:9], 100.0))
    assert raw.best_window_ is None
    assert fitted.get_params() == {"w": None, "on_sphere": True}
    assert cross_val_score(icl.SoftmaxAttentionRegressor(), X, y).mean() > 0.35


def test_wrong_parameters_are_refused():
    for wrong, message in (({"w": -1.0}, "w=-1.0"), ({"on_sphere": "no"}, "on_sphere")):
        with pytest.raises(ValueError, match=message):
            icl.SoftmaxAttentionRegressor(**wrong).fit([[0.0], [1.0]], [0.0, 1.0])


def test_without_scikit_learn_the_message_says_what_to_install():
    code = "import sys; sys.modules['sklearn'] = None; import icl; icl.predict; "
    code += "icl.SoftmaxAttentionRegressor"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip().endswith(
        "ImportError: SoftmaxAttentionRegressor needs scikit-learn: pip install scikit-learn"
    )
