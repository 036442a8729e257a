"""An edit of a chapter in JupyterLab is in both files; one by another editor is never lost in silence."""

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
from urllib.request import Request, urlopen

import pytest

from icl_book.__main__ import main
from icl_book.provenance import ROOT
from icl_book.runner import execute, pairs, plan, schedule
from programs import program

NAME = "tensor_trick"


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
def test_saving_in_jupyterlab_changes_both_files_and_nothing_else(lab, suffix):
    """This includes a `.py` that is opened as a notebook, which gets no header of jupytext."""
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
    root = folder_of_notebooks(tmp_path)
    (root / "_config.yml").write_text("repository: {url: 'https://example.org/x/y'}\n")
    (root / "presets").mkdir()
    (root / "presets" / "quick.yml").write_text(f"{NAME}: {{}}\n")
    for module in (pairs, plan, execute, schedule):
        monkeypatch.setattr(module, "ROOT", root)
    monkeypatch.chdir(root)
    return root


def edit(root, suffix, old="draws = 10", new="draws = 11"):
    path = root / "notebooks" / f"{NAME}{suffix}"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def state(root):
    return [(root / "notebooks" / f"{NAME}{suffix}").read_text() for suffix in (".py", ".ipynb")]


def test_sync_writes_the_ipynb_of_an_edited_py_again_and_again(tree, capsys):
    before = state(tree)
    for old, new in (("draws = 10", "draws = 11"), ("draws = 11", "draws = 10")):
        edit(tree, ".py", old, new)
        assert main(["sync"]) == 0
        assert capsys.readouterr().out == f"wrote notebooks/{NAME}.ipynb\n"
        assert state(tree) == [text.replace("draws = 10", new) for text in before]


@pytest.mark.parametrize(
    "command", ["sync", f"execute {NAME}", "book", f"sweep {NAME} --grid seed=1", "replicate"]
)
def test_an_edited_ipynb_is_one_line_whose_command_takes_the_edit(tree, capsys, command):
    edit(tree, ".ipynb")
    before = state(tree)
    assert main(command.split()) == 1 and state(tree) == before
    said = capsys.readouterr()
    assert said.err.startswith(f"error: notebooks/{NAME}.ipynb: edited after the .py")
    assert said.err.count("\n") == 1 and said.out == ""
    tool, *words = re.search(r"edit: \.venv/bin/(jupytext .*?);", said.err)[1].split()
    done = program(Path(sys.executable).with_name(tool), *words, cwd=tree)
    assert done.returncode == 0, done.stderr
    assert main(["sync"]) == 0
    assert state(tree) == [before[0].replace("draws = 10", "draws = 11"), before[1]]


def test_an_ipynb_that_is_not_json_is_not_overwritten(tree, capsys):
    (tree / "notebooks" / f"{NAME}.ipynb").write_text("<<<<<<< main\n")
    before = state(tree)
    assert main(["sync"]) == 1 and state(tree) == before
    assert re.search(r"to drop it: rm (\S+); then: make sync$", capsys.readouterr().err.strip())


def test_outputs_and_marks_of_an_editor_are_not_an_edit(tree):
    path = tree / "notebooks" / f"{NAME}.ipynb"
    before = state(tree)
    node = json.loads(before[1])
    node["metadata"]["language_info"] = {"name": "python"}
    for cell in node["cells"]:
        cell["metadata"]["vscode"] = {"languageId": "python"}
    path.write_text(json.dumps(node))
    assert main(["sync"]) == 0 and state(tree) == before


def test_every_chapter_is_the_same_after_a_way_through_its_ipynb(tmp_path):
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    names = [f"notebooks/{name}.ipynb" for name in plan.notebooks()]
    tool = Path(sys.executable).with_name("jupytext")
    done = program(tool, "--to", "py:percent", *names, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in plan.notebooks():
        own = (ROOT / "notebooks" / f"{name}.py").read_text()
        assert (tmp_path / "notebooks" / f"{name}.py").read_text() == own, name
