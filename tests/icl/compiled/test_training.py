"""The loops that train units compute the weights of attention to the last digits."""

import numpy as np

from icl.compiled import training


def test_weights_have_all_digits_of_single_precision():
    s = -np.concatenate([np.geomspace(1e-8, 87, 100_001), [0.0]]).astype(np.float32)
    found = np.array([training._single_exp.py_func(one) for one in s[::50]])
    wanted = np.exp(s[::50].astype(float))
    assert np.abs(found / wanted - 1).max() < 4e-7
    far = training._single_exp.py_func(np.float32(-1e30))
    assert 0 < far < 2e-38
    with np.errstate(invalid="ignore"):
        assert np.isnan(training._single_exp.py_func(np.float32(np.nan)))
