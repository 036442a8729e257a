"""An edit of a chapter arrives, whichever file of the pair was edited, and none is lost in silence."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from urllib.request import Request, urlopen

import jupytext
import pytest

from icl_book.__main__ import main
from icl_book.provenance import ROOT
from icl_book.runner import execute, pairs, plan, schedule
from programs import program

NAME = "tensor_trick"
EDITS = [("draws = 10", "draws = 11"), ("draws = 10", "draws = 12")]


def folder_of_notebooks(root):
    (root / "notebooks").mkdir(parents=True)
    for name in (f"{NAME}.py", f"{NAME}.ipynb", "jupytext.toml"):
        shutil.copy(ROOT / "notebooks" / name, root / "notebooks" / name)
    return root


# ------------------------------------------------------------------------------- JupyterLab
class Lab:
    """JupyterLab as `make lab` starts it, asked by its contents API."""

    def __init__(self, root):
        self.root = folder_of_notebooks(root)
        shutil.copy(ROOT / "Makefile", root / "Makefile")
        options = "--no-browser --port=0 --allow-root --IdentityProvider.token=secret"
        words = [
            "make",
            "-s",
            "-o",
            ".venv/.installed",
            "lab",
            f"PY={shlex.quote(sys.executable)}",
            f"LAB_OPTIONS={options}",
        ]
        self.log = (root / "log").open("w")
        environment = os.environ | {"JUPYTER_RUNTIME_DIR": str(root / "runtime")}
        self.process = subprocess.Popen(
            words,
            cwd=root,
            env=environment,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )
        deadline = time.monotonic() + 300
        self.address = None
        while self.address is None:
            assert self.process.poll() is None and time.monotonic() < deadline, (
                root / "log"
            ).read_text()
            time.sleep(0.2)
            found = [*(root / "runtime").glob("jpserver-*.json")]
            if found and found[0].read_text():
                self.address = json.loads(found[0].read_text())["url"]
                try:
                    self.ask("api/status")
                except OSError:
                    self.address = None

    def ask(self, place, content=None):
        request = Request(self.address + place, headers={"Authorization": "token secret"})
        if content is not None:
            request.data, request.method = json.dumps(content).encode(), "PUT"
        with urlopen(request, timeout=120) as answer:
            return json.load(answer)

    def save(self, file, old="", new=""):
        """Open a file as a notebook, edit its cells, save it."""
        opened = self.ask(f"api/contents/{file}?type=notebook")
        count = 0
        for cell in opened["content"]["cells"]:
            count += old in cell["source"]
            cell["source"] = cell["source"].replace(old, new) if old else cell["source"]
        assert count
        self.ask(f"api/contents/{file}", {k: opened[k] for k in ("type", "format", "content")})

    def stop(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(timeout=60)
        self.log.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    lab = Lab(tmp_path_factory.mktemp("lab") / "tree")
    yield lab
    lab.stop()


@pytest.mark.parametrize("suffix", [".ipynb", ".py"])
def test_what_is_saved_in_jupyterlab_is_in_both_files_and_nothing_else_changes(lab, suffix):
    """Also a `.py` that is opened as a notebook: no header of jupytext gets into it."""
    before = {s: (ROOT / "notebooks" / f"{NAME}{s}").read_text() for s in (".py", ".ipynb")}
    for file, text in before.items():
        (lab.root / "notebooks" / f"{NAME}{file}").write_text(text)
    for old, new in (("", ""), ("draws = 10", "draws = 11")):
        lab.save(f"{NAME}{suffix}", old, new)
        for file, text in before.items():
            now = (lab.root / "notebooks" / f"{NAME}{file}").read_text()
            assert now == (text.replace(old, new) if old else text), file


# --------------------------------------------------------------------- another editor
@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A repository with one pair, as committed."""
    root = folder_of_notebooks(tmp_path)
    (root / "_config.yml").write_text("repository: {url: 'https://example.org/x/y'}\n")
    (root / "presets").mkdir()
    (root / "presets" / "quick.yml").write_text(f"{NAME}: {{}}\n")
    (root / ".gitignore").write_text("_build\n")
    commit(root)
    for module in (pairs, plan, execute, schedule):
        monkeypatch.setattr(module, "ROOT", root)
    monkeypatch.chdir(root)
    swept = SimpleNamespace(sweep=lambda *_: None)
    monkeypatch.setattr(schedule, "process", swept)
    monkeypatch.setattr(execute, "_papermill", lambda *a: pytest.fail("a kernel was started"))
    return root


def commit(root):
    for words in ("init -q", "add .", "-c user.name=a -c user.email=a@b commit -q -m x"):
        assert program("git", *words.split(), cwd=root).returncode == 0


def edit(root, suffix, old="draws = 10", new="draws = 11"):
    path = root / "notebooks" / f"{NAME}{suffix}"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def state(root):
    return [(root / "notebooks" / f"{NAME}{suffix}").read_text() for suffix in (".py", ".ipynb")]


@pytest.mark.parametrize("known", ["git", "an earlier command"])
@pytest.mark.parametrize("suffix", [".py", ".ipynb"])
def test_sync_brings_an_edit_of_either_file_to_the_other(tree, capsys, suffix, known):
    if known != "git":
        assert main(["sync"]) == 0
        shutil.rmtree(tree / ".git")
    before = state(tree)
    expected = [text.replace("draws = 10", "draws = 11") for text in before]
    edit(tree, suffix)
    assert main(["sync"]) == 0 and state(tree) == expected
    assert (
        capsys.readouterr().out
        == f"wrote notebooks/{NAME}{'.py' if suffix == '.ipynb' else '.ipynb'}\n"
    )
    # and again, in the other direction, without a commit between
    edit(tree, ".py" if suffix == ".ipynb" else ".ipynb", "draws = 11", "draws = 10")
    assert main(["sync"]) == 0 and state(tree) == before


@pytest.mark.parametrize("text", ["a\n# %% of it", "a\u2028b"])
@pytest.mark.parametrize("command", ["sync", "book --preset quick"])
def test_an_edit_that_the_py_would_read_otherwise_is_refused_and_kept(tree, capsys, text, command):
    """A line that begins with # %% begins a cell, also within a string."""
    path = tree / "notebooks" / f"{NAME}.ipynb"
    node = json.loads(path.read_text())
    place = next(i for i, cell in enumerate(node["cells"]) if cell["cell_type"] == "code")
    node["cells"][place]["source"] = f"text = '''{text}'''"
    path.write_text(json.dumps(node))
    before = state(tree)
    assert main(command.split()) == 1 and state(tree) == before
    said = capsys.readouterr().err
    assert said.startswith(f"error: notebooks/{NAME}.ipynb: its cell {place + 1} would be"), said


def test_a_run_takes_the_edit_of_the_notebook(tree, capsys):
    edit(tree, ".ipynb")
    expected = state(tree)[1]
    with pytest.raises(pytest.fail.Exception):
        main(["execute", NAME])
    assert "draws = 11" in state(tree)[0] and state(tree)[1] == expected
    assert capsys.readouterr().out.startswith(f"wrote notebooks/{NAME}.py: its .ipynb was edited\n")
    edit(tree, ".ipynb", "draws = 11", "draws = 12")
    for words in (["book"], ["sweep", NAME, "--grid", "seed=1"]):
        with pytest.raises(AttributeError, match="scratch"):  # Snakemake is asked
            main(words)
        assert "draws = 12" in state(tree)[0]
        assert plan.defaults(NAME)["draws"] == 12


@pytest.mark.parametrize(
    "command", ["sync", f"execute {NAME}", "book", f"sweep {NAME} --grid seed=1"]
)
def test_two_edits_are_both_kept_and_one_line_says_what_to_do(tree, capsys, command):
    edit(tree, ".py", new="draws = 12")
    edit(tree, ".ipynb", new="draws = 11")
    before = state(tree)
    assert main(command.split()) == 1 and state(tree) == before
    said = capsys.readouterr()
    assert said.err.startswith(
        f"error: notebooks/{NAME}.py and its .ipynb: both were edited, or it is not known which, and "
    )
    assert said.err.count("\n") == 1 and said.out == ""
    what = re.search(r"run \.venv/bin/(jupytext .*?);", said.err)[1].split()
    tool = Path(sys.executable).with_name(what[0])
    done = program(tool, *what[1:], cwd=tree)
    assert done.returncode == 0, done.stderr
    assert main(["sync"]) == 0 and state(tree)[1] == before[1], (
        "the edit of the .ipynb was to be kept"
    )
    assert "draws = 11" in state(tree)[0] and "jupytext" not in state(tree)[0]


def test_deleting_the_ipynb_keeps_the_edit_of_the_py(tree):
    edit(tree, ".py", new="draws = 12")
    edit(tree, ".ipynb", new="draws = 11")
    (tree / "notebooks" / f"{NAME}.ipynb").unlink()
    assert main(["sync"]) == 0 and all("draws = 12" in text for text in state(tree))


def test_outputs_and_marks_of_an_editor_are_no_edit(tree, capsys):
    path = tree / "notebooks" / f"{NAME}.ipynb"
    before = state(tree)
    node = json.loads(before[1])
    node["metadata"]["language_info"] = {"name": "python"}
    for cell in node["cells"]:
        cell["metadata"]["vscode"] = {"languageId": "python"}
    path.write_text(json.dumps(node))
    assert main(["sync"]) == 0 and state(tree) == before
    path.write_text("{")
    capsys.readouterr()
    assert main(["sync"]) == 1
    assert capsys.readouterr().err.startswith(
        f"error: notebooks/{NAME}.ipynb: damaged, no notebook; "
    )


def test_a_notebook_that_somebody_forgot_to_write_is_written_where_it_is_known_to_be_older(tree):
    assert main(["sync"]) == 0
    edit(tree, ".py")
    commit(tree)
    before = state(tree)
    shutil.move(tree / "_build", tree / "elsewhere")
    assert main(["sync"]) == 1 and state(tree) == before
    shutil.move(tree / "elsewhere", tree / "_build")
    assert main(["sync"]) == 0 and all("draws = 11" in text for text in state(tree))


def test_every_chapter_is_the_same_after_a_way_through_its_ipynb():
    for name in plan.notebooks():
        source, target = pairs._paths(name)
        node = jupytext.read(target)
        assert pairs._percent(node) == source.read_text(), name
