"""The whole path, run for real: a small book in a copy of the tree."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from icl_book.provenance import ROOT
from icl_book.runner.execute import collect

TINY = ROOT / "tests" / "data" / "tiny.py"
HANGING = 3600  # seconds after which whatever is waited for will not come: no machine is that slow
TOC = "format: jb-book\nroot: book/introduction\nchapters:\n- file: notebooks/tiny\n- file: notebooks/other\n"


def until(condition):
    """Wait for something that happens in another process."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < HANGING
        time.sleep(0.1)


def gone(process):
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


class Copy:
    """A copy of the tree, in a path with a space, whose book has two small notebooks."""

    def __init__(self, root: Path):
        self.root = root
        for name in ("icl", "book", "profiles"):
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("Snakefile", "_config.yml", "requirements.lock", "pyproject.toml"):
            shutil.copy(ROOT / name, root)
        for page in (root / "book").glob("*.md"):
            page.unlink()
        (root / "book" / "introduction.md").write_text(
            "# A small book\n\nSee the notebooks {cite:p}`collins2024`.\n\n```{bibliography}\n```\n"
        )
        (root / "_toc.yml").write_text(TOC)
        (root / "notebooks").mkdir()
        tiny = TINY.read_text()
        (root / "notebooks" / "tiny.py").write_text(tiny)
        begin, end = tiny.index("# %%\nclaim = "), tiny.index("# %%\nnotebook.footer")
        (root / "notebooks" / "other.py").write_text((tiny[:begin] + tiny[end:]).replace("# Tiny", "# Other"))
        (root / "presets").mkdir()
        self.preset()
        self.environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), str(root / "book")])}
        self.environment.pop("MPLBACKEND", None)
        registry = (
            "from icl_book.claims.claim import Claim\nCLAIMS = [Claim('X', 'here', '$1 > 0$', "
            "quantity='one', rule=lambda p: (0, 2), control='c')]\n"
        )
        (root / "book" / "icl_book" / "claims" / "paper1" / "__init__.py").write_text(registry)
        (root / "book" / "icl_book" / "claims" / "paper2" / "__init__.py").write_text("CLAIMS = []\n")

    def preset(self, tiny="{}"):
        (self.root / "presets" / "quick.yml").write_text(f"tiny: {tiny}\nother: {{}}\n")

    def edit(self, path: str, old: str, new: str):
        file = self.root / path
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    def start(self, *words, **options):
        return subprocess.Popen(
            [sys.executable, "-m", "icl_book", *words],
            cwd=self.root,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self.environment,
            **options,
        )

    def run(self, *words):
        process = self.start(*words)
        said, _ = process.communicate(timeout=HANGING)
        return process.returncode, said

    def asleep(self):
        """Wait until the notebook tiny sleeps; returns its kernel."""
        file = self.root / "notebooks" / "asleep"
        until(lambda: file.is_file() and file.read_text())
        kernel = psutil.Process(int(file.read_text()))
        file.unlink()
        return kernel

    @contextmanager
    def awake(self):
        """Let the notebook tiny not sleep."""
        file = self.root / "notebooks" / "awake"
        file.touch()
        yield
        for left in (file, file.with_name("asleep")):
            left.unlink(missing_ok=True)

    def done(self, name, folder="quick"):
        found = (self.root / "_build" / "runs" / folder).glob(f"{name}.*.ipynb")
        return {p for p in found if "failed" not in p.name}

    def page(self, name="tiny"):
        return (self.root / "_build" / "book" / "quick" / "notebooks" / f"{name}.html").read_text()


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    return Copy(tmp_path_factory.mktemp("a tree with spaces") / "in its path")


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
    copy.edit("book/introduction.md", "A small book", "A short book")
    status, said = copy.run("book", "--jobs", "1")
    assert status == 0 and "2 to do" in said, said
    assert said.index("tiny: started") < said.index("tiny: done") < said.index("other: started"), (
        "notebooks start in the order of the preset"
    )
    assert "A short book" in copy.page("../book/introduction")
    for name in ("tiny", "other"):
        assert "constant is 3e-05" in copy.page(name) and "1e-05" not in copy.page(name)
    copy.edit("notebooks/other.py", "constant is", "the number is")
    status, said = copy.run("book")
    assert status == 0 and "1 to do" in said and "tiny: started" not in said, "only the edited one runs again"
    assert "the number is 3e-05" in copy.page("other")
    copy.edit("notebooks/other.py", "the number is", "constant is")
    copy.edit("icl/statistics.py", "FALSE_ALARM_RATE = 3e-5", "FALSE_ALARM_RATE = 1e-5")
    status, said = copy.run("book")
    assert status == 0 and "0 to do" in said, "reverting an edit runs nothing again"
    assert first <= copy.done("tiny") | copy.done("other")
    assert "constant is 1e-05" in copy.page()


@pytest.mark.parametrize(
    "seed, expected",
    [(8, "cell 7: RuntimeError: planted failure"), (7, "X: fails as printed, expected holds")],
)
def test_a_failure_names_its_cell_keeps_the_last_good_book_and_is_tried_again(built, seed, expected):
    copy, _ = built
    good, page = copy.done("tiny"), copy.page()
    copy.preset(f"{{seed: {seed}}}")
    for _ in range(2 if seed == 8 else 1):
        status, said = copy.run("book")
        (line,) = [x for x in said.splitlines() if x.startswith("error")]
        assert status != 0 and "tiny: failed after" in line and expected in line and "Traceback" not in said
        assert "1 to do" in said and "FAILED" in said
        assert copy.done("tiny") == good and copy.page() == page
    (failed,) = (copy.root / "_build" / "runs" / "quick").glob("tiny.*.failed.ipynb")
    assert json.loads(failed.read_text())["metadata"]["icl"]["parameters"]["seed"] == seed
    copy.preset()
    status, said = copy.run("book")
    assert status == 0 and "0 to do" in said
    failed.unlink()


@pytest.mark.parametrize(
    "i, whom, how",
    [
        (1, "all", signal.SIGKILL),
        (2, "all", signal.SIGINT),
        (3, "runner", signal.SIGKILL),
        (4, "runner", signal.SIGTERM),
        (5, "snakemake", signal.SIGKILL),
        (6, "server", signal.SIGKILL),
    ],
)
def test_a_killed_sweep_ends_its_runs_and_leaves_nothing_behind_that_needs_a_hand(built, i, whom, how):
    copy, _ = built
    sweep = ("sweep", "tiny", "--grid", f"seed=9 noise_std=0.{i}")
    process = copy.start(*sweep, start_new_session=True)
    kernel, runner = copy.asleep(), psutil.Process(process.pid)
    server = kernel.parent()
    (snakemake,) = set(runner.children()) - {server}
    if whom == "all":
        os.killpg(process.pid, how)
    else:
        {"runner": runner, "snakemake": snakemake, "server": server}[whom].send_signal(how)
    assert process.wait(timeout=HANGING) != 0
    process.stdout.close()
    until(lambda: gone(kernel) and gone(server))
    with copy.awake():
        status, said = copy.run(*sweep)
    assert status == 0 and "[1 of 1] tiny: done" in said, said


def test_a_second_book_waits_for_the_first_and_a_sweep_of_another_notebook_does_not(built):
    copy, _ = built
    copy.preset("{seed: 9}")
    first = copy.start("book")
    copy.asleep()
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
    assert copy.run("book")[0] == 0


def test_a_sweep_is_apart_from_the_book_and_resumes(built):
    copy, _ = built
    book, before = copy.done("tiny"), copy.done("tiny", "quick/sweep")
    status, said = copy.run("sweep", "tiny", "--grid", "noise_std=0.5,1.5 seed=0,7", "--jobs", "2")
    assert status == 0 and "4 runs, 3 to do" in said, "the preset's own point is done already"
    assert "X: fails as printed, expected holds" in said, "exploring reports a surprise and does not fail"
    new = copy.done("tiny", "quick/sweep") - before
    assert len(new) == 3 and copy.done("tiny") == book
    status, said = copy.run("sweep", "tiny", "--grid", "noise_std=0.5,1.5 seed=0,7")
    assert status == 0 and "0 to do" in said
    found = [collect(p)["parameters"]["noise_std"] for p in new]
    assert sorted(found) == [0.5, 1.5, 1.5]


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
