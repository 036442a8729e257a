"""Time and peak memory of a statement in a fresh process."""

import sys

import pytest

from icl_book import measure

MIB = 2**20


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can forget an earlier peak")
def test_peak_is_of_the_statement_alone():
    """What the set-up took and gave back does not count, what the statement gave back does."""
    cost = measure.in_subprocess(
        "x = b'1' * (50 * 2**20); del x", "y = b'1' * (200 * 2**20); del y", repeats=1
    )
    assert abs(cost.peak_bytes - 50 * MIB) < 2 * MIB


def test_seconds_are_those_of_the_fastest_repetition():
    setup = "import time; waits = [0.2, 0.05, 0.2, 0.4]"  # taken from the end, the first not timed
    cost = measure.in_subprocess("time.sleep(waits.pop())", setup, repeats=3)
    assert 0.05 <= cost.seconds < 0.2


def test_failures_are_told():
    with pytest.raises(RuntimeError, match="1 / 0: ZeroDivisionError"):
        measure.in_subprocess("1 / 0")
    with pytest.raises(RuntimeError, match="killed by signal 9; out of memory"):
        measure.in_subprocess("import os; os.kill(os.getpid(), 9)")
    with pytest.raises(ValueError, match="repeats=0"):
        measure.in_subprocess("pass", repeats=0)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the limit counts what was there before")
def test_allowance_is_beyond_what_is_there():
    setup = "from icl_book import measure; kept = b'1' * (300 * 2**20); measure.limit_memory(100 * 2**20)"
    assert measure.in_subprocess("b'1' * (50 * 2**20)", setup, repeats=1).peak_bytes > 40 * MIB
    with pytest.raises(RuntimeError, match="MemoryError"):
        measure.in_subprocess("b'1' * (200 * 2**20)", setup, repeats=1)


def test_memory_total_is_plausible():
    assert 256 * MIB < measure.memory_total() < 2**50
