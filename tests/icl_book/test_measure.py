"""Time and peak memory of a statement in a fresh process."""

import math
import subprocess
import sys

import pandas as pd
import pytest

from icl_book import measure

MIB = 2**20


def costs(*jobs, prepare="pass", repeats=1):
    """Measure pairs of a statement and its set-up, the rows of a table."""
    frame = pd.DataFrame(jobs, columns=["what", "before"])
    return measure.table(frame, "{what}", "{before}", prepare, repeats)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can forget an earlier peak")
def test_peak_is_of_the_statement_alone():
    """What the set-up took and gave back does not count, what the statement gave back does."""
    job = ("x = b'1' * (50 * 2**20); del x", "y = b'1' * (200 * 2**20); del y")
    (peak,) = costs(job).peak
    assert abs(peak - 50 * MIB) < 2 * MIB


def test_a_peak_that_cannot_be_reset_is_not_reported():
    setup = "from icl_book import measure as m; m.RESET = m.Path('/no/such/file')"
    with pytest.raises(RuntimeError, match="/no/such/file cannot be written, so that no peak is measurable"):
        costs(("x = b'1' * 2**20", setup))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can forget an earlier peak")
def test_seconds_are_those_of_the_fastest_repetition():
    setup = "import time; ticks = iter([0, 4, 10, 12, 20, 23]); time.perf_counter = lambda: next(ticks)"
    assert costs(("pass", setup), repeats=3).seconds[0] == 2


def test_failures_are_told():
    with pytest.raises(RuntimeError, match="1 / 0: ZeroDivisionError"):
        costs(("1 / 0", "pass"))
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        costs(("pass", "pass"), prepare="import no_such_module")
    with pytest.raises(ValueError, match="repeats=0"):
        costs(("pass", "pass"), repeats=0)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can forget an earlier peak")
def test_jobs_share_what_was_prepared_and_nothing_else_and_may_die_for_want_of_memory():
    prepare = "import os; from icl_book.measure import limit_memory\nheld = []"
    limited = "kept = b'1' * (300 * 2**20); limit_memory(100 * 2**20)"  # beyond what is there
    jobs = [
        ("held.append(b'1' * (100 * 2**20))", "assert not held"),
        ("b'1' * (50 * 2**20)", f"assert not held; {limited}"),
        ("b'1' * (200 * 2**20)", limited),
        ("os.kill(os.getpid(), 9)", "pass"),
    ]
    first, second, *died = costs(*jobs, prepare=prepare).peak
    assert abs(first - 100 * MIB) < 2 * MIB and abs(second - 50 * MIB) < 2 * MIB
    assert len(died) == 2 and all(map(math.isnan, died))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can forget an earlier peak")
def test_a_script_without_a_guard_can_measure_and_is_run_once(tmp_path):
    script = tmp_path / "chapter.py"
    script.write_text(
        "import pandas as pd\nfrom icl_book import measure\n"
        "print('run', len(measure.table(pd.DataFrame({'n': [1]}), 'pass', 'pass', 'pass')), bool(__file__))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["run 1 True"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can forget an earlier peak")
def test_a_table_of_settings_is_measured_row_by_row():
    settings = pd.DataFrame({"mib": [50, 500], "limit": [2**30, 100 * 2**20]}, index=[3, 1])
    setup = "kept = b'1' * (300 * 2**20); limit_memory({limit})"
    prepare = "from icl_book.measure import limit_memory"
    found = measure.table(settings, "b'1' * ({mib} * 2**20)", setup, prepare)
    assert found.index.tolist() == [3, 1] and found.mib.tolist() == [50, 500]
    assert abs(found.peak[3] - 50 * MIB) < 2 * MIB and found.seconds[3] > 0
    assert found.loc[1, ["seconds", "peak"]].isna().all()
