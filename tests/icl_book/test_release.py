"""A release has archives that depend only on their files, a package without the book, and twins."""

import json
import os
import shlex
import signal
import subprocess
import sys
import zipfile
from types import SimpleNamespace

import pytest

from icl_book import provenance
from icl_book.__main__ import main
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.site import assemble, machines, pdf, release
from programs import program

FILES = {"b/index.html": b"<p>two", "a.html": b"one" * 1000}


def test_the_same_files_make_the_same_archive_in_one_folder(tmp_path):
    release.write_archive(tmp_path / "1.zip", "book", FILES)
    release.write_archive(tmp_path / "2.zip", "book", dict(reversed(FILES.items())))
    release.write_archive(tmp_path / "3.zip", "book", FILES | {"a.html": b"other"})
    first, second, third = (release.hash_file(tmp_path / f"{i}.zip") for i in (1, 2, 3))
    assert first == second != third
    with zipfile.ZipFile(tmp_path / "1.zip") as made:
        assert made.namelist() == ["book/a.html", "book/b/index.html"]
        assert made.read("book/b/index.html") == b"<p>two"
        made.extractall(tmp_path)
    assert (tmp_path / "book" / "a.html").stat().st_mode & 0o777 == 0o644


def test_the_manifest_names_the_origin_of_a_result():
    run = {
        "name": "n",
        "preset": "quick",
        "device": "cpu",
        "cards": [{"id": "P1.a", "verdict": "holds"}],
    }
    told = release.describe_origin(run)
    assert told == {"preset": "quick", "device": "cpu", "verdicts": {"P1.a": "holds"}}


@pytest.mark.skipif(provenance.commit() is None, reason="an archive without git")
def test_the_wheel_has_icl_alone_and_the_source_archive_what_builds_it(tmp_path):
    release.build_packages(tmp_path, ROOT)
    (wheel,) = tmp_path.glob("softmax_icl-*.whl")
    with zipfile.ZipFile(wheel) as made:
        tops = {name.partition("/")[0] for name in made.namelist()}
        assert tops == {"icl", wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info"}
        assert "icl/py.typed" in made.namelist()
    assert len(list(tmp_path.glob("softmax_icl-*.tar.gz"))) == 1


@pytest.mark.skipif(provenance.commit() is None, reason="an archive without git")
def test_the_same_commit_makes_the_same_packages_whenever_and_whoever_builds(tmp_path):
    """By default setuptools writes times, and the permissions of this user's new files, into archives."""
    made = []
    for name, mask in (("first", 0o022), ("second", 0o077)):
        (tmp_path / name).mkdir()
        before = os.umask(mask)
        release.build_packages(tmp_path / name, ROOT)
        os.umask(before)
        made.append({p.name: p.read_bytes() for p in (tmp_path / name).iterdir()})
    assert len(made[0]) == 2 and made[0] == made[1]


# ------------------------------------------------------------------------- what is archived
@pytest.fixture
def book(tmp_path, monkeypatch):
    for name, text in {
        "pyproject.toml": '[project]\nversion = "1"\n',
        "requirements.lock": "",
        "_config.yml": "repository: {url: https://x.org/a/b}\n",
        "book/introduction.md": "one\n",
        "run.ipynb": "{}",
        "_build/book/quick/index.html": "one\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    run = SimpleNamespace(name="tiny", path=tmp_path / "run.ipynb")
    monkeypatch.setattr(assemble, "plan", lambda preset: [run])
    monkeypatch.setattr(provenance, "commit", lambda: {"id": "abc", "dirty": False})
    monkeypatch.setattr(release, "collect", lambda path: {"cards": []})
    monkeypatch.setattr(release, "write_notebook", lambda root, name, path: path.read_bytes())
    monkeypatch.setattr(pdf.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(pdf, "write_pdf", lambda preset, root: root / "run.ipynb")
    monkeypatch.setattr(release, "build_packages", lambda place, root: None)
    stamp = tmp_path / "_build" / "book" / "quick" / ".digest"
    stamp.write_text(assemble.hash_book("quick", {"tiny": run.path}, tmp_path))
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("changed", ["book/introduction.md", "run.ipynb", None])
def test_only_the_book_of_todays_pages_is_archived_or_printed(book, monkeypatch, changed):
    """Otherwise the archive would have the old version of a page that was edited and committed."""
    place = release.release("quick", book)
    before = contents(place)
    assert len(before) == 5 and before == contents(release.release("quick", book))
    (book / (changed or "_build/book/quick/.digest")).unlink()
    monkeypatch.undo()
    monkeypatch.setattr(pdf.shutil, "which", lambda name: f"/usr/bin/{name}")
    run = SimpleNamespace(name="tiny", path=book / "run.ipynb")
    monkeypatch.setattr(assemble, "plan", lambda preset: [run])
    why = "the book of the preset 'quick' is older than .*; run: make book PRESET=quick"
    for command in (release.release, pdf.write_pdf):
        with pytest.raises(BadInput, match=why):
            command("quick", book)
    assert contents(place) == before


def test_an_archived_notebook_has_the_text_of_today_with_the_numbers_of_its_run(
    tmp_path, monkeypatch
):
    (tmp_path / "notebooks").mkdir()
    source = "# %% [markdown]\n# It is [1.0](<judged:P1.a|all|.1f>).\n\n# %%\n1.5\n"
    (tmp_path / "notebooks/n.py").write_text(source)
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "An old text."},
        {"cell_type": "code", "metadata": {}, "source": "1.5", "execution_count": 1}
        | {"outputs": [{"name": "stdout", "output_type": "stream", "text": "1.5"}]},
    ]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells, "metadata": {"icl": {}}}))
    case = {"name": "all", "measured": 1.5}
    card = {"cases": [case], "control_cases": [], "other_readings": {}, "holding": {}}
    card |= {"id": "P1.a", "verdict": "holds"}
    monkeypatch.setattr(release, "collect", lambda path: {"name": "n", "cards": [card]})
    content = json.loads(release.write_notebook(tmp_path, "n", tmp_path / "n.ipynb"))
    text, code = content["cells"]
    assert text["source"] == "It is [1.5](<judged:P1.a|all|.1f>)."
    assert code["outputs"] == cells[1]["outputs"] and content["metadata"] == {"icl": {}}


@pytest.mark.parametrize("commit", [None, {"id": "abc", "dirty": True}])
def test_uncommitted_changes_are_not_released(book, monkeypatch, commit):
    """The manifest names a commit, from which the same files can be made again."""
    monkeypatch.setattr(provenance, "commit", lambda: commit)
    with pytest.raises(BadInput, match="commit everything first"):
        release.release("quick", book)
    assert not (book / "_build" / "release").exists()


def test_a_release_that_fails_leaves_the_last_one_as_it_is(book, monkeypatch):
    place = release.release("quick", book)
    before = contents(place)

    def fail(*_):
        raise BadInput("planted")

    for module, name in ((pdf, "write_pdf"), (release, "build_packages"), (pdf, "find_browser")):
        monkeypatch.setattr(module, name, fail)
        with pytest.raises(BadInput, match="planted"):
            release.release("quick", book)
        assert contents(place) == before and [*place.parent.iterdir()] == [place]


def test_a_release_needs_a_browser_and_a_book(tmp_path, monkeypatch, capsys):
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1"\n')
    monkeypatch.setattr(pdf.shutil, "which", lambda name: None)
    assert main(["release", "--preset", "none"]) == 1
    assert capsys.readouterr().err.startswith("error: no PDF: it needs one of chromium")
    monkeypatch.setattr(pdf.shutil, "which", lambda name: f"/usr/bin/{name}")
    with pytest.raises(BadInput, match="no book of the preset 'quick'"):
        release.release("quick", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["pyproject.toml"]


@pytest.mark.parametrize("goal", ["pdf", "release"])
def test_an_interrupted_command_leaves_no_temporary_folder(tmp_path, goal):
    asked = program("make", "-n", "-o", ".venv/.installed", goal, PRESET="quick")
    words = shlex.split(asked.stdout.strip().splitlines()[-1])
    module, *rest = words[words.index("-m") + 1 :]
    code = """
import os, runpy, shutil, signal, sys, tempfile, time
from icl_book import provenance

def slow(*_):
    with tempfile.TemporaryDirectory():
        print("ready", flush=True)
        time.sleep(600)

for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, signal.SIG_DFL)
shutil.which = provenance.commit = slow
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, module, *rest],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as started:
        assert started.stdout.readline() == "ready\n"
        assert len(list(tmp_path.iterdir())) == 1
        started.send_signal(signal.SIGTERM)
        said, _ = started.communicate(timeout=60)
    assert started.returncode == 130 and said.startswith("interrupted")
    assert list(tmp_path.iterdir()) == []


def test_the_twin_of_a_page_has_what_the_page_includes_without_html_and_directives(tmp_path):
    part = '(anchor)=\n:::{note} A\n:class: b\n\n{term}`from <x>` <a href="#c">else</a>where\n:::\n'
    (tmp_path / "part.md").write_text(part)
    text = "---\na: b\n---\n# Title\n\n```{include} part.md\n```\n\nA [holds](judged:P1.a).\n\n"
    text += (
        "```{glossary}\nword\n  Its sense.\n```\n\n```{raw} html\n<b>\n```\n\n```bash\nls\n```\n"
    )
    said = machines.write_page_twin(text, tmp_path)
    assert said == (
        "# Title\n\nfrom elsewhere\n\nA [holds](judged:P1.a).\n\nword\n  Its sense.\n\n```bash\nls\n```\n"
    )
