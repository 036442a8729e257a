"""A loop is compiled once, and runs without numba's compiler."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import icl
from icl.compiled import batches, normal, polynomials, training

SCRIPT = """
from icl.compiled import normal

print(*normal.normal(5, 16))
stats = getattr(normal.normal, "stats", None)
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


@pytest.mark.slow
def test_a_second_process_compiles_nothing_and_compiling_is_optional(tmp_path):
    first = run(NUMBA_CACHE_DIR=str(tmp_path))
    second = run(NUMBA_CACHE_DIR=str(tmp_path))
    (plain,) = run(NUMBA_DISABLE_JIT="1")
    assert first[1] == "0 1" and second[1] == "1 0"
    assert first[0] == second[0]
    numbers = [np.array(line.split(), dtype=float) for line in (first[0], plain)]
    np.testing.assert_allclose(*numbers, rtol=0, atol=3e-6)


@pytest.mark.parametrize(
    "loops, count", [(batches, 2), (normal, 1), (polynomials, 1), (training, 1)]
)
def test_a_loop_and_the_functions_it_calls_are_in_one_file(loops, count):
    """numba uses a compiled loop as long as the file of the loop has not changed."""
    found = {value for value in vars(loops).values() if isinstance(value, Dispatcher)}
    assert {one.__module__ for one in found} == {loops.__name__}
    kept = {one for one in found if one.targetoptions.get("inline") != "always"}
    assert len(kept) == count
