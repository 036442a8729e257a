import numpy as np
import pandas as pd
import pytest

from icl_book.measurements import lemma1_covariance as lemma1


def entries(entry):
    """Two units on an ellipse with the eigenvalues 4 and 1/4, the longer axis first."""
    rows = [
        {
            "task": "affine",
            "seed": seed,
            "eigenvalue": eigenvalue,
            "entry": entry(eigenvalue),
            "lemma": 3.0 / eigenvalue,
        }
        for seed in (0, 1)
        for eigenvalue in (4.0, 0.25)
    ]
    return pd.DataFrame(rows)


def test_units_of_the_claimed_form_have_no_difference():
    found = lemma1.whitened_differences(entries(lambda eigenvalue: 3.0 / eigenvalue))
    assert found.columns.tolist() == ["task", "seed", "difference"]
    assert found.seed.tolist() == [0, 1] and np.allclose(found.difference, 0)


def test_a_unit_that_does_not_whiten_has_more_at_the_long_axis():
    found = lemma1.whitened_differences(entries(lambda eigenvalue: 1.0))
    assert np.allclose(found.difference, (4 - 1 / 4) / (17 / 8))


def test_predictions_agree_if_the_matrix_is_whitened_along_with_the_tokens():
    root = np.array([[1.5, 0.2], [0.2, 0.7]])
    assert lemma1.prediction_gap(root, context_length=8, whiten=True) < 1e-12
    assert lemma1.prediction_gap(root, context_length=8, whiten=False) > 0.1
    same = lemma1.prediction_gap(np.eye(2), context_length=8, whiten=False)
    assert same == pytest.approx(0, abs=1e-12)
