"""Tests on a machine that has only what the README asks for: without browser, home or user name."""

import getpass
import importlib.metadata
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from icl_book.provenance import ROOT
from icl_book.runner import process
from programs import program

BROWSERS = re.compile(r"chrom|google-chrome")


@pytest.fixture
def hidden(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    for place in reversed(os.environ["PATH"].split(os.pathsep)):
        for tool in Path(place).glob("*"):
            if not BROWSERS.match(tool.name):
                (folder / tool.name).unlink(missing_ok=True)
                (folder / tool.name).symlink_to(tool)
    return str(folder)


def suite(*words, **environment):
    words = [sys.executable, "-m", "pytest", "-n0", "-p", "no:cacheprovider", *words]
    return program(*words, **{"CI": "true", "PYTEST_ADDOPTS": "", "ICL_MUST_RUN": ""} | environment)


# ------------------------------------------------------------------------------- what is skipped
@pytest.mark.slow
def test_without_a_browser_its_tests_are_skipped_and_one_line_names_the_package(hidden):
    done = suite("-m", "browser", "tests/icl_book/test_book.py", PATH=hidden)
    assert done.returncode == 0, done.stdout[-3000:]
    counts = dict(
        (word, int(number))
        for number, word in re.findall(r"(\d+) (\w+)", done.stdout.splitlines()[-1])
    )
    assert counts["skipped"] > 40 and not {"passed", "failed", "error", "errors"} & set(counts), (
        counts
    )
    (line,) = [line for line in done.stdout.splitlines() if "chromium" in line.lower()]
    need = "needs Chromium and its driver (apt-get install chromium chromium-driver)"
    assert line == f"skipped: {counts['skipped']} ({need})"


def test_a_required_browser_that_is_missing_fails_in_one_line(hidden):
    done = suite(
        "-m", "browser", "tests/icl_book/test_interactive.py", PATH=hidden, ICL_MUST_RUN="browser"
    )
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert done.stderr.startswith(
        "ERROR: ICL_MUST_RUN=browser, but tests of that mark need Chromium"
    )


def jobs():
    return yaml.safe_load((ROOT / ".github" / "workflows" / "book.yml").read_text())["jobs"]


def test_the_workflow_publishes_the_book_with_a_runner_that_has_a_gpu_and_without():
    """Without such a runner a repository would wait a day for each push, and publish no page."""
    found = jobs()
    assert found["book"]["if"].startswith("${{ !vars.GPU_RUNNER && ")
    assert found["book"]["runs-on"] == "ubuntu-latest"
    assert found["book_on_gpu"]["if"].startswith("vars.GPU_RUNNER && ")
    assert found["book_on_gpu"]["runs-on"] == "${{ vars.GPU_RUNNER }}"
    for name, preset in (("book", "quick"), ("book_on_gpu", "paper")):
        (made,) = [
            s["run"] for s in found[name]["steps"] if s.get("run", "").startswith("make book")
        ]
        assert made.split()[2:3] == ([] if preset == "quick" else [f"PRESET={preset}"])
        assert found[name]["steps"][-1]["with"] == {"path": f"_build/book/{preset}"}
        assert f"needs.{name}.result == 'success'" in found["pages"]["if"]
    assert found["pages"]["needs"] == ["book", "book_on_gpu"]


def test_the_workflow_tests_the_gpu_before_the_book():
    runs = [step for step in jobs()["book_on_gpu"]["steps"] if "run" in step]
    assert [step["run"] for step in runs] == [
        'make test TESTS="-m gpu"',
        ".venv/bin/python benchmarks/pretraining.py cuda",
        "make book PRESET=paper JOBS=1",
    ]
    assert runs[0]["env"] == {"ICL_MUST_RUN": "gpu"}


#: Collects tests while no module can be imported but those of some distributions and of Python.
COLLECT = """
import importlib.metadata, sys
import pytest
allowed, mark = set(sys.argv[1].split()), sys.argv[2]
of = importlib.metadata.packages_distributions()
class Absent:
    def find_spec(self, name, path=None, target=None):
        names = {one.lower().replace("_", "-") for one in of.get(name.partition(".")[0], ())}
        if names and not names & allowed:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
words = "-p no:cacheprovider --collect-only -q -m"
sys.exit(pytest.main([*words.split(), mark]))
"""


def needs(*names):
    """Return the distributions that these need, with their own needs, as they are installed here."""
    found, left = set(), [*names]
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        with suppress(importlib.metadata.PackageNotFoundError):
            wanted = map(Requirement, importlib.metadata.requires(name) or [])
            left += [
                canonicalize_name(one.name)
                for one in wanted
                if one.marker is None or one.marker.evaluate({"extra": ""})
            ]
    return found


def test_tests_of_the_gpu_can_be_collected_where_only_the_needs_of_a_chapter_are_installed():
    """A machine with a GPU is rarely the one that builds the book, so it lacks other packages."""
    wanted = tomllib.loads((ROOT / "book" / "pyproject.toml").read_text())["project"]
    names = [canonicalize_name(Requirement(one).name) for one in wanted["dependencies"]]
    allowed = needs("softmax-icl-book", *names, "torch", "pytest")
    assert "numpy" in allowed and not {"sphinx", "papermill", "pytest-xdist"} & allowed
    clean = {"PYTEST_ADDOPTS": "", "ICL_MUST_RUN": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = program(sys.executable, "-c", COLLECT, " ".join(allowed), "gpu", **clean)
    assert done.returncode == 0, done.stdout[-3000:]
    for file in ("test_blocks", "test_pretrain", "test_device"):
        assert f"{file}.py::" in done.stdout


# -------------------------------------------------------------------------------- home and name
def prepared(**environment):
    """What a process finds once `icl_book.runner.process` has prepared it."""
    code = "import getpass, os; from icl_book.runner import process; process.prepare()\n"
    code += "print(getpass.getuser())\n"
    code += "for name in ('HOME', 'GIT_CONFIG_GLOBAL', *process.FOLDERS): print(os.environ.get(name, ''))"
    clean = dict.fromkeys(process.FOLDERS, "")
    done = program(sys.executable, "-c", code, **clean | environment)
    assert done.returncode == 0, done.stderr
    user, home, git, *folders = done.stdout.splitlines()
    return {"user": user, "home": home, "git": git, "folders": folders}


INSTEAD = str(ROOT / "_build" / "home")


def test_a_home_that_can_be_written_is_kept(tmp_path, monkeypatch):
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    (tmp_path / ".cache").mkdir()
    found = prepared(HOME=str(tmp_path), MPLCONFIGDIR=str(tmp_path / "new"))
    assert found["home"] == str(tmp_path) and found["git"] == ""
    assert found["folders"][0] == str(tmp_path / "new")


def test_a_home_that_is_missing_or_full_is_replaced(tmp_path, monkeypatch):
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    assert prepared(HOME="/nonexistent")["home"] == INSTEAD
    (tmp_path / ".gitconfig").touch()
    (tmp_path / ".cache").symlink_to("/proc")  # /proc exists, and no file can be made in it
    found = prepared(HOME=str(tmp_path), NUMBA_CACHE_DIR="/proc/numba", XDG_CACHE_HOME="/dev/full")
    assert found["home"] == INSTEAD and found["git"] == str(tmp_path / ".gitconfig")
    assert found["folders"] == [""] * len(process.FOLDERS)


def test_a_folder_on_a_full_disk_is_not_writable(tmp_path, monkeypatch):
    class Full:
        def __getattr__(self, name):
            raise OSError(122, "Disk quota exceeded")

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return False

    assert process.writable(tmp_path)
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
    assert not process.writable(tmp_path)


def test_a_user_without_an_entry_in_passwd_has_a_name(tmp_path, monkeypatch):
    def missing(number):
        raise KeyError(f"getpwuid(): uid not found: {number}")

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("pwd.getpwuid", missing)
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "")
    with pytest.raises((KeyError, OSError)):
        getpass.getuser()
    process.prepare()
    assert getpass.getuser() == str(os.getuid())


# ------------------------------------------------------------------------------------ the end
@pytest.mark.parametrize("ending", process.ENDINGS, ids=lambda ending: ending.name)
def test_every_signal_ends_a_program_like_ctrl_c_and_only_once(tmp_path, ending):
    """A second signal does not interrupt the clean-up, and programs that were started end as well."""
    heard = f"import signal; signal.signal({int(ending)}, signal.SIG_DFL)\n"  # this also holds under nohup
    child = heard + "import time; from icl_book.runner import process as p; p.end_in_order()\n"
    child += "with p.scratch('icl-kernel-'):\n print('ready', flush=True); time.sleep(600)"
    code = heard + "import pathlib, sys, time\n"
    code += "from icl_book.runner import process as p; p.end_in_order()\n"
    code += "try:\n with p.scratch('icl-kernel-'):\n"
    code += "  p.run([sys.executable, '-c', sys.argv[1]], pathlib.Path.cwd())\n"
    code += "except KeyboardInterrupt: time.sleep(1); print('tidy', flush=True)\n"
    paths = os.pathsep.join([str(ROOT), str(ROOT / "book")])
    environment = os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": paths}
    with subprocess.Popen(
        [sys.executable, "-c", code, child], env=environment, stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout.readline() == "ready\n"
        assert len(list(tmp_path.iterdir())) == 2
        for _ in range(2):
            started.send_signal(ending)
            time.sleep(0.3)
        said, _ = started.communicate(timeout=60)
    assert said == "tidy\n" and started.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_the_next_call_removes_only_what_killed_processes_left(tmp_path):
    names = ("run-old", "run-new", "run-held", "other-old")
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "kernel.json").touch()
    (tmp_path / "run-link").symlink_to(tmp_path / "other-old")
    with process.scratch("run-", tmp_path) as held:
        for folder in (tmp_path / "run-old", Path(held), tmp_path / "other-old"):
            os.utime(folder, (1, 1))
        with process.scratch("run-", tmp_path) as own:
            left = {path.name for path in tmp_path.iterdir()}
    assert left == {*names, "run-link", Path(held).name, Path(own).name} - {"run-old"}
    assert (tmp_path / "other-old" / "kernel.json").is_file()
    assert not Path(held).exists() and not Path(own).exists()


def test_signals_that_are_ignored_stay_ignored():
    code = "import signal; from icl_book.runner import process as p\n"
    code += "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    code += "p.end_in_order(); print(signal.getsignal(signal.SIGHUP).name)"
    assert program(sys.executable, "-c", code).stdout == "SIG_IGN\n"


# ------------------------------------------------------------------------------ the installation
def test_the_installation_ignores_settings_of_other_target_folders(tmp_path):
    """Both pip's settings for all users and those of the environment are ignored."""
    (tmp_path / "pip.conf").write_text(f"[install]\nuser = true\ntarget = {tmp_path}/x\n")
    code = "import importlib.util as u, os; s = u.spec_from_file_location('i', '.ci/install.py')\n"
    code += "m = u.module_from_spec(s); s.loader.exec_module(m); os.environ.update(m.ELSEWHERE)\n"
    code += "import subprocess, sys\n"
    code += "words = '-m pip install --dry-run --no-index --no-deps --no-build-isolation -q -e .'\n"
    code += "sys.exit(subprocess.call([sys.executable, *words.split()]))"
    for environment in ({"PIP_USER": "1"}, {"PIP_CONFIG_FILE": str(tmp_path / "pip.conf")}):
        done = program(sys.executable, "-c", code, **environment)
        assert done.returncode == 0, done.stderr
