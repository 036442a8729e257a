"""Time and peak memory of a statement in a fresh process."""

import sys

import pandas as pd
import pytest

from icl_book import measure
from programs import program

MIB = 2**20
linux = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux can forget an earlier peak"
)


def costs(*jobs, prepare="pass", repeats=1):
    """Measure pairs of a statement and its set-up, the rows of a table."""
    frame = pd.DataFrame(
        jobs, columns=["what", "before"], index=range(len(jobs), 0, -1)
    )
    found = measure.table(frame, "{what}", "{before}", prepare, repeats)
    assert found[["what", "before"]].equals(frame)
    return found


@linux
def test_peak_is_of_the_statement_alone():
    """What the set-up took and gave back does not count, what the statement gave back does."""
    job = ("x = b'1' * (50 * 2**20); del x", "y = b'1' * (200 * 2**20); del y")
    (peak,) = costs(job).peak
    assert abs(peak - 50 * MIB) < 2 * MIB


@linux
def test_seconds_are_those_of_the_fastest_repetition():
    setup = "import time; ticks = iter([0, 4, 10, 12, 20, 23]); time.perf_counter = lambda: next(ticks)"
    assert costs(("pass", setup), repeats=3).seconds.tolist() == [2]


@pytest.mark.parametrize(
    ("job", "options", "error", "message"),
    [
        (("1 / 0", "pass"), {}, RuntimeError, "1 / 0: ZeroDivisionError"),
        (
            ("pass", "pass"),
            {"prepare": "import no_such_module"},
            ModuleNotFoundError,
            "no_such_module",
        ),
        (("pass", "pass"), {"repeats": 0}, ValueError, "repeats=0"),
        (
            (
                "pass",
                "from icl_book import measure as m; m.RESET = m.Path('/no/such/file')",
            ),
            {},
            RuntimeError,
            "/no/such/file cannot be written, so that no peak is measurable",
        ),
    ],
)
def test_failures_are_told(job, options, error, message):
    with pytest.raises(error, match=message):
        costs(job, **options)


@linux
def test_jobs_share_what_was_prepared_and_nothing_else_and_may_die_for_want_of_memory():
    prepare = "import os; from icl_book.measure import limit_memory\nheld = []"
    # beyond what is there
    limited = "kept = b'1' * (300 * 2**20); limit_memory(100 * 2**20)"
    jobs = [
        ("held.append(b'1' * (100 * 2**20))", "assert not held"),
        ("b'1' * (50 * 2**20)", f"assert not held; {limited}"),
        ("b'1' * (200 * 2**20)", limited),
        ("os.kill(os.getpid(), 9)", "pass"),
    ]
    found = costs(*jobs, prepare=prepare)
    first, second, *_ = found.peak
    assert abs(first - 100 * MIB) < 2 * MIB and abs(second - 50 * MIB) < 2 * MIB
    assert (
        found[["seconds", "peak"]].isna().to_numpy().tolist()
        == [[False, False]] * 2 + [[True, True]] * 2
    )


@linux
def test_a_script_without_a_guard_can_measure_and_is_run_once(tmp_path):
    (tmp_path / "chapter.py").write_text(
        "import pandas as pd\nfrom icl_book import measure\n"
        "print('run', len(measure.table(pd.DataFrame({'n': [1]}), 'pass', 'pass', 'pass')), bool(__file__))\n"
    )
    assert program(sys.executable, tmp_path / "chapter.py").stdout.splitlines() == [
        "run 1 True"
    ]
