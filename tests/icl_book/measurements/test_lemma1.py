import numpy as np

from icl.tasks import Affine, Cosine
from icl_book.measurements import lemma1

ROOT = np.diag([2.0, 0.5])
BEST = {"affine": 3.0, "ReLU": 5.0}


def test_units_of_the_claimed_form_have_no_difference_and_scale_one():
    inverse = np.linalg.inv(ROOT @ ROOT)
    M = np.stack([np.stack([w * inverse] * 2) for w in BEST.values()])
    found = lemma1.whitened([M], [ROOT], BEST)
    assert np.allclose(found.difference, 0) and np.allclose(found.scale, 1)
    assert (
        found.kind.tolist() == ["affine"] * 2 + ["ReLU"] * 2
        and found.seed.tolist() == [0, 1] * 2
    )
    # a unit that does not whiten has (4 - 1/4) / (17/8) more at the long axis
    plain = np.broadcast_to(np.eye(2), (2, 2, 2, 2))
    assert np.allclose(lemma1.whitened([plain], [ROOT], BEST).difference, 30 / 17)


def test_even_functions_do_not_see_the_sign_and_odd_parts_do():
    found = lemma1.both_signs(
        {"even": Cosine(3, 4.0), "odd": Affine(3, 2.0)}, 10, 0.3, 200, blocks=2
    )
    even, odd = found[found.label == "even"], found[found.label == "odd"]
    assert (even.gap < 1e-9).all() and np.allclose(even.ratio, 1)
    assert (odd.ratio > 1.1).all()
    assert (
        lemma1.both_signs({"even": Cosine(3, 4.0)}, 10, 0.3, 200, 2, odd=1.0).gap > 0.01
    ).all()
