"""The compiled recurrence is compiled once, and runs without numba's compiler."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import eval_legendre

import icl
from icl.tasks.gegenbauer import Polynomials

SCRIPT = """
import numpy as np
from icl.compiled import recurrence
from icl.tasks.gegenbauer import Polynomials

print(*Polynomials(3, np.array([0.3, 1.2])).take(5).ravel())
stats = getattr(recurrence.recur, "stats", None)
if stats is not None:
    print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def run(**environment):
    paths = {"PYTHONPATH": str(Path(icl.__file__).parents[1])}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | paths | environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()


def test_polynomials_of_three_dimensions_are_those_of_legendre():
    theta = np.array([1e-3, 0.3, 1.2, 3.0])
    rows = Polynomials(3, theta).take(40)
    for degree, row in enumerate(rows):
        exact = 1 - eval_legendre(degree, np.cos(theta))
        np.testing.assert_allclose(row, exact, rtol=1e-9, atol=1e-13)


@pytest.mark.slow
def test_a_second_process_compiles_nothing_and_none_has_to(tmp_path):
    first = run(NUMBA_CACHE_DIR=str(tmp_path))
    second = run(NUMBA_CACHE_DIR=str(tmp_path))
    (plain,) = run(NUMBA_DISABLE_JIT="1")
    assert first[1] == "0 1" and second[1] == "1 0"
    assert first[0] == second[0]
    numbers = [np.array(line.split(), dtype=float) for line in (first[0], plain)]
    np.testing.assert_allclose(*numbers, rtol=1e-12, atol=1e-15)
