"""Plans, addresses, results and the command line, without starting a kernel."""

import ast
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from dataclasses import asdict
from importlib.metadata import packages_distributions
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from icl.checks import shown
from icl_book import provenance
from icl_book.__main__ import main, make_parser
from icl_book.claims.card import write_line
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner import execute, plan, process, reach, record, schedule, table
from programs import program

TINY = ROOT / "tests" / "data" / "tiny.py"


FILES = {
    "icl/__init__.py": "",
    "book/icl_book/statistics.py": "from icl.checks import real\n\nconstant = 1\n",
    "icl/checks.py": '"""What."""\nreal = 1\n',
    "book/icl_book/__init__.py": "",
    "book/icl_book/notebook.py": "from icl_book.figures import plots\n\nstyle = 1\n",
    "book/icl_book/figures/plots.py": "colour = 1\n",
    "book/icl_book/claims/__init__.py": (
        "from icl_book.claims.evidence import Case\nfrom icl_book.claims.judge import judge\n"
    ),
    "book/icl_book/claims/evidence.py": "constant = 1\n",
    "book/icl_book/claims/judge.py": "from icl_book.claims.card import Card\n",
    "book/icl_book/claims/card.py": "constant = 1\n",
    "book/icl_book/figures/table.html.j2": "",
    "book/icl_book/figures/icl.mplstyle": "",
    "book/icl_book/measurements/tiny.py": "constant = 1\n",
    "book/icl_book/site/card.html.j2": "",
    "requirements.lock": "numpy==1\n",
    "notebooks/tiny.py": TINY.read_text(),
    "presets/quick.yml": "verdicts: as expected\ntiny: {noise_std: 1e-3}\n",
    "presets/wrong.yml": "tiny: {noise_std: -1}\n",
    "presets/empty.yml": "",
    "presets/mood.yml": "verdicts: good\ntiny: {}\n",
    "presets/broken.yml": "tiny: {noise_std: [}\n",
}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    for path, text in FILES.items():
        write(tmp_path / path, text)
    for module in (plan, execute, schedule, table):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("ICL_SEED", "ICL_DEVICE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(execute, "_papermill", lambda *a: pytest.fail("a kernel was started"))
    # cards stand for their evidence
    monkeypatch.setattr(record, "_judge_anew", lambda card: card)
    swept = SimpleNamespace(sweep=lambda *_: None)
    monkeypatch.setattr(schedule, "process", swept)
    return tmp_path


# --------------------------------------------------------------------------- addresses
#: Edits of the small repository, by file: the new text, and whether its notebook runs again.
EDITS = [
    ("notebooks/tiny.py", TINY.read_text().replace("tests of the", "test of a"), False),
    ("notebooks/tiny.py", TINY.read_text().replace("# %%\nif", "# %% tags=[]\nif"), False),
    ("notebooks/tiny.py", TINY.read_text().replace('"minus one"', '"less"'), True),
    ("book/icl_book/statistics.py", "from icl.checks import real\n\nconstant = 2\n", True),
    ("icl/checks.py", "real = 2\n", True),
    ("icl/checks.py", '"""What it is."""\nreal = 1  # a comment\n', False),
    ("icl/unused.py", "x = 1\n", False),
    ("book/icl_book/notebook.py", "style = 2\n", True),
    ("book/icl_book/figures/plots.py", "colour = 2\n", True),
    ("book/icl_book/figures/table.html.j2", "a row\n", True),
    ("book/icl_book/figures/icl.mplstyle", "axes.grid: True\n", True),
    ("book/icl_book/measurements/tiny.py", "constant = 2\n", False),
    ("book/icl_book/claims/evidence.py", "constant = 2\n", True),
    ("book/icl_book/claims/judge.py", "constant = 2\n", False),
    ("book/icl_book/claims/card.py", "constant = 2\n", False),
    ("book/icl_book/site/card.html.j2", "card\n", False),
    ("book/icl_book/__main__.py", "help = 2\n", False),
    ("book/icl_book/site/stage.py", "x = 1\n", False),
    ("book/icl_book/repository.py", "x = 1\n", False),
    ("book/claims/paper1.yml", "x: {}\n", False),
    ("book/style.css", "x {}\n", False),
    ("README.md", "x\n", False),
    ("requirements.lock", "numpy==2\n", True),
    ("presets/quick.yml", "tiny: {noise_std: 2e-3}\n", True),
]


@pytest.mark.parametrize(("path", "text", "again"), EDITS, ids=lambda value: str(value)[:40])
def test_what_runs_again_after_an_edit(tree, path, text, again):
    before = plan.plan("quick")[0].path
    there = (tree / path).read_text() if (tree / path).exists() else None
    assert text != there, "the edit changes something"
    write(tree / path, text)
    assert (plan.plan("quick")[0].path != before) == again
    if there is not None:
        write(tree / path, there)
        assert plan.plan("quick")[0].path == before, "reverting an edit brings the address back"


def test_a_device_a_seed_and_an_installed_version_have_addresses_of_their_own(tree, monkeypatch):
    seen = [plan.plan("quick")[0].path]
    for name, value in (("ICL_DEVICE", "cuda"), ("ICL_SEED", "7")):
        monkeypatch.setenv(name, value)
        seen.append(plan.plan("quick")[0].path)
    monkeypatch.setattr(provenance, "version", lambda name: "9.9" if name == "torch" else "1")
    assert len({*seen, plan.plan("quick")[0].path}) == 4


def test_the_root_of_the_streams_is_read_in_one_way_and_another_explores(tree, monkeypatch):
    (plain,) = plan.plan("quick")
    for same in ("", "0", "00"):
        monkeypatch.setenv("ICL_SEED", same)
        assert plan.plan("quick") == [plain] and not plain.exploring
    for seven in ("07", "7"):
        monkeypatch.setenv("ICL_SEED", seven)
        (moved,) = plan.plan("quick")
        assert moved.exploring and moved.root_seed == 7 and moved.path.parent.name == "sweep"
    assert plan.plan("quick", seed=7) == [moved] and plan.plan("quick", seed=0) == [plain]


def test_a_chapter_reaches_what_it_imports_and_no_more():
    reaches = {name: set(plan.list_dependencies(name)[1]) for name in plan.notebooks()}
    for name, code in reaches.items():
        measured = {path for path in code if "/measurements/" in path}
        own = f"book/icl_book/measurements/{name}.py"
        assert measured <= {own, "book/icl_book/measurements/__init__.py"}
        assert {"book/icl_book/notebook.py", "book/icl_book/figures/plots.py"} <= code
        assert not any("/site/" in path or "/runner/" in path for path in code)

    def chapters(path):
        return {name for name, code in reaches.items() if path in code}

    assert chapters("icl/regressor.py") == {"your_data"}
    assert chapters("icl/tensor_trick/regressions.py") == {
        "icl_as_gradient_descent",
        "lipschitz_bounds",
        "tensor_trick",
    }
    assert chapters("icl/data.py") == {"length", "planet", "your_data"}
    assert "theorem2_scaling" in chapters("icl/risk/exact.py")
    assert "tensor_trick" not in chapters("icl/risk/exact.py")


#: Modules of `icl` that no chapter needs.
UNUSED = {"icl/tasks/check.py", "icl/tensor_trick/operator.py"}


def test_a_change_of_any_module_that_a_chapter_can_reach_asks_for_another_address(
    tmp_path, monkeypatch
):
    for folder in ("icl", "book/icl_book", "book/icl_rigor", "notebooks", "book/real_heads"):
        left_out = shutil.ignore_patterns("__pycache__", "*.ipynb", "data")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=left_out)
    monkeypatch.setattr(plan, "ROOT", tmp_path)

    def address(chapter):
        return plan.address(chapter, {}, 0, "cpu")

    reaches = {name: list(plan.list_dependencies(name)[1]) for name in plan.notebooks()}
    modules = {path: name for name, code in reaches.items() for path in code}
    own = {path.relative_to(ROOT).as_posix() for path in (ROOT / "icl").rglob("*.py")}
    # modules that only re-export names are passed through
    own = {path for path in own if not path.endswith("/__init__.py")}
    assert own - UNUSED <= set(modules), "all of the science is in some chapter's address"
    before = {name: address(name) for name in reaches}
    for path, name in modules.items():
        content = (tmp_path / path).read_bytes()
        (tmp_path / path).write_bytes(content + b"\nchanged = 1\n")
        assert address(name) != before[name], path
        (tmp_path / path).write_bytes(content)
    assert {name: address(name) for name in reaches} == before


def _imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


#: Packages that display results.
SHOWING = {"IPython", "jinja2", "markupsafe", "matplotlib_inline", "tqdm", "traitlets"}


def test_what_chapters_reach_imports_by_statements_and_from_packages_whose_versions_count():
    """Another way to import would leave a module, or the version of a package, out of the address."""
    code = {
        path: text
        for name in plan.notebooks()
        for path, text in [(name, "\n".join(plan.read_code(name)))]
        + [(path, (ROOT / path).read_text()) for path in plan.list_dependencies(name)[1]]
        if not path.endswith((".css", ".js", ".j2", ".json", ".mplstyle"))
    }
    homes, found = packages_distributions(), set()
    for path, text in code.items():
        tree = ast.parse(text)
        packages = {name.partition(".")[0] for name in _imports(tree)}
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert "importlib" not in packages and "__import__" not in names, path
        found |= packages - {*sys.stdlib_module_names, *reach.HOMES, *SHOWING, "triton"}
    assert {home for package in found for home in homes[package]} == set(provenance.versions()) - {
        "python"
    }


def test_grid_is_all_combinations_and_kept_apart_from_the_book(tree):
    found = plan.plan("quick", "tiny", "noise_std=1e-3,2,0.001 dims=[2, 3],[5]")
    assert [r.overrides for r in found] == [
        {"noise_std": 1e-3},
        {"noise_std": 1e-3, "dims": [5]},
        {"noise_std": 2},
        {"noise_std": 2, "dims": [5]},
    ]
    assert [r.path.parent.name for r in found] == ["quick", "sweep", "sweep", "sweep"]
    assert len({r.path for r in found}) == 4 and found[0] == plan.plan("quick")[0]
    (tree / "grid.yml").write_text("noise_std: [1e-3, 2]\ndims: [[2, 3], [5]]\n")
    assert plan.plan("quick", "tiny", "grid.yml") == found


# ------------------------------------------------------------------------- one run
def finishing(*cards, meanwhile=lambda: None, tables=()):
    """A stand-in for papermill that finds these cards and tables, and a footer."""

    def run_cells(run, shown):
        meanwhile()
        outputs = [{"data": {provenance.FOOTER_MIME: {"seconds": 1.0, "device": "cpu"}}}]
        outputs += [{"data": {provenance.CARD_MIME: card}} for card in cards]
        outputs += [{"data": {provenance.TABLES_MIME: json.dumps(dict(tables))}}]
        outputs = [{"output_type": "display_data"} | output for output in outputs]
        node = {"cells": [{"cell_type": "code", "source": "", "outputs": outputs}]}
        parameters = plan.read_defaults("tiny") | run.overrides
        node["metadata"] = {"icl": asdict(run) | {"parameters": parameters}}
        record.seal(node)
        return node

    return run_cells


CARD = {
    "id": "X",
    "verdict": "holds",
    "expected": "holds",
    "as_expected": True,
    "decided_by": "",
    "refused": [],
    "readings": {"ours": "agrees"},
    "cases": [{}],
    "other_readings": {},
    "holding": {},
    "control": "",
    "control_passed": True,
}
OTHER = CARD | {
    "verdict": "false as we have it",
    "as_expected": False,
    "decided_by": "n = 2 is 0.5, outside what is permitted, ≥ 1",
}
OPEN = OTHER | {"verdict": "inconclusive"}
EMPTY = OPEN | {"cases": [], "decided_by": "no case at these parameters"}
UNCONTROLLED = CARD | {
    "control_passed": False,
    "as_expected": False,
    "decided_by": "its control is not rejected: n = 2 is 2, within what is permitted, ≥ 1",
}


@pytest.mark.parametrize(
    "card, allowed, passes",
    [
        (CARD, "as expected", True),
        (OPEN, "as expected", False),
        (OPEN, "as expected or open", True),
        (OTHER, "as expected or open", False),
        (OTHER, "any", True),
        (UNCONTROLLED, "as expected", False),
        (EMPTY, "as expected or open", False),
        (EMPTY, "any", False),
    ],
)
def test_a_verdict_that_is_not_the_expected_one_fails_the_run_and_is_told_with_what_decides_it(
    tree, monkeypatch, capsys, card, allowed, passes
):
    """The preset decides this, whatever its name is."""
    monkeypatch.setattr(execute, "_papermill", finishing(card))
    (tree / "presets" / "mine.yml").write_text(f"verdicts: {allowed}\ntiny: {{}}\n")
    (run,) = plan.plan("mine")
    if passes:
        assert record.collect(execute.execute(run))["cards"] == [card]
        told = "" if allowed == "as expected or open" or card is CARD else f"; {write_line(card)}"
        assert re.search(r"done in \d+ s(.*)\n", capsys.readouterr().out)[1] == told
    else:
        with pytest.raises(BadInput, match=re.escape(f"s: {write_line(card)} (see ")):
            execute.execute(run)
    assert run.path.exists() == passes


def test_a_run_for_the_book_fails_with_what_a_cell_writes_to_standard_error(tree, monkeypatch):
    """Pages refuse such output, and a finished run would have to be deleted by hand."""

    def warning(run, shown):
        node = finishing(CARD)(run, shown)
        output = {"output_type": "stream", "name": "stderr", "text": "careful:\n  1 / 0\n"}
        node["cells"].append({"cell_type": "code", "source": "", "outputs": [output]})
        record.seal(node)
        return node

    monkeypatch.setattr(execute, "_papermill", warning)
    (run,) = plan.plan("quick")
    with pytest.raises(BadInput, match=r"s: cell 2 wrote to standard error: careful: 1 / 0 \(see"):
        execute.execute(run)
    assert not run.path.exists()
    (own,) = plan.plan("quick", "tiny", "noise_std=2")
    assert execute.execute(own).exists(), "where a reader explores, it is a part of the result"


def test_a_run_is_checked_and_addressed_once_by_the_command_that_plans_it(tree, monkeypatch):
    """After it has run, its sources are compared with that address."""
    checked, addressed = [], []
    count = {"validate": checked, "digest": addressed}
    for name, calls in count.items():
        own = getattr(plan, name)
        monkeypatch.setattr(plan, name, lambda *args, c=calls, f=own: c.append(args[0]) or f(*args))
    monkeypatch.setattr(execute, "_papermill", finishing(CARD))
    runs = plan.plan("quick", "tiny", "noise_std=1,2")
    for run in runs:
        assert main(["execute", *shlex.split(run.words)]) == 0 and run.path.is_file()
    assert [values["noise_std"] for values in checked] == [1, 2]
    planned, compared = addressed[:2], addressed[2:]
    assert planned == compared and planned[0] != planned[1]


def test_a_run_during_which_its_sources_changed_or_went_does_not_count(tree, monkeypatch):
    source = tree / "icl" / "checks.py"
    edits = {"changed since it was planned": lambda: source.write_text("constant = 2\n")}
    edits["notebook 'tiny': does not exist"] = (tree / "notebooks" / "tiny.py").unlink
    for reason, edit in edits.items():
        monkeypatch.setattr(execute, "_papermill", finishing(CARD, meanwhile=edit))
        (run,) = plan.plan("quick")
        with pytest.raises(BadInput, match=reason):
            execute.execute(run)
        assert not run.path.exists() and reason in run.reason.read_text()


def test_only_the_last_few_outputs_are_kept_and_what_a_neighbor_writes_is_left_alone(
    tree, monkeypatch
):
    monkeypatch.setattr(execute, "_papermill", finishing(CARD))
    (run,) = plan.plan("quick")
    folder = run.path.parent
    folder.mkdir(parents=True)
    for i in range(9):
        for suffix in (".ipynb", ".failed.ipynb"):
            (folder / f"tiny.{i}{suffix}").write_text("x")
            os.utime(folder / f"tiny.{i}{suffix}", (i, i))
    others = [folder / name for name in ("tinier.1.ipynb", ".tiny.0.ipynb.7.part")]
    for other in (*others, run.failed, run.reason):
        other.write_text("x")
    execute.execute(run)
    done = {p for p in folder.glob("tiny.*.ipynb") if "failed" not in p.name}
    assert done == {run.path, *(folder / f"tiny.{i}.ipynb" for i in range(5, 9))}
    assert all(other.is_file() for other in others) and (folder / "tiny.3.failed.ipynb").is_file()
    assert not run.failed.exists() and not run.reason.exists()


DAMAGE = {
    "cut short": lambda text: text[: len(text) // 2],
    "not text": lambda text: b"\xff\xfe" + text.encode(),
    "another JSON": lambda text: "[]",
    "a number altered": lambda text: text.replace('"seconds": 1.0', '"seconds": 2.0'),
    "a parameter altered": lambda text: text.replace('"noise_std": 0.001', '"noise_std": 0.002'),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_result_is_named_and_runs_again(tree, monkeypatch, capsys, kind):
    monkeypatch.setattr(execute, "_papermill", finishing(CARD))
    (run,) = plan.plan("quick")
    path = execute.execute(run)
    content, before = path.read_text(), record.collect(path)
    damaged = DAMAGE[kind](content)
    assert damaged != content and schedule.schedule([run], "1") == 0
    path.write_bytes(damaged if isinstance(damaged, bytes) else damaged.encode())
    with pytest.raises(BadInput, match=path.name):
        record.collect(path)
    with pytest.raises(AttributeError, match="scratch"):  # Snakemake is asked
        schedule.schedule([run], "1")
    said = capsys.readouterr().out
    assert "it will run again" in said and "1 runs, 1 to do" in said
    assert record.collect(execute.execute(run)) == before and path.read_text() == content


# ------------------------------------------------------------------------- command line
#: Command lines that are refused, each with the environment variable that stands before it.
WRONG_COMMANDS = [
    "execute nothing",
    "execute tiny --preset huge",
    "execute tiny --preset wrong",
    "execute tiny --preset broken",
    "execute tiny --preset mood",
    "execute tiny -p nois_std=1",
    "execute tiny -p noise_std=&a[*a]",
    "execute tiny -p noise_std=" + "[" * 2000,
    "execute tiny -p noise_std",
    "execute tiny -p dims=1",
    "book --preset empty",
    "book --jobs many",
    "sweep tiny",
    "sweep tiny --grid seed=0,-1",
    "sweep tiny --grid seed=1,,2",
    "sweep tiny --grid 'seed=3 seed=4'",
    "sweep tiny --grid 'seed=1' --collect Y",
    "sweep tiny --grid none.yml",
    "sweep tiny --grid 'my grid.yaml'",
    "sweep tiny --grid seed=0 --profile none",
    "replicate --seed 1,x",
    "replicate --seed 0",
    "ICL_SEED=5 book",
    "ICL_SEED=3 replicate --seed 5",
    "ICL_DEVICE=CUDA execute tiny",
    "ICL_DEVICE=cuda: execute tiny",
    "ICL_DEVICE=cuda:x execute tiny",
    "ICL_DEVICE=cuda:1234 execute tiny",
    "ICL_DEVICE='cpu; touch F9' book",
    "ICL_DEVICE='cpu\n' sweep tiny --grid seed=1",
]
#: What a file of the tree holds when a command is refused for it.
WRONG_FILES = {
    "notebooks/tiny.py": FILES["notebooks/tiny.py"].replace(
        "# %%\nif", "# %%\nx = 1\nx = (1,\n\n# %%\nif"
    ),
    "book/icl_book/statistics.py": "x = 1\n\nx = = 2\n",
}
WRONG_PARAMETERS = [
    "# %%\nseed = 0\n",
    '# %% tags=["parameters"]\nseed = 1 + len([])\n',
    '# %% tags=["parameters"]\nfrobnication = 1\n',
]


def test_wrong_commands_are_refused_before_anything_starts_in_approved_words(
    tree, monkeypatch, capsys, approved
):
    found = []

    def refuse(words, before=""):
        assert main(words) == 1, words
        said = capsys.readouterr()
        assert said.out == "" and re.fullmatch(r"error: .+\n", said.err), (words, said)
        found.append(f"{before}{shown(shlex.join(words))}\n    {said.err}")

    for command in WRONG_COMMANDS:
        name, separator, value = (words := shlex.split(command))[0].partition("=")
        with monkeypatch.context() as patch:
            if separator:
                patch.setenv(name, value)
                refuse(words[1:], f"{name}={shown(value)} ")
            else:
                refuse(words)
    for path, content in WRONG_FILES.items():
        write(tree / path, content)
        for command in ("execute tiny", "book", "sweep tiny --grid seed=1"):
            refuse(shlex.split(command), f"{path}: ")
        write(tree / path, FILES[path])
    write(tree / "presets" / "quick.yml", "tiny: {}\n")
    for content in WRONG_PARAMETERS:
        write(tree / "notebooks" / "tiny.py", content)
        refuse(["execute", "tiny"], f"{shown(content)}: ")
    approved("command_errors.txt", "".join(found))


def test_a_device_that_is_not_here_is_refused_at_once_unless_jobs_run_elsewhere(
    tree, monkeypatch, capsys
):
    monkeypatch.setenv("ICL_DEVICE", "cuda:99")
    for command in ("execute tiny", "book", "sweep tiny --grid seed=1"):
        assert main(shlex.split(command)) == 1
        assert capsys.readouterr().err.startswith("error: ICL_DEVICE='cuda:99': must be one of cpu")
    (tree / "profiles" / "slurm").mkdir(parents=True)
    (tree / "profiles" / "slurm" / "config.yaml").write_text("executor: slurm\n")
    # this checkout may lie in a folder with a space
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
    with pytest.raises(AttributeError, match="scratch"):  # Snakemake is asked
        schedule.schedule(plan.plan("quick"), "2", "profiles/slurm")


@pytest.mark.parametrize(
    ("runs", "cores", "gigabytes", "threads", "jobs"),
    [
        (19, 2, 16, "", 2),
        (19, 64, 200, "", 19),
        (19, 16, 8, "", 6),
        (3, 16, 200, "", 3),
        (19, 16, 200, "4", 4),
        (19, 2, 1, "", 1),
        (0, 8, 200, "", 1),
    ],
)
def test_as_many_runs_at_a_time_as_cores_and_memory_allow(
    monkeypatch, runs, cores, gigabytes, threads, jobs
):
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    monkeypatch.setattr(schedule, "processors", lambda: cores)
    free = SimpleNamespace(available=int(gigabytes * 1e9))
    monkeypatch.setattr(schedule.psutil, "virtual_memory", lambda: free)
    assert schedule._fit_jobs(runs) == jobs


def test_a_file_of_a_grid_may_have_blanks_in_its_path(tree):
    (tree / "my own").mkdir()
    (tree / "my own" / "a grid.yml").write_text("noise_std: [1e-3, 2]\n")
    assert plan.plan("quick", "tiny", "my own/a grid.yml") == plan.plan(
        "quick", "tiny", "noise_std=1e-3,2"
    )


def options():
    (commands,) = [action for action in make_parser()._actions if isinstance(action.choices, dict)]
    for name, command in commands.choices.items():
        assert command.description
        for action in command._actions:
            if action.dest != "help":
                yield name, action


@pytest.mark.parametrize(
    "command, action", list(options()), ids=lambda value: getattr(value, "dest", value)
)
def test_every_option_has_a_text_a_default_and_an_example(command, action):
    text = action.help or ""
    assert "e.g. " in text and len(text) > 20, (command, action.dest)
    assert bool(action.option_strings) == ("(default: " in text)


def test_a_file_that_cannot_be_written_is_one_line(tree, monkeypatch, capsys):
    def failing(error):
        def fail(*_):
            raise error

        return fail

    def said(words):
        assert main(words.split()) == 1
        error = capsys.readouterr().err
        assert error.startswith("error: ") and error.count("\n") == 1
        return error

    monkeypatch.setattr(
        execute, "write_atomically", failing(OSError(28, "No space left on device", "x"))
    )
    for card, why in (
        (CARD, "No space left on device"),
        (OTHER, "X: false as we have it, expected holds"),
    ):
        monkeypatch.setattr(execute, "_papermill", finishing(card))
        assert why in said("execute tiny")
    why = "[Errno 28] No space left on device: 'a' -> 'b'"
    # copytree and copy report errors in this form
    for failed in (shutil.Error([("a", "b", why)] * 70), shutil.Error(why)):
        monkeypatch.setattr(execute, "_papermill", failing(failed))
        assert said("execute tiny") == f"error: {why}; what is done is kept\n"
    shutil.rmtree(tree / "_build")
    (tree / "_build").write_text("a file where the folder should be")
    for words in ("book", "sweep tiny --grid seed=1", "execute tiny"):
        assert "_build" in said(words)


def test_a_folder_in_the_place_of_a_result_is_named(tree, monkeypatch, capsys):
    monkeypatch.setattr(execute, "_papermill", finishing(CARD))
    (run,) = plan.plan("quick")
    run.path.mkdir(parents=True)
    assert main(["execute", "tiny"]) == 1
    assert capsys.readouterr().err == f"error: {run.path}: Is a directory; what is done is kept\n"


def test_a_cluster_needs_a_python_whose_path_has_no_space(tree, monkeypatch):
    (tree / "profiles" / "slurm").mkdir(parents=True)
    (tree / "profiles" / "slurm" / "config.yaml").write_text("executor: slurm\n")
    monkeypatch.setattr(sys, "executable", "/opt/my book/bin/python")
    with pytest.raises(
        BadInput, match=r"profile='profiles/slurm': needs a path of Python without a space"
    ):
        schedule.schedule(plan.plan("quick"), "2", "profiles/slurm")


def test_an_invalid_root_seed_is_one_line_though_it_is_read_on_import():
    done = program(sys.executable, "-m", "icl_book", "book", ICL_SEED="abc")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == "error: ICL_SEED='abc': must be an integer from 0 to 2**31 - 1\n"


def test_nothing_slow_is_imported_to_see_that_nothing_is_to_do():
    slow = {"torch", "scipy", "pandas", "papermill", "jupytext"}
    done = program(
        sys.executable, "-c", f"import sys, icl_book.__main__; print({slow} & {{*sys.modules}})"
    )
    assert done.stdout == "set()\n"


def test_without_extras_the_command_line_names_the_one_that_is_missing():
    code = "import sys; sys.modules['yaml'] = None; import icl_book.__main__"
    done = program(sys.executable, "-c", code)
    assert done.returncode == 1
    assert done.stderr == "error: yaml is not installed; it comes with softmax-icl-book\n"


# ------------------------------------------------------------------ Snakemake, for real
@pytest.fixture
def snakemake(tree, monkeypatch, capfd):
    """Schedule the run ``tiny``, whose command is a stand-in that a shell runs; return what came of it."""
    shutil.copy(ROOT / "Snakefile", tree)
    shutil.copytree(ROOT / "profiles", tree / "profiles")
    (tree / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tree / "temporary"))
    monkeypatch.setenv("TMPDIR", str(tree / "temporary"))
    monkeypatch.setattr(execute, "_papermill", finishing(CARD))
    (run,) = plan.plan("quick")
    result = shlex.quote(str(execute.execute(run)))
    monkeypatch.setattr(schedule, "process", process)
    python = tree / "python"
    python.write_text(
        f"""#!/bin/sh
[ "$2" = snakemake ] && exec {shlex.quote(sys.executable)} "$@"
env >environment && mkdir "$TMPDIR/left" || exit 2
. ./then
"""
    )
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))

    def called(then):
        shutil.move(run.path, tree / "result.ipynb")
        (tree / "then").write_text(then.format(result=result))
        capfd.readouterr()
        status = schedule.schedule([run], "2")
        said = capfd.readouterr().out
        lines = (tree / "environment").read_text().splitlines()
        return status, said, dict(x.split("=", 1) for x in lines if "=" in x)

    return called


DONE = "cp result.ipynb {result}"


def test_a_call_shares_the_processors_that_it_may_use_and_leaves_no_temporary_folder(
    tree, monkeypatch, snakemake
):
    """It uses the processors of the process, and ignores a profile of the user."""
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(14)))
    (tree / "mine").mkdir()
    (tree / "mine" / "config.yaml").write_text("dry-run: true\n")
    monkeypatch.setenv("SNAKEMAKE_PROFILE", str(tree / "mine"))
    status, said, environment = snakemake(DONE)
    assert status == 0 and said.splitlines()[-1].startswith("done in")
    assert environment["OMP_NUM_THREADS"] == "7"
    assert Path(environment["TMPDIR"]).parent == tree / "temporary"
    assert list((tree / "temporary").iterdir()) == []
    assert list((tree / "_build" / "calls").iterdir()) == []


def test_the_users_own_threads_count_and_without_a_result_nothing_is_done(monkeypatch, snakemake):
    monkeypatch.setenv("OMP_NUM_THREADS", "5,2")
    status, said, environment = snakemake("true")
    assert status != 0 and "done in" not in said
    last = said.splitlines()[-1]
    assert last.startswith("FAILED") and "1 of 1 runs not done" in last
    assert environment["OMP_NUM_THREADS"] == "5"


@pytest.mark.parametrize("status, told", [(1, True), (137, False)])
def test_snakemake_adds_nothing_to_the_reason_of_a_failed_run(snakemake, status, told):
    """On a full disk no file with the reason can be written."""
    failed, said, _ = snakemake(f"echo error: No space left; exit {status}")
    assert failed != 0 and said.splitlines()[1] == "error: No space left"
    assert said.splitlines()[-1].startswith("FAILED after")
    assert (len(said.splitlines()) == 3) == told == ("non-zero exit" not in said)


def test_a_call_with_nothing_to_do_removes_what_killed_calls_left(tree, monkeypatch, snakemake):
    (run,) = plan.plan("quick")
    names = ("icl-call-old", "icl-call-used", "icl-kernel-old", "icl-call-new", "a")
    folders = [tree / "temporary" / name for name in names]
    folders.append(tree / "_build" / "calls" / f"{os.uname().nodename}-old")
    for folder in folders:
        folder.mkdir(parents=True)
    with process.scratch("icl-kernel-", folders[1]):
        for folder in folders:
            if folder.name != "icl-call-new":
                os.utime(folder, (1, 1))
        assert schedule.schedule([run], "1") == 0
        left = [folder.name for folder in folders if folder.exists()]
    assert left == ["icl-call-used", "icl-call-new", "a"]


def test_a_file_system_without_locks_is_named_with_what_to_do(tree, monkeypatch, capsys):
    def none(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", none)
    (run,) = plan.plan("quick")
    assert main(["execute", "tiny"]) == 1
    said = capsys.readouterr().err
    lock = run.path.with_name(f".{run.path.stem}.lock")
    assert said == (
        f"error: {lock}: cannot be locked, because its file system has no locks; "
        "make _build a link to a folder on another one\n"
    )


# ------------------------------------------------------------------------- tables
def test_tables_are_long_and_numbers_stay_numbers(tree, monkeypatch):
    """Each case of each reading is a row with labels as columns; NaN and infinity stay numbers."""
    case = {
        "name": "n = 3",
        "outcome": "agrees",
        "kind": "sampled",
        "samples": 8,
        "parameters": {"d": 2},
    }
    first = case | {"measured": 1.5, "interval": [1.0, "inf"]}
    second = case | {"measured": "inf", "interval": [1.0, "inf"], "parameters": {"d": 3, "seed": 9}}
    card = CARD | {"readings": {"ours": "agrees", "theirs": "undecided"}, "cases": [first]}
    card |= {"other_readings": {"theirs": [second]}, "holding": {}}
    kept = {"windows": "n,w,seed\n3,,1\n4,inf,1\n", "said": "words\nor so\n"}
    monkeypatch.setattr(execute, "_papermill", finishing(card, tables=kept))
    runs = plan.plan("quick", "tiny", "noise_std=1,2")
    for run in runs:
        execute.execute(run)
    assert [path.name for path in table.write(runs)] == ["cases.csv"]
    written = table.write(runs, ["X", "windows"])
    assert [path.name for path in written] == ["cases.csv", "wide.csv", "windows.csv"]
    for read, suffix in ((pd.read_csv, ".csv"), (pd.read_parquet, ".parquet")):
        cases, wide, windows = (read(path.with_suffix(suffix)) for path in written)
        assert cases["noise_std"].tolist() == [1, 1, 2, 2] and cases["d"].tolist() == [2, 3, 2, 3]
        assert cases["reading"].tolist() == ["ours", "theirs"] * 2 and set(cases["verdict"]) == {
            "holds"
        }
        assert (
            cases["measured"].tolist() == [1.5, float("inf")] * 2
            and cases["seed"].tolist() == [0] * 4
        )
        assert cases["case seed"].isna().tolist() == [True, False] * 2, (
            "a label called like a parameter"
        )
        assert wide["X | ours | n = 3"].tolist() == [1.5, 1.5] and wide["noise_std"].tolist() == [
            1,
            2,
        ]
        assert windows["n"].tolist() == [3, 4] * 2 and windows["noise_std"].tolist() == [1, 1, 2, 2]
        assert windows["w"].isna().tolist() == [True, False] * 2 and windows["w"].max() == float(
            "inf"
        )
        assert windows["seed"].tolist() == [0] * 4 and windows["table seed"].tolist() == [1] * 4
        assert set(windows["notebook"]) == {run.path.name for run in runs}
    with pytest.raises(BadInput, match="^collect='v': tiny has X, said, windows$"):
        table.write(runs, ["windows", "v"])


def test_a_statement_without_a_case_where_a_reader_explores_is_no_error_and_in_the_table(
    tree, monkeypatch
):
    monkeypatch.setattr(execute, "_papermill", finishing(EMPTY))
    (run,) = plan.plan("quick", "tiny", "noise_std=2")
    execute.execute(run)
    cases = pd.read_csv(table.write([run], ["X"])[0])
    assert cases["verdict"].tolist() == ["inconclusive"] and cases["measured"].isna().all()
    assert cases["case"].tolist() == ["no case at these parameters"]
