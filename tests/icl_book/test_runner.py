"""Parameters, addresses and the command line, without starting a kernel."""

import json
import math
import shutil
import subprocess
import sys

import pytest
from pyarrow import parquet

from icl.files import atomic_path
from icl_book import notebook, provenance
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner import cli, cost, execute, lock, plan, record, schedule, table
from icl_book.site import assemble

TINY = ROOT / "tests" / "data" / "tiny.py"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A small repository with one notebook, and a runner that refuses to start kernels."""
    for folder in ("icl", "notebooks", "presets", "results"):
        (tmp_path / folder).mkdir()
    (tmp_path / "icl" / "statistics.py").write_text("constant = 1\n")
    (tmp_path / "requirements.lock").write_text("numpy==1\n")
    (tmp_path / "presets" / "quick.yml").write_text("tiny: {noise_std: 1e-3}\n")
    (tmp_path / "presets" / "wrong.yml").write_text("tiny: {noise_std: -1}\n")
    (tmp_path / "presets" / "broken.yml").write_text("tiny: {noise_std: [}\n")
    shutil.copy(TINY, tmp_path / "notebooks" / "tiny.py")
    (tmp_path / "_config.yml").write_text("repository: {url: https://example.org/book}\n")
    for module in (plan, execute, schedule, table, notebook, cost):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(execute, "_papermill", lambda *a: pytest.fail("a kernel was started"))
    monkeypatch.setattr(schedule, "subprocess", None)
    return tmp_path


# --------------------------------------------------------------------------- addresses
def test_address_changes_with_everything_the_numbers_depend_on(tree, monkeypatch):
    source = tree / "notebooks" / "tiny.py"
    seen = []

    def new(note):
        (run,) = plan.plan("quick")
        assert run.digest not in seen, f"{note}: did not change the address"
        seen.append(run.digest)

    new("first")
    source.write_text(source.read_text() + "\n# a word\n")
    new("notebook")
    (tree / "icl" / "statistics.py").write_text("constant = 2\n")
    new("icl")
    (tree / "icl" / "table.csv").write_text("1\n")
    new("data in icl")
    (tree / "requirements.lock").write_text("numpy==2\n")
    new("lock")
    (tree / "presets" / "quick.yml").write_text("tiny: {noise_std: 2e-3}\n")
    new("preset")
    source.write_text(source.read_text() + '\nnotebook.data("results/x.json")\n')
    new("names a file")
    (tree / "results" / "x.json").write_text("1")
    new("file appears")
    (tree / "results" / "x.json").write_text("2")
    new("file changes")
    monkeypatch.setenv("ICL_DEVICE", "cpu")
    new("device")
    monkeypatch.delenv("ICL_DEVICE")
    monkeypatch.setattr(plan, "version", lambda name: "9.9" if name == "torch" else "1")
    plan.installed.cache_clear()
    new("installed package")
    monkeypatch.undo()
    monkeypatch.setattr(plan, "ROOT", tree)
    plan.installed.cache_clear()
    (tree / "results" / "x.json").write_text("1")
    assert plan.plan("quick")[0].digest == seen[-4], "reverting an edit must bring the old address back"


def test_caches_and_unrelated_files_leave_the_address_alone(tree):
    before = plan.plan("quick")[0].path
    (tree / "icl" / "__pycache__").mkdir()
    (tree / "icl" / "__pycache__" / "module.pyc").write_text("x")
    (tree / "README.md").write_text("x")
    assert plan.plan("quick")[0].path == before


def test_a_data_file_must_be_named_literally_and_exist(tree):
    source = tree / "notebooks" / "tiny.py"
    source.write_text(source.read_text() + "\nnotebook.data(name)\n")
    with pytest.raises(BadInput, match="literal"):
        _ = plan.plan("quick")[0].digest
    with pytest.raises(BadInput, match="data file 'results/none.json': not found"):
        notebook.data("results/none.json")


def test_runs_start_in_the_order_of_the_preset(tree):
    for name in ("a", "b"):
        shutil.copy(TINY, tree / "notebooks" / f"{name}.py")
    (tree / "presets" / "quick.yml").write_text("b: {}\ntiny: {}\na: {}\n")
    assert [r.name for r in plan.plan("quick")] == ["b", "tiny", "a"]


def test_grid_is_all_combinations_and_kept_apart_from_the_book(tree):
    found = plan.plan("quick", "tiny", "noise_std=1e-3,2 dims=[2,3],[5]")
    assert [r.overrides for r in found] == [
        {"noise_std": 1e-3},
        {"noise_std": 1e-3, "dims": [5]},
        {"noise_std": 2},
        {"noise_std": 2, "dims": [5]},
    ]
    assert [r.exploring for r in found] == [False, True, True, True]
    assert len({r.path for r in found}) == 4
    assert [r.path.parent.name for r in found] == ["quick", "sweep", "sweep", "sweep"]
    assert found[0].path == plan.plan("quick")[0].path


def test_a_grid_may_be_a_file_and_names_each_parameter_and_value_once(tree):
    (tree / "grid.yml").write_text("noise_std: [1e-3, 2]\ndims: [[2, 3], [5]]\n")
    words = "noise_std=1e-3,2,0.001 dims=[2, 3],[5]"
    assert (
        plan.read_grid("grid.yml") == plan.read_grid(words) == {"noise_std": [1e-3, 2], "dims": [[2, 3], [5]]}
    )
    with pytest.raises(BadInput, match="grid 'seed=4': names seed a second time"):
        plan.read_grid("seed=3 seed=4")


def test_what_a_neighbor_is_writing_is_left_alone(tree):
    """Another run of the same notebook, with other parameters or in another process."""
    (run,) = plan.plan("quick")
    run.path.parent.mkdir(parents=True)
    with atomic_path(run.path.with_name("tiny.other.ipynb")) as part:
        part.write_text("x")
        execute._forget(run)
    assert run.path.with_name("tiny.other.ipynb").read_text() == "x"


def test_only_the_last_few_outputs_are_kept(tree):
    (run,) = plan.plan("quick")
    folder = run.path.parent
    folder.mkdir(parents=True)
    for i in range(9):
        for suffix in (".ipynb", ".failed.ipynb"):
            (folder / f"tiny.{i}{suffix}").write_text("x")
            execute.os.utime(folder / f"tiny.{i}{suffix}", (i, i))
    (folder / "tinier.1.ipynb").write_text("x")
    execute._forget(run)
    kept = {f"tiny.{i}.ipynb" for i in range(4, 9)}
    assert {p.name for p in folder.iterdir()} == kept | {"tinier.1.ipynb"}


def executed(*cards):
    """An executed notebook with a footer and these cards, as `execute._papermill` returns it."""

    class Node(dict):
        metadata = property(lambda self: self["metadata"])

    outputs = [{"data": {provenance.FOOTER_MIME: {"seconds": 1.0, "device": "cpu"}}}]
    outputs += [{"data": {provenance.CARD_MIME: card}} for card in cards]
    outputs = [{"output_type": "display_data"} | output for output in outputs]
    return Node(metadata={}, cells=[{"cell_type": "code", "source": "", "outputs": outputs}])


CARD = {
    "id": "X",
    "verdict": "holds",
    "expected": "holds",
    "as_expected": True,
    "control_passed": True,
    "why_not": "",
}


def test_a_run_during_which_the_package_changed_does_not_count(tree, monkeypatch):
    def edited_meanwhile(*_):
        (tree / "icl" / "statistics.py").write_text("constant = 2\n")
        return executed(CARD), None

    monkeypatch.setattr(execute, "_papermill", edited_meanwhile)
    (run,) = plan.plan("quick")
    path = run.path
    with pytest.raises(BadInput, match="changed while it ran"):
        execute.execute(run)
    assert not path.exists() and not run.path.exists() and path.with_suffix(".failed.ipynb").is_file()


def test_a_claim_that_the_notebook_names_nowhere_fails_the_run(tree, monkeypatch):
    source = tree / "notebooks" / "tiny.py"
    source.write_text(source.read_text().replace("Claim", "built"))  # its id is then built somehow
    monkeypatch.setattr(execute, "_papermill", lambda *_: (executed(CARD | {"id": "P1.one"}), None))
    (run,) = plan.plan("quick")
    with pytest.raises(BadInput, match=r"judges P1.one, an id that the notebook names nowhere"):
        execute.execute(run)


@pytest.mark.parametrize(
    "card, preset, passes",
    [
        (CARD, "quick", True),
        (CARD | {"verdict": "inconclusive", "as_expected": False}, "quick", False),
        (CARD | {"verdict": "inconclusive", "as_expected": False}, "smoke", True),
        (CARD | {"verdict": "fails as printed", "as_expected": False}, "smoke", False),
        (CARD | {"verdict": "fails as printed", "as_expected": False}, "paper", True),
        (CARD | {"control_passed": False, "as_expected": False}, "quick", False),
    ],
)
def test_a_verdict_that_is_not_the_expected_one_fails_the_run(tree, monkeypatch, card, preset, passes):
    monkeypatch.setattr(execute, "_papermill", lambda *_: (executed(card), None))
    (tree / "presets" / f"{preset}.yml").write_text("tiny: {}\n")
    (run,) = plan.plan(preset)
    if passes:
        assert record.collect(execute.execute(run))["cards"] == [card]
    else:
        with pytest.raises(BadInput, match="X: "):
            execute.execute(run)
    assert run.path.exists() == passes


def test_results_of_the_paper_preset_are_kept_for_committing(tree, monkeypatch):
    monkeypatch.setattr(execute, "_papermill", lambda *_: (executed(CARD), None))
    (tree / "presets" / "paper.yml").write_text("tiny: {seed: 3}\n")
    (run,) = plan.plan("paper")
    path = execute.execute(run)
    kept = json.loads((tree / "results" / "paper" / "tiny.json").read_text())
    assert kept == record.collect(path)
    assert kept["parameters"] == {"dims": [2, 3], "noise_std": 0.5, "context_length": 4, "seed": 3}
    execute.execute(plan.plan("paper", "tiny", "seed=4")[0])
    assert json.loads((tree / "results" / "paper" / "tiny.json").read_text()) == kept


# ------------------------------------------------------------------------- command line
@pytest.mark.parametrize(
    "words, expected",
    [
        ("execute nothing", "notebook 'nothing': does not exist; there are tiny"),
        ("sweep tiny --grid seed=0,1 --collect rate,rsk", "collect='rsk': tiny keeps rate, noise-*"),
        ("execute ../tiny", "notebook '../tiny': does not exist"),
        ("execute tiny --preset huge", "preset 'huge': does not exist; there are broken, quick, wrong"),
        ("execute tiny --preset wrong", "noise_std=-1: must be a finite number >= 0 and <= 1e+06"),
        ("execute tiny --preset broken", "presets/broken.yml: not YAML"),
        ("execute tiny -p nois_std=1", "unknown parameter nois_std=1: this notebook has dims, noise_std"),
        ("execute tiny -p lipschitz=1", "unknown parameter lipschitz=1"),
        ("execute tiny -p noise_std=-0.5", "noise_std=-0.5: must be a finite number >= 0"),
        ("execute tiny -p noise_std=nan", "noise_std=nan: must be a finite number >= 0"),
        ("execute tiny -p noise_std=.inf", "noise_std='.inf': must be a finite number >= 0"),
        ("execute tiny -p noise_std=1_0", "noise_std='1_0': must be a finite number >= 0"),
        ("execute tiny -p noise_std=" + "9" * 400, "noise_std=999"),
        ("execute tiny -p noise_std=" + "9" * 5000, "noise_std='999"),
        ("execute tiny -p noise_std=&a[*a]", "-p noise_std: '&a[*a]': must be a number"),
        ("execute tiny -p noise_std=" + "[" * 2000, "-p noise_std: '[[["),
        ("execute tiny -p seed=010x", "seed='010x': must be an integer"),
        ("execute tiny -p noise_std=loud", "noise_std='loud': must be a finite number >= 0"),
        ("execute tiny -p noise_std=", "-p 'noise_std=': must look like name=value"),
        ("execute tiny -p noise_std", "-p 'noise_std': must look like name=value"),
        ("execute tiny -p noise_std=[", "-p noise_std: '[': must be a number or a list of numbers"),
        ("execute tiny -p dims=1", "dims=1: must be a list with one or more entries, each an integer >= 2"),
        ("execute tiny -p dims=[1]", "dims=[1]: must be a list"),
        ("execute tiny -p context_length=0", "context_length=0: must be an integer >= 1"),
        ("execute tiny -p context_length=2.5", "context_length=2.5: must be an integer >= 1"),
        ("execute tiny -p seed=true", "seed='true': must be an integer >= 0"),
        ("book --preset huge", "preset 'huge': does not exist"),
        ("book --preset wrong", "noise_std=-1: must be"),
        ("book --jobs 0", "jobs='0': must be an integer >= 1"),
        ("book --jobs many", "jobs='many': must be an integer >= 1"),
        ("sweep tiny", "sweep needs a notebook and a grid"),
        ("sweep nothing --grid seed=0", "notebook 'nothing': does not exist"),
        ("sweep tiny --grid seed=0,-1", "seed=-1: must be an integer >= 0"),
        ("sweep tiny --grid sed=0,1", "unknown parameter sed=0"),
        ("sweep tiny --grid seed", "grid 'seed': must look like name=value,value"),
        ("sweep tiny --grid seed=1,,2", "grid 'seed=1,,2': must look like name=value,value"),
        ("sweep tiny --grid none.yml", "grid 'none.yml': no such file in"),
        ("sweep tiny --grid presets/broken.yml", "grid 'presets/broken.yml': must be YAML with lines"),
        ("sweep tiny --grid presets/quick.yml", "grid 'presets/quick.yml': must be YAML with lines"),
        ("sweep tiny --grid seed=0 --profile none", "profile='none': must be a folder with a config.yaml"),
        ("sweep tiny --grid seed=[", "grid 'seed=[': must look like name=value,value"),
    ],
)
def test_bad_input_is_one_line_before_anything_starts(tree, capsys, words, expected):
    assert cli.main(words.split()) == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith(f"error: {expected}") and said.err.count("\n") == 1


@pytest.mark.parametrize(
    "cell, expected",
    [
        ("# %%\nseed = 0\n", 'has no cell tagged "parameters"'),
        (
            '# %% tags=["parameters"]\nseed = 1 + len([])\n',
            "its parameters cell must be lines: name = literal",
        ),
        ('# %% tags=["parameters"]\nfrobnication = 1\n', "frobnication: not in the vocabulary"),
        ('# %% tags=["parameters"]\nseed = -1\n', "seed=-1: must be an integer >= 0"),
    ],
)
def test_a_notebook_with_wrong_parameters_of_its_own_is_refused(tree, capsys, cell, expected):
    (tree / "notebooks" / "tiny.py").write_text(cell)
    (tree / "presets" / "quick.yml").write_text("tiny: {}\n")
    assert cli.main(["execute", "tiny"]) == 1
    assert expected in capsys.readouterr().err


def test_every_notebook_needs_an_entry_in_the_preset(tree):
    (tree / "presets" / "quick.yml").write_text("other: {}\n")
    with pytest.raises(BadInput, match="presets/quick.yml: needs an entry 'tiny:'"):
        plan.plan("quick")


def test_collect_refuses_a_notebook_that_did_not_run_to_its_end(tmp_path):
    path = tmp_path / "x.ipynb"
    path.write_text(json.dumps({"cells": [], "metadata": {}}))
    with pytest.raises(BadInput, match="x.ipynb: not executed to its end"):
        record.collect(path)
    node = executed() | {"metadata": {"icl": {}}, "cells": []}
    record.seal(node)
    path.write_text(json.dumps(node))
    with pytest.raises(BadInput, match="x.ipynb: needs one notebook.footer"):
        record.collect(path)
    with pytest.raises(BadInput, match="none.ipynb: No such file"):
        record.collect(tmp_path / "none.ipynb")


DAMAGE = {
    "cut short": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "not text": lambda text: b"\xff\xfe" + text.encode(),
    "another JSON": lambda text: '{"a": 1}',
    "a list": lambda text: "[]",
    "a number altered": lambda text: text.replace('"seconds": 1.0', '"seconds": 2.0'),
    "a parameter altered": lambda text: text.replace('"noise_std": 0.001', '"noise_std": 0.002'),
    "a cell lost": lambda text: text.replace('"cells": [', '"cells": [], "was": ['),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_result_is_named_and_runs_again(tree, monkeypatch, capsys, kind):
    monkeypatch.setattr(execute, "_papermill", lambda *_: (executed(CARD), None))
    (run,) = plan.plan("quick")
    path = execute.execute(run)
    whole, before = path.read_text(), record.collect(path)
    damaged = DAMAGE[kind](whole)
    assert damaged != whole
    path.write_bytes(damaged if isinstance(damaged, bytes) else damaged.encode())
    with pytest.raises(BadInput) as caught:
        record.collect(path)
    assert path.name in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(assemble.BookError, match=path.name):
        raise assemble.BookError("\n".join(assemble.gather({"tiny": path}, TOC, "quick")[2]))
    monkeypatch.setattr(schedule, "_snakemake", lambda *given: len(given[2]))
    assert schedule.schedule({"preset": "quick"}, "1") == 1, "it is to be done again"
    assert "it will run again" in capsys.readouterr().out and not path.exists()
    assert record.collect(execute.execute(run)) == before and path.read_text() == whole
    assert schedule.schedule({"preset": "quick"}, "1") == 0


TOC = {"root": "book/introduction", "chapters": [{"file": "notebooks/tiny"}]}


@pytest.mark.parametrize(
    ("seed", "preset", "grid", "said"),
    [
        ("5", "quick", "", "root seed 5, exploring: True"),
        ("", "confirmatory", "", "preset confirmatory"),
        ("", "smoke", "", "preset smoke"),
        ("", "quick", "noise_std=2", "exploring: True"),
        ("00", "quick", "", ""),
    ],
)
def test_what_is_not_the_book_s_own_run_cannot_reach_it(tree, monkeypatch, seed, preset, grid, said):
    (tree / "presets" / f"{preset}.yml").write_text("tiny: {}\n")
    monkeypatch.setattr(execute, "_papermill", lambda *_: (executed(), None))
    monkeypatch.setenv("ICL_SEED", seed)
    path = execute.execute(plan.plan(preset, "tiny", grid)[0])
    problems = assemble.gather({"tiny": path}, TOC, "quick", tree)[2]
    refused = [p for p in problems if "a book shows its preset, drawn from root seed 0" in p]
    assert len(refused) == bool(said) and all(said in p and "\n" not in p for p in refused)
    assert record.collect(path)["root_seed"] == int(seed or 0)


@pytest.mark.parametrize(
    ("seed", "words", "said"),
    [
        ("5", "book", "ICL_SEED=5: the book has the root seed 0"),
        ("abc", "book", "ICL_SEED='abc': must be an integer from 0 to 2**31 - 1"),
        ("abc", "execute tiny", "ICL_SEED='abc': must be an integer"),
        ("9" * 5000, "execute tiny", "ICL_SEED='999"),
        ("", "book --preset confirmatory", "preset 'confirmatory': makes no book; make confirm runs it"),
    ],
)
def test_a_book_of_other_streams_or_presets_is_refused_before_it_runs(
    tree, monkeypatch, capsys, seed, words, said
):
    monkeypatch.setenv("ICL_SEED", seed)
    assert cli.main(words.split()) == 1
    assert capsys.readouterr().err.startswith(f"error: {said}")


def test_the_root_of_the_streams_is_read_in_one_way(tree, monkeypatch):
    monkeypatch.delenv("ICL_SEED", raising=False)
    (plain,) = plan.plan("quick")
    address = plain.digest
    for same in ("", "0", "00"):
        monkeypatch.setenv("ICL_SEED", same)
        (run,) = plan.plan("quick")
        assert run.digest == address and not run.exploring
    monkeypatch.setenv("ICL_SEED", "07")
    seven = plan.plan("quick")[0].digest
    monkeypatch.setenv("ICL_SEED", "7")
    assert plan.plan("quick")[0].digest == seven != address


@pytest.mark.parametrize("where", ["the result", "all files"])
def test_a_full_disk_is_one_line(tree, monkeypatch, capsys, where):
    monkeypatch.setattr(execute, "_papermill", lambda *_: (executed(CARD), None))

    def write(path, text):
        if where == "all files" or ".failed." not in path.name:
            raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(execute, "write_atomically", write)
    assert cli.main(["execute", "tiny"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1 and "No space left on device" in said
    failing = executed(CARD | {"as_expected": False, "verdict": "fails"})
    monkeypatch.setattr(execute, "_papermill", lambda *_: (failing, None))
    assert cli.main(["execute", "tiny"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "X: fails, expected holds" in said
    assert ("could not be written: No space left" in said) == (where == "all files")


def test_a_folder_that_may_not_be_written_is_one_line(tree, capsys):
    (tree / "_build").write_text("a file where the folder should be")
    for words in ("book", "sweep tiny --grid seed=1", "execute tiny"):
        assert cli.main(words.split()) == 1
        said = capsys.readouterr().err
        assert said.startswith("error: ") and said.count("\n") == 1 and "_build" in said


def test_a_notebook_that_is_deleted_while_it_runs_is_one_line_and_what_it_found_is_kept(tree, monkeypatch):
    def deleted_meanwhile(*_):
        (tree / "notebooks" / "tiny.py").unlink()
        shutil.rmtree(tree / "_build")
        return executed(CARD), None

    monkeypatch.setattr(execute, "_papermill", deleted_meanwhile)
    (run,) = plan.plan("quick")
    path = run.path
    with pytest.raises(BadInput, match="notebook 'tiny': does not exist"):
        execute.execute(run)
    assert json.loads(path.with_suffix(".failed.ipynb").read_text())["cells"]


def test_a_failure_of_a_sweep_names_the_parameters_that_were_changed(tree, monkeypatch):
    monkeypatch.setattr(execute, "_papermill", lambda *_: (executed(CARD), "cell 4: IndexError: 3"))
    (run,) = plan.plan("quick", "tiny", "dims=[7]")
    with pytest.raises(BadInput, match=r"IndexError: 3 \(with dims=\[7\], noise_std=0.001\)"):
        execute.execute(run)
    failed = run.path.with_suffix(".failed.ipynb")
    assert schedule._problem(run.path, 0).startswith("cell 4: IndexError: 3")
    monkeypatch.setattr(execute, "_papermill", lambda *_: (executed(CARD), None))
    execute.execute(run)
    assert not failed.exists(), "once a run succeeds its failure is forgotten"


def test_sync_is_stable_and_keeps_ids(tree):
    (written,) = execute.sync()
    first = written.read_text()
    assert execute.sync() == []
    cells = json.loads(first)["cells"]
    assert [c["id"] for c in cells][:2] == ["cell-00", "cell-01"]
    assert not any(c.get("outputs") for c in cells) and "parameters" in cells[3]["metadata"]["tags"]
    written.unlink()
    assert execute.sync() == [written] and written.read_text() == first


# ------------------------------------------------------------------------------- locks
HOLDER = """
import sys, time
from pathlib import Path
from icl_book.runner.lock import alone
with alone(Path(sys.argv[1]), "work"):
    print("held", flush=True)
    time.sleep(3600)
"""


def test_who_finds_a_lock_taken_says_so_and_waits_until_its_holder_has_ended(tmp_path, monkeypatch, capsys):
    path = tmp_path / "new" / ".lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    looks = []

    def sleep(_):
        looks.append(1)
        if len(looks) == 2 * lock.PATIENCE:
            holder.kill()  # no chance to clean up
            holder.wait()

    monkeypatch.setattr(lock.time, "sleep", sleep)
    with lock.alone(path, "work"):
        line = f"waiting for process {holder.pid}, which does the same: work\n"
        assert len(looks) == 2 * lock.PATIENCE and capsys.readouterr().out == 2 * line
    holder.stdout.close()
    with lock.alone(path, "work"):
        assert capsys.readouterr().out == "", "a lock that was given back is free"


def test_pages_of_a_preset_are_built_by_one_process_at_a_time(tmp_path, monkeypatch):
    class Waited(Exception):
        pass

    def sleep(_):
        raise Waited

    monkeypatch.setattr(lock.time, "sleep", sleep)
    with lock.alone(tmp_path / "_build" / ".lock-site-quick", "pages"):
        with pytest.raises(Waited):
            assemble.build("quick", {}, tmp_path)
        with pytest.raises(assemble.BookError, match="no such file"):
            assemble.build("paper", {"x": tmp_path / "none"}, tmp_path)


# --------------------------------------------------------------------------- the table of a sweep
def test_a_sweep_collects_what_the_notebook_keeps_and_nothing_else(tree):
    source = tree / "notebooks" / "tiny.py"
    source.write_text(source.read_text() + '\nnotebook.glue("risk", 1)\nnotebook.glue(f"w-{1}", 2)\n')
    assert table.offered("tiny") == ["rate", "noise-*", "risk", "w-*"]
    table.check("tiny", ["risk", "w-7"])
    with pytest.raises(BadInput, match=r"^collect='rsk': tiny keeps rate, noise-\*, risk, w-\*$"):
        table.check("tiny", ["risk", "rsk"])


def test_a_number_that_no_run_kept_is_one_line_that_names_those_there_are(monkeypatch):
    found = {
        "digest": "0",
        "seconds": 1.0,
        "parameters": {},
        "cards": [],
        "numbers": {"w-1": "2", "risk": "1"},
    }
    monkeypatch.setattr(table, "collect", lambda path: found)
    monkeypatch.setattr(table, "write_atomically", lambda *_: pytest.fail("a table was written"))
    run = plan.Run("tiny", "quick", {})
    monkeypatch.setattr(plan.Run, "path", "tiny.ipynb")
    with pytest.raises(BadInput, match="^collect='w-7': the runs of tiny kept w-1, risk$"):
        table.write([run], ["risk", "w-7"])


def test_a_table_keeps_numbers_as_numbers_and_all_of_them(tmp_path, monkeypatch):
    """NaN and infinity are numbers, a text is none, and a number that is called like a parameter is kept."""
    found = {
        "digest": "0",
        "seconds": 1.0,
        "parameters": {"w": 1},
        "cards": [],
        "numbers": {"risk": "nan", "most": "inf", "said": "'nan'", "w": "2.5", "seconds": "7"},
    }
    monkeypatch.setattr(table, "collect", lambda path: found)
    monkeypatch.setattr(table, "ROOT", tmp_path)
    monkeypatch.setattr(plan.Run, "path", tmp_path / "tiny.ipynb")
    folder = table.write([plan.Run("tiny", "quick", {})])
    written = parquet.read_table(folder / "table.parquet").to_pylist()[0]
    assert math.isnan(written["risk"]) and written["most"] == math.inf and written["said"] == "nan"
    assert (written["w"], written["kept w"]) == (1, 2.5)
    assert (written["seconds"], written["kept seconds"]) == (1.0, 7)


def test_the_page_of_a_sweep_has_a_curve_for_each_number_and_escapes_everything(tmp_path):
    rows = [
        table.Row(
            tmp_path / f"{n}-{s}.ipynb", {"digest": "0123456789"}, {"n": n, "s": s}, {"<w>": n * s, "v": "<"}
        )
        for n in (1, 2, 4)
        for s in (0.5, 1.0)
    ]
    text = table.page(rows, "Sweep of <x>", tmp_path)
    assert "<x>" not in text and "<w>" not in text and "Sweep of &lt;x&gt;" in text
    assert text.count("<tr>") == 7 and text.count("<svg") == 1 and "<th>&lt;w&gt;</th>" in text
    assert "<td>4</td><td>0.5</td><td>2</td>" in text and "<th>v</th>" not in text, "what varies is shown"
    assert "<svg" not in table.page(rows[:1], "one", tmp_path)


# ------------------------------------------------------------------------- how long it will take
def test_an_estimate_is_the_kept_seconds_shared_by_the_jobs_but_never_less_than_the_longest(tree):
    folder = tree / "benchmarks" / "results"
    folder.mkdir(parents=True)
    kept = {"paper": {"seconds": {"a": 3600, "b": 3600, "c": 7200, "d": 20}, "machine": "2 cores, X"}}
    (folder / "presets.json").write_text(json.dumps(kept))

    def estimate(names, jobs, preset="paper"):
        return cost.estimate(preset, [(name, {}) for name in names], jobs, False)

    assert estimate("abc", 1) == ", about 4.0 h (as on 2 cores, X)"
    assert estimate("abc", 16) == ", about 2.0 h (as on 2 cores, X)"
    assert estimate("aa", 2) == ", about 60 min (as on 2 cores, X)"
    assert estimate("d", 2) == ", about 20 s (as on 2 cores, X)"
    assert estimate(["a", "new"], 2) == estimate("a", 2, "quick") == estimate("", 2) == ""
    (folder / "presets.json").write_text("[")
    assert estimate("a", 2) == ""


def test_a_run_that_may_take_years_starts_only_if_the_caller_insists(tree, capsys):
    folder = tree / "benchmarks" / "results"
    folder.mkdir(parents=True)
    kept = {"quick": {"seconds": {"tiny": 100.0}, "machine": "2 cores, X"}}
    (folder / "presets.json").write_text(json.dumps(kept))
    (run,) = plan.plan("quick", "tiny", "context_length=1000000 dims=[2,3,5,8] seed=7 noise_std=3")
    assert cost.growth(run) == {"context_length": 250_000, "dims": 2.0}, "values do not count, sizes do"
    assert cost.growth(plan.plan("quick", "tiny")[0]) == {}
    words = ["sweep", "tiny", "--grid", "context_length=1000000"]
    assert cli.main(words) == 1
    assert capsys.readouterr().err == (
        "error: may take 289 days (as on 2 cores, X); context_length asks for 2.5e+05 times the work of "
        "quick; to start all the same: FORCE=1, --force\n"
    )
    assert cost.estimate("quick", [("tiny", cost.growth(run))], 1, True) == (
        ", about 579 days (as on 2 cores, X, if the work grows in proportion)"
    )
    smaller = cost.growth(plan.plan("quick", "tiny", "context_length=1")[0])
    assert cost.estimate("quick", [("tiny", smaller)], 1, False) == ", about 2 min (as on 2 cores, X)"


def test_one_notebook_that_nobody_measured_does_not_lift_the_limit(tree):
    """Nor does a preset that nobody measured, as the confirmatory one."""
    folder = tree / "benchmarks" / "results"
    folder.mkdir(parents=True)
    kept = {"quick": {"seconds": {"tiny": 100.0}, "machine": "2 cores, X"}}
    (folder / "presets.json").write_text(json.dumps(kept))
    for preset, factors in (
        ("quick", [("tiny", {"contexts": 1e6}), ("new", {})]),
        ("quick", [("new", {"contexts": 1e6})]),
        ("confirmatory", [("tiny", {"contexts": 1e6})]),
    ):
        with pytest.raises(BadInput, match="contexts asks for 1e\\+06 times the work"):
            cost.estimate(preset, factors, 2, False)
        assert cost.estimate(preset, factors, 2, True) == ""


def test_the_memory_of_the_largest_run_is_said_and_what_counts_can_multiply(tree, monkeypatch):
    folder = tree / "benchmarks" / "results"
    folder.mkdir(parents=True)
    kept = {"quick": {"seconds": {}, "memory": {"tiny": 5e8, "b": 9e8}}, "paper": {"seconds": {}}}
    (folder / "presets.json").write_text(json.dumps(kept))
    monkeypatch.setattr(cost, "memory_total", lambda: 23_000_000_000)
    assert cost.memory("quick", [("tiny", {}), ("b", {})]) == (
        "; memory of a run: up to 0.9 GB at the preset's sizes"
    )
    (run,) = plan.plan("quick", "tiny", "context_length=1000 dims=[2,3,5,8]")
    factors = [("tiny", cost.growth(run))]
    assert dict(factors)["tiny"]["context_length"] == 250
    assert cost.memory("quick", factors) == (
        "; memory of a run: up to 0.5 GB at the preset's sizes, 125 GB at these if it grows "
        "in proportion, and this machine has 23"
    )
    assert (
        cost.memory("quick", []) == cost.memory("paper", factors) == cost.memory("quick", [("new", {})]) == ""
    )


def test_a_cluster_needs_a_python_whose_path_has_no_space(tree, monkeypatch):
    (tree / "profiles" / "slurm").mkdir(parents=True)
    (tree / "profiles" / "slurm" / "config.yaml").write_text("executor: slurm\n")
    monkeypatch.setattr(sys, "executable", "/opt/my book/bin/python")
    with pytest.raises(BadInput, match=r"profile='profiles/slurm': needs a path of Python without a space"):
        schedule.schedule({"preset": "quick"}, "2", "profiles/slurm")
