"""The whole path, run for real: a small book in a copy of the tree."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from smallbook import HANGING, Copy


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    with Copy(tmp_path_factory.mktemp("a tree with spaces") / "in its path").kernels() as copy:
        yield copy


@pytest.fixture(scope="module")
def built(copy):
    status, said = copy.run("book")
    assert status == 0, said
    return copy, said


def test_progress_says_which_of_how_many_and_where_the_book_is(built):
    copy, said = built
    assert "quick: 2 runs, 2 to do" in said
    for i, name in ((1, "tiny"), (2, "other")):
        assert f"[{i} of 2] {name}: started" in said and f"[{i} of 2] {name}: done in" in said
    assert str(Path("_build", "book", "quick", "index.html")) in said
    assert "constant is 1e-05" in copy.page() and "constant is 1e-05" in copy.page("other")


def test_with_nothing_changed_nothing_runs_and_no_file_changes(built):
    copy, _ = built

    def state():
        files = [p for p in (copy.root / "_build").rglob("*") if p.is_file() and ".lock" not in p.name]
        return {p: p.stat().st_mtime_ns for p in files}

    before = state()
    status, said = copy.run("book")
    assert status == 0 and "0 to do" in said and "started" not in said
    assert "nothing has changed" in said and "staging" not in said
    assert len(before) > 10 and state() == before


def test_no_stale_number_survives_an_edit_of_the_package_or_of_a_notebook(built):
    copy, _ = built
    first = copy.done("tiny") | copy.done("other")
    copy.edit("icl/statistics.py", "FALSE_ALARM_RATE = 1e-5", "FALSE_ALARM_RATE = 3e-5")
    copy.log()  # the rules call it
    copy.edit("book/introduction.md", "A small book", "A short book")
    status, said = copy.run("book", "--jobs", "1", alone=True)
    assert status == 0 and "2 to do" in said, said
    assert said.index("tiny: started") < said.index("tiny: done") < said.index("other: started"), (
        "notebooks start in the order of the preset"
    )
    assert "A short book" in copy.page("../book/introduction")
    for name in ("tiny", "other"):
        assert "constant is 3e-05" in copy.page(name) and "1e-05" not in copy.page(name)
    copy.edit("icl/statistics.py", "FALSE_ALARM_RATE = 3e-5", "FALSE_ALARM_RATE = 1e-5")
    copy.log()
    copy.edit("notebooks/other.py", "constant is", "the number is")
    status, said = copy.run("book")
    assert status == 0 and "1 to do" in said and "tiny: started" not in said, (
        "reverting an edit runs nothing again, and only what was edited runs"
    )
    assert first <= copy.done("tiny") | copy.done("other")
    assert "constant is 1e-05" in copy.page() and "the number is 1e-05" in copy.page("other")


@pytest.mark.parametrize(
    "seed, expected", [(8, "cell 7: RuntimeError: planted failure"), (7, "X: refuted, expected established")]
)
def test_a_failure_names_its_cell_keeps_the_last_good_book_and_is_tried_again(built, seed, expected):
    copy, _ = built
    good, page = copy.done("tiny"), copy.page()
    copy.preset(f"{{seed: {seed}}}")
    for _ in range(2 if seed == 8 else 1):
        status, said = copy.run("book")
        (line,) = [x for x in said.splitlines() if x.startswith("error")]
        assert status != 0 and "tiny: failed after" in line and expected in line and "Traceback" not in said
        last = said.splitlines()[-1]
        assert "1 to do" in said and last.startswith("FAILED") and f"tiny: {expected}" in last
        assert copy.done("tiny") == good and copy.page() == page
    (failed,) = (copy.root / "_build" / "runs" / "quick").glob("tiny.*.failed.ipynb")
    assert json.loads(failed.read_text())["metadata"]["icl"]["parameters"]["seed"] == seed
    copy.preset()
    status, said = copy.run("book")
    assert status == 0 and "0 to do" in said
    failed.unlink()


FIGURE = """# %% mystnb={"figure": {"caption": "A line from zero to one", "name": "fig-line"}}
import matplotlib.pyplot as plt

plt.plot([0, 1])
plt.show()

"""


def test_a_figure_without_alt_text_fails_the_build_and_the_last_good_book_stays(built):
    copy, _ = built
    page, end = copy.page("other"), "# %%\nnotebook.footer"
    copy.edit("notebooks/other.py", end, FIGURE + end)
    status, said = copy.run("book")
    problems = [line for line in said.splitlines() if line.startswith("notebooks/")]
    assert status != 0 and "[1 of 1] other: done" in said and len(problems) == 1, said
    assert re.match(r"notebooks/other: image \S+ has no alt text", problems[0])
    assert copy.page("other") == page and (copy.root / "_build/book/quick/index.html").is_file()
    copy.edit("notebooks/other.py", FIGURE + end, end)


def test_plain_papermill_takes_parameters_and_the_notebook_checks_them(built):
    copy, _ = built
    status, said = copy.run("sync")
    assert status == 0 and "wrote notebooks/tiny.ipynb" in said
    for name, expected in (("noise_std", None), ("nois_std", "unknown parameter nois_std=0.25: this note")):
        done = subprocess.run(
            [sys.executable, "-m", "papermill", "notebooks/tiny.ipynb", "out.ipynb", "-p", name, "0.25"],
            cwd=copy.root,
            capture_output=True,
            text=True,
            check=False,
            env=copy.environment,
        )
        assert (done.returncode == 0) == (expected is None), done.stderr[-2000:]
        assert expected is None or expected in done.stderr


def test_a_second_book_waits_for_the_first_and_a_sweep_of_another_notebook_does_not(built):
    copy, _ = built
    copy.preset("{seed: 9}")
    first = copy.start("book")
    copy.asleep(first)
    second = copy.start("book")
    waits = f"waiting for process {first.pid}, which does the same: book-quick\n"
    assert second.stdout.readline() == waits
    status, said = copy.run("sweep", "other", "--grid", "seed=5")
    assert status == 0 and "[1 of 1] other: done" in said and "waiting" not in said
    assert first.poll() is None and second.poll() is None
    with copy.awake():
        said = [process.communicate(timeout=HANGING)[0] for process in (first, second)]
    assert first.returncode == 0 and "1 to do" in said[0], said[0]
    assert second.returncode == 0 and "0 to do" in said[1] and "nothing has changed" in said[1], said[1]
    assert "constant is 1e-05" in copy.page()
    copy.preset()


def test_the_box_of_numbers_is_on_the_page(built):
    copy, _ = built
    page = copy.page()
    assert "icl-numbers" in page and ">rate<" in re.sub(r"</?span[^>]*>", "", page)
