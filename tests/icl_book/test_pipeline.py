"""The whole pipeline on a small book in a copy of the tree: runs are killed, shared and resumed."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pandas as pd
import psutil
import pytest

from icl_book import claims
from icl_book.claims import claim
from icl_book.provenance import CARD_MIME, FOOTER_MIME, ROOT
from icl_book.runner.record import collect, list_outputs, read_json
from programs import PASSING, program

TINY = ROOT / "tests" / "data" / "tiny.py"
HANGING = 600  # seconds after which a test stops waiting
#: Files of the book of the copy, beside its two notebooks.
SMALL = {
    "_toc.yml": "format: jb-book\nroot: book/introduction\n"
    "parts:\n- caption: Both\n  chapters:\n  - file: notebooks/tiny\n  - file: notebooks/other\n"
    "  - file: book/audit\n",
    "book/audit.md": "(audit-how)=\n# An audit, to which cards link\n",
    "book/introduction.md": "# A small book\n\nSee [Collins](cite:collins2024).\n\n"
    "```{bibliography}\n:all:\n```\n",
    "book/claims/paper3.yml": "X: {title: One, source: here, reading: $1 > 0$, quantity: one, "
    "result: 'one is {}', grade: proved here, control: c, rule: {at_least: 0, at_most: 2}}\n",
}


def until(condition, tell=lambda: None):
    """Wait for something that happens in another process; ``tell`` explains a failure."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < HANGING, tell()
        time.sleep(0.1)


class Copy:
    """A copy of the tree, in a path with blanks and braces, whose book has two small notebooks.

    Around it are settings of a user that must not count: a kernel ``python3`` that ends at once, and a style
    of figures.
    """

    def __init__(self, root: Path):
        self.root = root
        for name in ("icl", "book", "profiles", "benchmarks/results"):
            ignored = shutil.ignore_patterns("*.md", "paper?.yml", *PASSING)
            shutil.copytree(ROOT / name, root / name, symlinks=True, ignore=ignored)
        for name in ("notebooks", "presets", "results"):
            (root / name).mkdir()
        files = "Snakefile _config.yml CITATION.cff requirements.lock pyproject.toml"
        for name in (*files.split(), "results/replication.csv"):
            shutil.copy(ROOT / name, root / name)
        for name, text in SMALL.items():
            (root / name).write_text(text)
        tiny = TINY.read_text()
        begin, end = tiny.index("# %%\none, minus"), tiny.index("# %%\nnotebook.footer")
        (root / "notebooks" / "tiny.py").write_text(tiny)
        (root / "notebooks" / "other.py").write_text(
            (tiny[:begin] + tiny[end:]).replace("# Tiny", "# Other")
        )
        self.environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(root), str(root / "book")])
        }
        self.environment.pop("MPLBACKEND", None)
        self.temporary = tempfile.TemporaryDirectory()  # sockets need a short path
        self.environment["TMPDIR"] = self.temporary.name
        (root / ".venv").mkdir()
        for part in ("bin", "lib", "pyvenv.cfg"):
            (root / ".venv" / part).symlink_to(Path(sys.prefix, part))
        theirs = root.parent / "of the user"
        kernel = theirs / "kernels" / "python3" / "kernel.json"
        kernel.parent.mkdir(parents=True)
        kernel.write_text('{"argv": ["false"], "display_name": "Another", "language": "python"}')
        (theirs / "matplotlibrc").write_text("font.size: 40\nno.such: setting\n")
        self.environment |= {"JUPYTER_PATH": str(theirs), "MPLCONFIGDIR": str(theirs)}
        self.preset()

    def preset(self, tiny="{}"):
        (self.root / "presets" / "quick.yml").write_text(
            f"verdicts: as expected\ntiny: {tiny}\nother: {{}}\n"
        )

    def edit(self, path: str, old: str, new: str):
        file = self.root / path
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    def scratch(self):
        """Return the temporary files of all programs, and the folders for one call."""
        return {*Path(self.temporary.name).iterdir(), *(self.root / "_build" / "calls").glob("*")}

    def processes(self):
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if Path(process.cwd()).is_relative_to(self.root) and process.status() != "zombie":
                    found.append(process)
        return found

    def start(self, *words, **options):
        # background jobs of a shell ignore this signal
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return subprocess.Popen(
            [self.root / ".venv" / "bin" / "python", "-m", "icl_book", *words],
            cwd=self.root,
            text=True,
            stdin=subprocess.DEVNULL,  # Snakemake, orphaned, would wait for a terminal
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self.environment,
            **options,
        )

    def run(self, *words):
        process = self.start(*words)
        said, _ = process.communicate(timeout=HANGING)
        return process.returncode, said

    def asleep(self, process):
        """Wait until the notebook tiny, which ``process`` runs, sleeps; return its kernel's id."""
        file = self.root / "notebooks" / "asleep"
        until(lambda: process.poll() is not None or (file.is_file() and file.read_text()))
        assert process.poll() is None, process.communicate()[0]
        kernel = int(file.read_text())
        file.unlink()
        return kernel

    @contextmanager
    def awake(self):
        """Keep the notebook tiny from sleeping."""
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


def collected(copy, path):
    """Return the results of a notebook of a copy, judged by the claims of that copy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "find", claim.load(copy.root / "book" / "claims").__getitem__)
        return collect(path)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    return Copy(tmp_path_factory.mktemp("a tree with spaces") / "in {its} path {")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    copy = Copy(tmp_path_factory.mktemp("a tree with spaces") / "in {its} path {")
    status, said = copy.run("book")
    assert status == 0, said
    return copy, said


def test_a_book_is_built_with_progress_and_with_nothing_changed_no_file_changes(built):
    copy, said = built
    assert "quick: 2 runs, 2 to do" in said
    for i, name in ((1, "tiny"), (2, "other")):
        assert f"[{i} of 2] {name}: started" in said and f"[{i} of 2] {name}: done in" in said
    assert str(Path("_build", "book", "quick", "index.html")) in said
    assert "constant is 1e-05" in copy.page() and "constant is 1e-05" in copy.page("other")
    # IPython would print in a cell's output that it cannot save its history
    assert "history is kept: False" in copy.page()

    def state():
        files = [
            p for p in (copy.root / "_build").rglob("*") if p.is_file() and ".lock" not in p.name
        ]
        return {p: p.stat().st_mtime_ns for p in files}

    before = state()
    status, said = copy.run("book")
    assert (
        status == 0
        and "0 to do" in said
        and "nothing has changed" in said
        and "staging" not in said
    )
    assert len(before) > 10 and state() == before


def test_no_stale_number_survives_an_edit_and_reverting_it_runs_nothing(built):
    copy, _ = built
    first = copy.done("tiny") | copy.done("other")
    copy.edit("book/icl_book/statistics.py", "FALSE_ALARM_RATE = 1e-5", "FALSE_ALARM_RATE = 3e-5")
    copy.edit("book/introduction.md", "A small book", "A short book")
    status, said = copy.run("book")
    assert status == 0 and "2 to do" in said, said
    assert "A short book" in copy.page("../book/introduction")
    for name in ("tiny", "other"):
        assert "constant is 3e-05" in copy.page(name) and "1e-05" not in copy.page(name)
    copy.edit("book/icl_book/statistics.py", "FALSE_ALARM_RATE = 3e-5", "FALSE_ALARM_RATE = 1e-5")
    copy.edit("notebooks/other.py", "constant is", "the number is")
    status, said = copy.run("book")
    assert status == 0 and "1 to do" in said and "tiny: started" not in said, (
        "only what was edited runs"
    )
    assert first <= copy.done("tiny") | copy.done("other")
    assert "constant is 1e-05" in copy.page() and "the number is 1e-05" in copy.page("other")


def test_a_failure_names_its_cell_keeps_the_last_good_book_and_is_tried_again(built):
    copy, _ = built
    good, page = copy.done("tiny"), copy.page()
    copy.preset("{seed: 8}")
    for _ in range(2):
        status, said = copy.run("book")
        (line,) = [x for x in said.splitlines() if x.startswith("error")]
        expected = "cell 7: RuntimeError: planted failure"
        assert (
            status != 0
            and "tiny: failed after" in line
            and expected in line
            and "Traceback" not in said
        )
        last = said.splitlines()[-1]
        assert "1 to do" in said and last.startswith("FAILED") and f"tiny: {expected}" in last
        assert copy.done("tiny") == good and copy.page() == page
    (failed,) = (copy.root / "_build" / "runs" / "quick").glob("tiny.*.failed.ipynb")
    assert '"seed": 8' in failed.read_text()
    copy.preset()
    status, said = copy.run("book")
    assert status == 0 and "0 to do" in said


def test_plain_papermill_takes_parameters_and_runs_a_notebook_to_its_end(built):
    """`test_notebook` tests that wrong parameters are refused."""
    copy, _ = built
    status, said = copy.run("sync")
    assert status == 0 and "wrote notebooks/tiny.ipynb" in said
    words = ["notebooks/tiny.ipynb", "out.ipynb", "-p", "noise_std", "0.25"]
    done = program(sys.executable, "-m", "papermill", *words, cwd=copy.root)
    assert done.returncode == 0, done.stderr
    data = list_outputs(read_json(copy.root / "out.ipynb"))
    (footer,) = [d[FOOTER_MIME] for d in data if FOOTER_MIME in d]
    assert footer["parameters"]["noise_std"] == 0.25 and any(CARD_MIME in d for d in data)


def test_two_books_and_a_single_run_at_once_share_each_run(built):
    copy, _ = built
    copy.preset("{seed: 9}")
    first = copy.start("book")
    copy.asleep(first)
    others = [copy.start("book"), copy.start("execute", "tiny")]
    waits = r"(\[1 of 1\] )?tiny: another process runs it; waiting for its result\n"
    assert "1 to do" in others[0].stdout.readline()
    assert all(re.fullmatch(waits, process.stdout.readline()) for process in others)
    status, said = copy.run("sweep", "other", "--grid", "seed=5")
    assert status == 0 and "[1 of 1] other: done" in said and "waiting" not in said
    assert all(process.poll() is None for process in (first, *others))
    with copy.awake():
        said = [process.communicate(timeout=HANGING)[0] for process in (first, *others)]
    assert [process.returncode for process in (first, *others)] == [0, 0, 0], said
    assert "tiny: done in" in said[0] and all("tiny: already done" in s for s in said[1:])
    assert "constant is 1e-05" in copy.page()
    copy.preset()


# ------------------------------------------------------------------------------ sweeps
@pytest.mark.parametrize("i, whom", [(1, "all"), (2, "kernel")])
def test_a_killed_sweep_loses_nothing_and_the_next_call_goes_on(copy, i, whom):
    """Ctrl-C reaches all of its processes; a kernel alone is killed where memory is short."""
    sweep = ("sweep", "tiny", "--grid", f"seed=0,9 noise_std=3.{i}", "--jobs", "2")
    runs = copy.root / "_build" / "runs" / "quick" / "sweep"
    before = copy.done("tiny", "quick/sweep")
    left_before = copy.scratch()
    process = copy.start(*sweep, start_new_session=True)
    kernel = copy.asleep(process)
    until(lambda: copy.done("tiny", "quick/sweep") > before)
    if whom == "all":
        os.killpg(process.pid, signal.SIGINT)
    else:
        os.kill(kernel, signal.SIGKILL)
    assert process.wait(timeout=HANGING) != 0
    # kernels end with the process that runs their notebook
    until(lambda: not copy.processes(), copy.processes)
    words = process.stdout.read()
    assert ("tiny: DeadKernelError" in words) == (whom == "kernel")
    kept = [path.read_text() for path in runs.glob("tiny.*.failed.ipynb")]
    assert [f"noise_std = 3.{i}" in text for text in kept] == [True] * (whom == "kernel")
    if whom == "all":
        assert process.returncode == 130 and "interrupted; what is done is kept" in words
        assert copy.scratch() <= left_before
    process.stdout.close()
    with copy.awake():
        status, said = copy.run(*sweep)
        until(lambda: not copy.processes(), copy.processes)
    assert status == 0 and "2 runs, 1 to do" in said, said
    assert "unlock" not in said, said
    found = [collected(copy, path) for path in copy.done("tiny", "quick/sweep") - before]
    assert sorted(one["parameters"]["seed"] for one in found) == [0, 9]
    assert found[0]["cards"][0]["cases"] == found[1]["cards"][0]["cases"]
    assert not [*runs.glob(".*.part"), *runs.glob("*.failed.*")]


def test_a_sweep_prints_an_error_of_snakemake_and_its_last_line_names_what_failed(copy):
    copy.edit("Snakefile", "rule all:", "1 / 0\n\n\nrule all:")
    status, said = copy.run("sweep", "tiny", "--grid", "seed=3")
    assert status != 0 and "division by zero" in said, said
    assert re.match(
        r"FAILED after \d+ s: 1 of 1 runs not done, see above$", said.splitlines()[-1]
    ), said
    copy.edit("Snakefile", "1 / 0\n\n\nrule all:", "rule all:")
    status, said = copy.run("sweep", "tiny", "--grid", "seed=8,3")
    last = said.splitlines()[-1]
    assert status != 0 and re.match(
        r"FAILED after \d+ s: tiny: cell 7: RuntimeError: planted", last
    ), said
    assert "seed=8" in last and "Error in rule" not in said


def test_a_sweep_is_apart_from_the_book_resumes_and_ends_with_its_tables(copy):
    for _ in range(2):  # this is the book's run, so the second call finds it done
        status, said = copy.run("execute", "tiny")
        path = said.splitlines()[-1].removeprefix("result: ")
        assert status == 0 and collected(copy, copy.root / path)["name"] == "tiny"
    book, before = copy.done("tiny"), copy.done("tiny", "quick/sweep")
    sweep = (
        "sweep",
        "tiny",
        "--grid",
        "noise_std=0.5,1.5 seed=0,7",
        "--jobs",
        "2",
        "--collect",
        "X,rates",
    )
    status, said = copy.run(*sweep)
    assert status == 0 and "4 runs, 3 to do" in said, "the preset's own point is done already"
    assert "X: refuted, expected established" in said, (
        "exploring reports a surprise and does not fail"
    )
    assert len(copy.done("tiny", "quick/sweep") - before) == 3 and copy.done("tiny") == book
    status, said = copy.run(*sweep)
    assert status == 0 and "0 to do" in said
    written = [copy.root / name for name in said.splitlines()[-1].split()[-3:]]
    assert [path.name for path in written] == ["cases.csv", "wide.csv", "rates.csv"]
    cases, wide, rates = (pd.read_parquet(path.with_suffix(".parquet")) for path in written)
    assert cases["noise_std"].tolist() == rates["table seed"].tolist() == [0.5, 0.5, 1.5, 1.5]
    assert cases["verdict"].tolist() == ["established", "refuted"] * 2 and len(wide) == 4


def test_output_that_bypasses_python_is_on_the_terminal_and_not_in_the_run(copy):
    written, printed = 'os.write(2, b"its own words\\n")\n', 'print("constant is"'
    copy.edit("notebooks/other.py", printed, written + printed)
    status, said = copy.run("execute", "other")
    assert status == 0 and said.count("its own words") == 1, said
    run = copy.root / said.splitlines()[-1].removeprefix("result: ")
    outputs = [output for cell in read_json(run)["cells"] for output in cell.get("outputs", [])]
    assert [one["name"] for one in outputs if one["output_type"] == "stream"] == ["stdout"]
    copy.edit("notebooks/other.py", written, "")


def test_a_fault_that_every_chapter_would_have_is_reported_once_before_any_starts(copy):
    claims = copy.root / "book" / "claims" / "paper3.yml"
    text = claims.read_text()
    claims.write_text(text.replace("grade: proved here", "grade: prooved here"))
    for words in (
        ["book"],
        ["sweep", "tiny", "--grid", "seed=21"],
        ["execute", "tiny", "-p", "seed=21"],
    ):
        status, said = copy.run(*words)
        assert status == 1 and "started" not in said, said
        assert said.splitlines()[-1].startswith(
            "error: book/claims/paper3.yml:1: X, grade: Input should be"
        ), said
        assert "Traceback" not in said and said.count("paper3.yml") == 1
    claims.write_text(text)
    status, said = copy.run("sweep", "tiny", "--grid", "seed=21", "--collect", "X,ratio")
    assert status == 1 and said == (
        "error: collect='ratio': tiny has no claim and no table of that name; did you mean rates?\n"
    )
