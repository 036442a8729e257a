"""The scripts of `.ci`, each run as far as a machine without network and cluster can run it.

Programs that need one are replaced: pip installs only local packages, `make` prints what it would do, and
Slurm's programs start jobs on this machine.
"""

import os
import re
import shutil
import sys
import sysconfig

import pytest

from icl_book.provenance import ROOT
from programs import installed, program

#: A Python whose virtual environments have the packages that are installed here, without this repository's.
PYTHON = """#!/bin/sh
if [ "$1 $2" != "-m venv" ]; then exec '{python}' "$@"; fi
'{python}' -m venv --without-pip "$3"
echo '{packages}' >"$(echo "$3"/lib/python*/site-packages)/installed_here.pth"
mv "$3/bin/python" "$3/bin/real"
cat >"$3/bin/python" <<'END'
#!/bin/sh
real=$(dirname "$0")/real
case "$*" in
  *"pip install"*package.hashes | *"pip install"*sphinx\\>=* | "-m twine "*) exit ;;
  "-m build "*) cd "$6" && exec "$real" -c "from setuptools import build_meta as b
b.build_sdist('$5'); b.build_wheel('$5')" ;;
  "-I "*/readme?.py) exec "$real" -I -m py_compile "$2" ;;
esac
exec "$real" "$@"
END
chmod +x "$3/bin/python"
"""
#: pip, without a network.
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}


@pytest.fixture
def bin(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    return folder


def replace(bin, name, text):
    (bin / name).write_text(text)
    (bin / name).chmod(0o755)
    return str(bin / name)


def script(name, bin, root=ROOT, **environment):
    """Run a script of the repository in ``root`` to its end; return what it printed."""
    path = f"{bin}:{os.environ['PATH']}"
    done = program(root / ".ci" / name, cwd=root, PATH=path, PYTHONPATH="", **environment)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def without_network(bin):
    packages = sysconfig.get_path("purelib")
    text = PYTHON.replace("{python}", sys.executable).replace("{packages}", packages)
    return {"PYTHON": replace(bin, "python3", text), **OFFLINE}


def test_each_script_has_a_test_here():
    names = {p.name for p in (ROOT / ".ci").iterdir() if os.access(p, os.X_OK)}
    source = (ROOT / "tests" / "test_scripts.py").read_text()
    assert names == set(re.findall(r'script\("(\w+)"', source))


def dry_make(bin):
    asked = bin.parent / "asked"
    text = f'#!/bin/sh\necho "$@" >>"{asked}"\nexec {shutil.which("make")} -n "$@"\n'
    replace(bin, "make", text)
    return asked


def test_the_whole_check_asks_for_goals_that_exist(bin):
    asked = dry_make(bin)
    for name in ("git", "chromium", "chromedriver"):  # the test installs nothing
        replace(bin, name, "#!/bin/sh\n")
    said = script("run", bin)
    assert asked.read_text() == "lint\ntest\n" and "-m pytest" in said and "-m mypy" in said


def test_the_minutes_of_a_newcomer_are_counted_for_the_goals_of_the_readme(bin):
    asked = dry_make(bin)
    said = script("minutes", bin)
    goals = asked.read_text().split()
    assert re.findall(r"^make (\S+): \d+ s$", said, re.M) == goals
    assert goals == [".venv/.installed", "book", "check", "test"]


def test_the_package_is_built_and_installed(bin):
    """Setuptools replaces `build`, and `twine` does nothing. `test_wheel` runs the README's Python."""
    said = script("package", bin, **without_network(bin))
    assert "the Python of the README runs where the wheel is installed" in said
    assert re.search(r"\.whl\n.*\.tar\.gz\n$", said)


@pytest.mark.slow
def test_a_hosted_notebook_installs_the_packages_and_runs(bin):
    name = "icl_as_gradient_descent"
    said = script("launch", bin, CHAPTERS=name, **without_network(bin))
    assert f"{name}: what is installed suffices, and it runs" in said


PAGE = "# {}\n\nText {{cite:p}}`collins2024`.\n\n```{{bibliography}}\n```\n"


def test_the_build_without_jupyter_book_has_every_page(bin, tmp_path):
    """The Sphinx that is installed here builds the book, not the newest one."""
    root = tmp_path / "tree"
    pages = root / "_build" / "site" / "smoke"
    shutil.copytree(ROOT / ".ci", root / ".ci")
    for name in ("icl", "book"):
        (root / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "book" / "_static", pages / "book" / "_static")
    for name in ("_config.yml", "book/references.bib"):
        shutil.copy(ROOT / name, pages / name)
    (pages / "_toc.yml").write_text(
        "format: jb-book\nroot: book/a\nparts: [{caption: All, chapters: [{file: book/b}]}]\n"
    )
    (pages / "book" / "a.md").write_text(PAGE.format("A"))
    (pages / "book" / "b.md").write_text("# B\n")
    said = script("exit", bin, root, PRESET="smoke", **without_network(bin))
    assert re.search(r"^\d+ pages without jupyter-book, 0 warnings$", said, re.M)


@pytest.mark.slow
def test_a_killed_job_of_a_sweep_on_slurm_runs_again(bin, tmp_path):
    """Fake programs have Slurm's names, and the chapter that is swept is small."""
    root = installed(tmp_path / "tree")
    shutil.copy(ROOT / "tests" / "data" / "tiny.py", root / "notebooks" / "certificates.py")
    (root / "notebooks" / "certificates.ipynb").unlink()
    (root / "presets" / "smoke.yml").write_text("certificates: {}\n")
    (root / "book" / "claims" / "paper3.yml").write_text(
        "X: {title: One, source: here, reading: $1 > 0$, quantity: one, result: 'one is {}', "
        "grade: proved here, control: c, rule: {at_least: 0, at_most: 2}}\n"
    )
    with (root / "profiles" / "slurm" / "config.yaml").open("a") as profile:
        profile.write("slurm-init-seconds-before-status-checks: 1\n")
    for name in (
        "sbatch",
        "squeue",
        "scancel",
        "srun",
        "sinfo",
        "scontrol",
        "sacct",
        "sacctmgr",
        "sshare",
    ):
        (bin / name).symlink_to(ROOT / "tests" / "slurm.py")
    jobs = tmp_path / "jobs"
    jobs.mkdir()
    said = script("slurm", bin, root, RUNS="2", FAKE_SLURM=str(jobs))
    assert "2 runs on Slurm, one of them killed and run again" in said
    states = [path.read_text() for path in jobs.iterdir() if path.name.isdecimal()]
    assert len(states) == 3 and sum('"COMPLETED"' in state for state in states) == 2
