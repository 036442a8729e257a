"""Every command that a page prints is run, and its last line compared with the page, or it is named here.

A command that the tables below do not know fails the test, and so does an entry that no page prints.
"""

import itertools
import re
import shlex
import shutil

import nbformat
import pandas as pd
import pytest

from icl.risk import optimal_window
from icl.tasks import globe
from icl_book import planet
from icl_book.claims import registry
from icl_book.provenance import ROOT
from icl_book.runner import plan
from icl_book.runner.execute import execute
from icl_book.runner.record import collect
from programs import installed, program

#: Why a command is not run here; it is run by the file of tests that the reason names, if it names one.
NOT_HERE = {
    "minutes: all notebooks, or all tests": [
        "make book",
        "make test",
        "make check",
        "make pdf",
        "make release",
        "make bench",
        "make replicate",
        "make replicate SEED=6,7",
        "make book PRESET=paper JOBS=16",
        ".venv/bin/python -m icl_book book --plain",
        "ICL_DEVICE=cpu make book PRESET=paper",
        "ICL_MUST_RUN=browser make test",
        ".ci/minutes",
    ],
    "needs the network": [
        'pip install ".[sklearn]"',
        "git clone {{ repository }}",
        "cd {{ repository_name }}",
        'make book PIP_OPTIONS="--extra-index-url https://download.pytorch.org/whl/cpu"',
        'pip install ".[train]"',
        "pip install .",
        ".ci/package",
        ".ci/exit",
    ],
    "needs a browser": [
        "make lab",
        'make lab LAB_OPTIONS="--allow-root --ip=0.0.0.0"',
    ],
    "needs a GPU": [".venv/bin/python benchmarks/pretraining.py cuda"],
    "needs a cluster": [".ci/slurm", "make sweep ... PROFILE=profiles/slurm JOBS=20"],
    "needs the book at its own sizes": [
        ".venv/bin/python tests/golden.py",
        ".venv/bin/python -m icl_book readme",
    ],
    "a recipe of tests/test_contributing.py": [
        ".venv/bin/python -m pytest -q tests/icl/tasks -k sine",
        "cp tests/data/chapter.py notebooks/mine.py",
        'for preset in presets/*.yml; do echo "mine: {}" >> $preset; done',
        ".venv/bin/python -m icl_book execute mine --preset smoke",
        "make sync",
    ],
    "each chapter is executed by tests/icl_book/test_book.py": [
        ".venv/bin/python -m icl_book execute NAME"
    ],
    "claims are judged alone by tests/icl_book/test_single.py": [
        ".venv/bin/python -m icl_book judge P1.T2.upper",
    ],
    "a chapter is run as a script by tests/icl_book/test_notebook.py": [
        ".venv/bin/python notebooks/tensor_trick.py"
    ],
    "papers of their own in tests/icl_book/test_quotes.py": [
        ".venv/bin/python -m icl_book quotes paper.pdf",
        ".venv/bin/python -m icl_book quotes paper.pdf --paper P1",
    ],
    "all scripts are run by tests/test_second_computations.py": [
        ".venv/bin/python book/checks/ball.py"
    ],
    "a minute, and the same kind as that of the front page, which is run": [
        ".venv/bin/python -m icl_book execute theorem2_scaling -p noise_std=0.5"
    ],
}
#: The commands that are run, by what they are called here.
RUN = {
    "front page": ".venv/bin/python -m icl_book execute planet -p noise_std=0.25",
    "reproduce": '.venv/bin/python -m icl_book execute planet -p noise_std=0.25 -p n_values="[30, 10000]"',
    "help": ".venv/bin/python -m papermill --help-notebook notebooks/planet.ipynb",
    "papermill": ".venv/bin/python -m papermill notebooks/planet.ipynb out.ipynb -p noise_std 0.25 "
    '-y "n_values: [30, 10000]"',
    "sweep": 'make sweep NOTEBOOK=planet GRID="noise_std=0.5,0.25"',
}
#: An inline command: a program with what it is told, or a script of the repository.
INLINE = re.compile(
    r"(?:[A-Z_]+=\S+ )*(?:(?:make|python3?|papermill|pip|uv|git|jupyter[\w-]*) \S"
    r"|\.venv/bin/\S|\.ci/\S)"
)


def commands(path):
    """Return the commands that a page prints, in shell blocks and in inline code that begins as one."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = re.sub("^# ?", "", text, flags=re.MULTILINE)
    found = []
    for block in re.findall(r"```(?:bash|sh|shell|console)\n(.*?)```", text, re.DOTALL):
        lines = (re.sub(r"(^|\s+)#.*", "", line).strip() for line in block.splitlines())
        found += [line for line in lines if line]
    prose = re.sub(r"^ *(`{3,})[^`\n]*\n.*?^ *\1", "", text, flags=re.DOTALL | re.M)
    inline = [" ".join(code.split()) for code in re.findall("(?<!`)`([^`]+)`", prose)]
    return [*found, *(code for code in inline if INLINE.match(code))]


def pages():
    """Return all texts for readers except the changelog, which mentions removed commands."""
    yield from (path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md")
    yield from (ROOT / "book").glob("*.md")
    yield from (ROOT / "book" / "icl_book").rglob("*.j2")
    yield from (ROOT / "notebooks").glob("*.py")
    yield from (ROOT / "results").glob("*.md")


def test_every_command_on_a_page_is_run_or_has_a_reason_why_not():
    printed = {command for path in pages() for command in commands(path)}
    known = [*RUN.values(), *(one for some in NOT_HERE.values() for one in some)]
    assert len(known) == len(set(known))
    assert printed - set(known) == set(), "neither run nor named with a reason"
    assert set(known) - printed == set(), "on no page"
    for reason in NOT_HERE:
        assert all((ROOT / file).is_file() for file in re.findall(r"tests/\S+", reason))


def test_every_command_calls_the_python_of_the_environment():
    """Another interpreter would not have the packages of the book."""
    printed = {command for path in pages() for command in commands(path)}
    other = [one for one in printed if re.match(r"python|papermill|jupyter|source ", one)]
    assert other == []


def test_every_printed_run_has_a_chapter_and_parameters_that_the_chapter_takes():
    printed = [command for path in pages() for command in commands(path)]
    for path in (ROOT / "Makefile", ROOT / "book" / "icl_book" / "__main__.py"):
        printed += re.findall("make sweep NOTEBOOK=.*", path.read_text())
    tried = set()
    for command in printed:
        if swept := re.search('NOTEBOOK=(\\w+) GRID="([^"]+)"', command):
            name, grid = swept.groups()
        elif " execute " in command and "{" not in command:
            words = shlex.split(command.partition(" execute ")[2])
            name = words[0]
            grid = " ".join(b for a, b in itertools.pairwise(words) if a == "-p")
        else:
            continue
        if name not in ("mine", "NAME"):
            assert plan.plan("quick", name, grid)
            tried.add(name)
    assert tried == {"planet", "theorem2_scaling"}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    copy = installed(tmp_path_factory.mktemp("commands") / "tree")
    # this is a sweep's first point, which the tests of the book execute as well
    (run,) = plan.plan("smoke", "planet")
    there = copy / run.path.relative_to(ROOT)
    there.parent.mkdir(parents=True)
    shutil.copy(execute(run), there)
    return copy


def page(name):
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def said(tree, name, more="", **environment):
    path = f"{tree}/.venv/bin:/usr/bin:/bin"
    done = program("bash", "-euc", f"{RUN[name]}{more}", cwd=tree, PATH=path, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def radii(path):
    (card,) = [c for c in collect(path)["cards"] if c["id"] == "P1.planet.radius"]
    rows = sorted(card["cases"], key=lambda case: case["parameters"]["n"])
    return {case["parameters"]["map"]: case["measured"] for case in rows}


def test_the_first_experiment_of_the_front_page_ends_as_the_page_says(tree):
    text = page("book/path.md")
    # smoke makes only the training smaller, which has separate noise; the radii have their full context
    *_, done, result = said(tree, "front page", " --preset smoke")
    assert re.fullmatch(r"planet: done in \d+ s", done)
    path = tree / result.removeprefix("result: ")
    assert "see the best radius on the planet shrink by nearly a quarter" in " ".join(text.split())
    maps = {"land and sea": (planet.land(), 300), "magnetic field": (planet.magnetic_field(), 20)}
    factor = {}
    for name, radius in radii(path).items():
        values, degree = maps[name]
        usual = optimal_window(globe(planet.standardize(values), degree=degree), 10000, 0.5)
        factor[name] = radius / (planet.RADIUS * float(usual.w) ** -0.5)
    assert factor["magnetic field"] == pytest.approx(2 ** (-1 / 3), abs=0.01)
    assert 0.75 < factor["land and sea"] < 0.78


def test_the_result_for_other_parameters_is_where_the_page_says(tree):
    *_, done, result = said(tree, "reproduce", " --preset smoke")
    # with the sizes of smoke this is the run of the front page
    assert re.fullmatch(r"planet: (already done|done in \d+ s)", done)
    text = page("book/reproduce.md")
    promised = re.search(r"last line that `execute` prints is the path [^`]+`([^`]+)`", text)[1]
    pattern = re.escape(promised.replace("/quick/", "/smoke/"))
    assert re.fullmatch("result: " + pattern.replace("<digest>", "[0-9a-f]{16}"), result)
    stored = re.search(r"parameters or seeds of your own as `([^`]+)`", text)[1]
    assert stored.replace("<preset>", "quick").replace("<name>", "planet") == promised


def test_papermill_lists_the_parameters_and_writes_the_notebook_that_is_named(tree):
    """`test_pipeline` tests that the cells of a notebook run under plain papermill."""
    (default,) = re.findall(r"  noise_std: .*default (\S+)\)", "\n".join(said(tree, "help")))
    assert f"with their defaults: noise_std is {default} " in page("book/reproduce.md")
    said(tree, "papermill", " --prepare-only")
    cells = [cell.source for cell in nbformat.read(tree / "out.ipynb", 4).cells]
    (injected,) = [
        at
        for at, cell in enumerate(cells)
        if cell.startswith("# Parameters\n") and "noise_std = 0.25" in cell
    ]
    assert f"noise_std = {default}  #" in cells[injected - 1], "behind the chapter's own values"


def test_a_sweep_ends_with_the_table_of_all_its_numbers(tree):
    last = said(tree, "sweep", PRESET="smoke")[-1]
    assert "A sweep ends with tables in `_build/sweeps/...`, as CSV and as Parquet" in page(
        "book/reproduce.md"
    )
    (table,) = re.fullmatch(r"tables, the same as \.parquet: (_build/sweeps/\S+)", last).groups()
    assert table.endswith("/cases.csv") and (tree / table).with_suffix(".parquet").is_file()
    numbers = pd.read_csv(tree / table)
    assert set(numbers.noise_std) == {0.5, 0.25}
    assert set(numbers.claim) == {name for name in registry() if name.startswith("P1.planet.")}
