"""Plans, addresses, results and the command line, without starting a kernel."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import asdict

import pandas as pd
import pytest

from icl_book import provenance
from icl_book.__main__ import main
from icl_book.claims import registry
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner import execute, plan, reach, record, schedule, table

TINY = ROOT / "tests" / "data" / "tiny.py"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A small repository with one notebook, and a runner that refuses to start kernels."""
    for folder in ("icl", "notebooks", "presets", "book/claims", "book/icl_book/site"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "icl" / "__init__.py").write_text("")
    (tmp_path / "icl" / "statistics.py").write_text("from icl.checks import real\n\nconstant = 1\n")
    (tmp_path / "icl" / "checks.py").write_text('"""What."""\nreal = 1\n')
    (tmp_path / "icl" / "other.py").write_text("constant = 1\n")
    (tmp_path / "requirements.lock").write_text("numpy==1\n")
    (tmp_path / "presets" / "quick.yml").write_text("tiny: {noise_std: 1e-3}\n")
    (tmp_path / "presets" / "wrong.yml").write_text("tiny: {noise_std: -1}\n")
    (tmp_path / "presets" / "empty.yml").touch()
    (tmp_path / "presets" / "broken.yml").write_text("tiny: {noise_std: [}\n")
    shutil.copy(TINY, tmp_path / "notebooks" / "tiny.py")
    (tmp_path / "_config.yml").write_text("repository: {url: https://example.org/book}\n")
    for module in (plan, execute, record, schedule, table):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("ICL_SEED", "ICL_DEVICE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(execute, "_papermill", lambda *a: pytest.fail("a kernel was started"))
    monkeypatch.setattr(schedule, "subprocess", None)
    return tmp_path


# --------------------------------------------------------------------------- addresses
def test_address_changes_with_all_that_numbers_depend_on_and_with_nothing_else(tree, monkeypatch):
    seen = [plan.plan("quick")[0].path]

    def write(path, text):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)

    for path in (
        "book/icl_book/site/pages.py",
        "book/style.css",
        "icl/__pycache__/a.pyc",
        "icl/other.py",
        "book/claims/paper1.yml",
        "README.md",
        "benchmarks/results/a.json",
    ):
        write(path, "x: {}\n")
    write("icl/checks.py", '"""What it is."""\nreal = 1  # a comment\n')
    for path in (tree / "icl").glob("*.py"):
        os.utime(path, (0, 0))  # touched, not changed
    assert plan.plan("quick")[0].path == seen[0]
    changes = {
        "notebooks/tiny.py": TINY.read_text() + "\n# a word\n",
        "icl/checks.py": "real = 2\n",
        "icl/statistics.py": "constant = 2\n",
        "book/icl_book/notebook.py": "style = 2\n",
        "book/icl_book/templates/card.html.j2": "card\n",
        "requirements.lock": "numpy==2\n",
        "presets/quick.yml": "tiny: {noise_std: 2e-3}\n",
    }
    for path, text in changes.items():
        write(path, text)
        seen.append(plan.plan("quick")[0].path)
    for name, value in (("ICL_DEVICE", "cuda"), ("ICL_SEED", "7")):
        monkeypatch.setenv(name, value)
        seen.append(plan.plan("quick")[0].path)
    monkeypatch.setattr(provenance, "version", lambda name: "9.9" if name == "torch" else "1")
    seen.append(plan.plan("quick")[0].path)
    assert len(set(seen)) == len(changes) + 4
    monkeypatch.undo()
    monkeypatch.setattr(plan, "ROOT", tree)
    monkeypatch.delenv("ICL_SEED", raising=False)
    write("presets/quick.yml", "tiny: {noise_std: 1e-3}\n")
    assert plan.plan("quick")[0].path == seen[-5], "reverting an edit must bring the old address back"


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


def test_a_run_depends_on_the_modules_and_claims_that_its_notebook_names():
    for name, cards in json.loads((ROOT / "tests" / "data" / "golden.json").read_text()).items():
        source = plan.source(name)
        assert set(cards) <= set(reach.claims(source)), f"{name}: a card's id stands nowhere in the notebook"
        code = reach.code(source)
        assert {"icl_book.claims.judge", "icl_book.plots", "icl_book.parameters"} <= set(code), name
    found = reach.code("from icl.tensor_trick import vec\nimport numpy, icl.files")
    assert {"icl.tensor_trick.kronecker", "icl.tensor_trick.inputs", "icl.files"} < set(found)
    assert not any(name.startswith(("icl.tensor_trick.lip", "icl.risk", "icl_book")) for name in found)
    assert "icl.tasks.classes" in reach.code("def f():\n    from icl.risk import optimal_window\n")
    assert list(reach.claims('judge(f"P2.icl.{card}")')) == [k for k in registry() if k.startswith("P2.icl.")]


def test_runs_start_in_the_order_of_the_preset(tree):
    for name in ("a", "b"):
        shutil.copy(TINY, tree / "notebooks" / f"{name}.py")
    (tree / "presets" / "quick.yml").write_text("b: {}\ntiny: {}\na: {}\n")
    assert [r.name for r in plan.plan("quick")] == ["b", "tiny", "a"]


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
        parameters = plan.defaults("tiny") | run.overrides
        node["metadata"] = {"icl": asdict(run) | {"parameters": parameters}}
        record.seal(node)
        return node

    return run_cells


CARD = {"id": "X", "verdict": "holds", "expected": "holds", "as_expected": True, "control_passed": True}
OTHER = CARD | {"verdict": "false as printed", "as_expected": False}
OPEN = OTHER | {"verdict": "inconclusive"}


@pytest.mark.parametrize(
    "card, preset, passes",
    [
        (CARD, "quick", True),
        (OPEN, "quick", False),
        (OPEN, "smoke", True),
        (OTHER, "smoke", False),
        (OTHER, "paper", True),
        (CARD | {"control_passed": False, "as_expected": False}, "quick", False),
    ],
)
def test_a_verdict_that_is_not_the_expected_one_fails_the_run(tree, monkeypatch, card, preset, passes):
    monkeypatch.setattr(execute, "_papermill", finishing(card))
    (tree / "presets" / f"{preset}.yml").write_text("tiny: {}\n")
    (run,) = plan.plan(preset)
    if passes:
        assert record.collect(execute.execute(run))["cards"] == [card]
    else:
        with pytest.raises(BadInput, match="X: "):
            execute.execute(run)
    assert run.path.exists() == passes


def test_a_run_during_which_its_sources_changed_or_went_does_not_count(tree, monkeypatch):
    source = tree / "icl" / "statistics.py"
    edits = {"changed while it ran": lambda: source.write_text("constant = 2\n")}
    edits["notebook 'tiny': does not exist"] = (tree / "notebooks" / "tiny.py").unlink
    for reason, edit in edits.items():
        monkeypatch.setattr(execute, "_papermill", finishing(CARD, meanwhile=edit))
        (run,) = plan.plan("quick")
        with pytest.raises(BadInput, match=reason):
            execute.execute(run)
        assert not run.path.exists() and reason in run.reason.read_text()


def test_only_the_last_few_outputs_are_kept_and_what_a_neighbor_writes_is_left_alone(tree, monkeypatch):
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
    with pytest.raises(AttributeError, match="run"):  # Snakemake is asked
        schedule.schedule([run], "1")
    said = capsys.readouterr().out
    assert "it will run again" in said and "1 runs, 1 to do" in said
    assert record.collect(execute.execute(run)) == before and path.read_text() == content


# ------------------------------------------------------------------------- command line
@pytest.mark.parametrize(
    "words, expected",
    [
        ("execute nothing", "notebook 'nothing': does not exist; there are tiny"),
        (
            "execute tiny --preset huge",
            "preset 'huge': does not exist; there are broken, empty, quick, wrong",
        ),
        ("execute tiny --preset wrong", "noise_std=-1: must be a finite number >= 0 and <= 1e+06"),
        ("execute tiny --preset broken", "presets/broken.yml: not YAML"),
        ("execute tiny -p nois_std=1", "unknown parameter nois_std=1: this notebook has dims, noise_std"),
        ("execute tiny -p noise_std=.inf", "noise_std='.inf': must be a finite number >= 0"),
        ("execute tiny -p noise_std=" + "9" * 400, "noise_std=999"),
        ("execute tiny -p noise_std=&a[*a]", "values 'noise_std=&a[*a]': must be words name=value,value"),
        ("execute tiny -p noise_std=" + "[" * 2000, "values 'noise_std=["),
        ("execute tiny -p noise_std", "values 'noise_std': must be words name=value"),
        ("execute tiny -p dims=1", "dims=1: must be a list with one or more entries, each an integer >= 2"),
        ("execute tiny -p context_length=2.5", "context_length=2.5: must be an integer >= 1"),
        ("execute tiny -p seed=true", "seed='true': must be an integer >= 0"),
        ("execute tiny --digest 0", "tiny: notebook, code, lock or data changed since it was asked for"),
        ("book --preset empty", "presets/empty.yml: needs an entry 'tiny:' with parameters, or 'tiny: {}'"),
        ("book --jobs many", "jobs='many': must be an integer >= 1"),
        ("sweep tiny", "sweep needs a notebook and a grid"),
        ("sweep tiny --grid seed=0,-1", "seed=-1: must be an integer >= 0"),
        ("sweep tiny --grid sed=0,1", "unknown parameter sed=0"),
        ("sweep tiny --grid seed=1,,2", "values 'seed=1,,2': must be words name=value,value"),
        ("sweep tiny --grid 'seed=3 seed=4'", "values 'seed=3 seed=4': must be words name=value,value, each"),
        ("sweep tiny --grid none.yml", "values 'none.yml': must be words"),
        ("sweep tiny --grid presets/broken.yml", "values 'presets/broken.yml': must be words"),
        ("sweep tiny --grid seed=0 --profile none", "profile='none': must be a folder with a config.yaml"),
        ("replicate --seed 1,x", "seed='1,x': must be positive integers"),
        ("replicate --seed 0", "seed=0: must be an integer from 1 to 2**31 - 1"),
    ],
)
def test_bad_input_is_one_line_before_anything_starts(tree, capsys, words, expected):
    assert main(shlex.split(words)) == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith(f"error: {expected}") and said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("seed", "words", "said"),
    [
        ("5", "book", "ICL_SEED=5: the book has the root seed 0"),
        ("3", "replicate --seed 5", "ICL_SEED=3: the book has the root seed 0"),
        ("9" * 5000, "execute tiny", "ICL_SEED='999"),
    ],
)
def test_a_root_that_may_not_be_used_is_refused(tree, monkeypatch, capsys, seed, words, said):
    monkeypatch.setenv("ICL_SEED", seed)
    assert main(words.split()) == 1
    assert capsys.readouterr().err.startswith(f"error: {said}")


@pytest.mark.parametrize(
    "cell, expected",
    [
        ("# %%\nseed = 0\n", 'has no cell tagged "parameters"'),
        ('# %% tags=["parameters"]\nseed = 1 + len([])\n', "parameters cell must be lines: name = literal"),
        ('# %% tags=["parameters"]\nfrobnication = 1\n', "frobnication: not in the vocabulary"),
        ('# %% tags=["parameters"]\nseed = -1\n', "seed=-1: must be an integer >= 0"),
    ],
)
def test_a_notebook_with_wrong_parameters_of_its_own_is_refused(tree, capsys, cell, expected):
    (tree / "notebooks" / "tiny.py").write_text(cell)
    (tree / "presets" / "quick.yml").write_text("tiny: {}\n")
    assert main(["execute", "tiny"]) == 1
    assert expected in capsys.readouterr().err


def raises(error):
    raise error


def test_a_file_that_cannot_be_written_is_one_line(tree, monkeypatch, capsys):
    def write(path, text):
        raise OSError(28, "No space left on device", str(path))

    for card, said in ((CARD, "No space left on device"), (OTHER, "X: false as printed, expected holds")):
        monkeypatch.setattr(execute, "_papermill", finishing(card))
        monkeypatch.setattr(execute, "write_atomically", write)
        assert main(["execute", "tiny"]) == 1
        error = capsys.readouterr().err
        assert error.startswith("error: ") and error.count("\n") == 1 and said in error
    why = "[Errno 28] No space left on device: 'a' -> 'b'"
    for failed in (shutil.Error([("a", "b", why)] * 70), shutil.Error(why)):  # as copytree and copy say it
        monkeypatch.setattr(execute, "_papermill", lambda *_, failed=failed: raises(failed))
        assert main(["execute", "tiny"]) == 1
        assert capsys.readouterr().err == f"error: {why}; what is done is kept\n"
    shutil.rmtree(tree / "_build")
    (tree / "_build").write_text("a file where the folder should be")
    for words in ("book", "sweep tiny --grid seed=1", "execute tiny"):
        assert main(words.split()) == 1
        error = capsys.readouterr().err
        assert error.startswith("error: ") and error.count("\n") == 1 and "_build" in error


def test_a_cluster_needs_a_python_whose_path_has_no_space(tree, monkeypatch):
    (tree / "profiles" / "slurm").mkdir(parents=True)
    (tree / "profiles" / "slurm" / "config.yaml").write_text("executor: slurm\n")
    monkeypatch.setattr(sys, "executable", "/opt/my book/bin/python")
    with pytest.raises(BadInput, match=r"profile='profiles/slurm': needs a path of Python without a space"):
        schedule.schedule(plan.plan("quick"), "2", "profiles/slurm")


def test_a_root_that_is_none_is_one_line_though_it_is_read_on_import():
    done = subprocess.run(
        [sys.executable, "-m", "icl_book", "book"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"ICL_SEED": "abc"},
    )
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == "error: ICL_SEED='abc': must be an integer from 0 to 2**31 - 1\n"


def test_nothing_slow_is_imported_to_see_that_nothing_is_to_do():
    slow = {"torch", "scipy", "pandas", "papermill", "jupytext"}
    code = f"import sys, icl_book.__main__; print(*{slow} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_without_extras_the_command_line_names_the_one_that_is_missing():
    code = "import sys; sys.modules['yaml'] = None; import icl_book.__main__"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: yaml is not installed; it comes with the extra icl[notebook]\n"


# ------------------------------------------------------------------------- tables
def test_tables_are_long_and_numbers_stay_numbers(tree, monkeypatch):
    """A row a case of each reading, labels as columns; NaN and infinity are numbers, a text is none."""
    case = {"name": "n = 3", "outcome": "agrees", "kind": "sampled", "samples": 8, "parameters": {"d": 2}}
    first = case | {"measured": 1.5, "interval": [1.0, "inf"]}
    second = case | {"measured": "inf", "interval": [1.0, "inf"], "parameters": {"d": 3, "seed": 9}}
    card = CARD | {"readings": {"ours": "agrees", "theirs": "undecided"}, "cases": [first]}
    card |= {"other_readings": {"theirs": [second]}}
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
        assert cases["reading"].tolist() == ["ours", "theirs"] * 2 and set(cases["verdict"]) == {"holds"}
        assert cases["measured"].tolist() == [1.5, float("inf")] * 2 and cases["seed"].tolist() == [0] * 4
        assert cases["case seed"].isna().tolist() == [True, False] * 2, "a label called like a parameter"
        assert wide["X | ours | n = 3"].tolist() == [1.5, 1.5] and wide["noise_std"].tolist() == [1, 2]
        assert windows["n"].tolist() == [3, 4] * 2 and windows["noise_std"].tolist() == [1, 1, 2, 2]
        assert windows["w"].isna().tolist() == [True, False] * 2 and windows["w"].max() == float("inf")
        assert windows["seed"].tolist() == [0] * 4 and windows["table seed"].tolist() == [1] * 4
        assert set(windows["notebook"]) == {run.path.name for run in runs}
    with pytest.raises(BadInput, match="^collect='v': tiny has X, said, windows$"):
        table.write(runs, ["windows", "v"])
