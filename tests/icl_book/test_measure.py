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


def test_a_peak_that_cannot_be_reset_is_not_reported():
    setup = "import __main__, pathlib; __main__.RESET = pathlib.Path('/no/such/file')"
    with pytest.raises(RuntimeError, match="/no/such/file cannot be written, so that no peak is measurable"):
        measure.in_subprocesses([("x = b'1' * 2**20", setup)])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can forget an earlier peak")
def test_seconds_are_those_of_the_fastest_repetition():
    setup = "import time; ticks = iter([0, 4, 10, 12, 20, 23]); time.perf_counter = lambda: next(ticks)"
    assert measure.in_subprocess("pass", setup, repeats=3).seconds == 2


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


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can forget an earlier peak")
def test_jobs_share_what_was_prepared_and_nothing_else():
    prepare = "from icl_book.measure import limit_memory\nheld = []"
    jobs = [
        ("held.append(b'1' * (100 * 2**20))", "assert not held"),
        ("b'1' * (50 * 2**20)", "assert not held"),
        ("b'1' * (200 * 2**20)", "limit_memory(100 * 2**20)"),
    ]
    first, second, third = measure.in_subprocesses(jobs, prepare, repeats=1)
    assert abs(first.peak_bytes - 100 * MIB) < 2 * MIB and abs(second.peak_bytes - 50 * MIB) < 2 * MIB
    assert third is None
    with pytest.raises(RuntimeError, match="1 / 0: ZeroDivisionError"):
        measure.in_subprocesses([("1 / 0", "pass")])
    with pytest.raises(RuntimeError, match="measuring: ModuleNotFoundError"):
        measure.in_subprocesses([("pass", "pass")], "import no_such_module")


def test_memory_total_is_plausible():
    assert 256 * MIB < measure.memory_total() < 2**50
