import numpy as np
import pytest

from icl_book.measurements import exact_risk


@pytest.mark.parametrize(
    ("kind", "d", "n"), [("affine", 2, 2), ("cosine", 3, 2), ("ReLU", 3, 3)]
)
def test_direct_rules_agree_unless_the_query_counts(kind, d, n):
    found = exact_risk.direct_over_exact(kind, d, n, 1.0, 0.3)
    off = np.abs(found["value"] - 1)
    assert (off[:, 0] <= found["error"][:, 0] + 1e-9).all() and (off[:, 1] > 1e-3).all()


def test_the_loss_splits_unless_the_noise_has_a_mean():
    exact, shifted = (
        exact_risk.split_gap("ReLU", 3, 1.0, 0.3, 0, shift)["value"]
        for shift in (0.0, 3.0)
    )
    assert exact < 1e-12 and shifted > 0.01
