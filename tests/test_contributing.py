"""The recipes of CONTRIBUTING.md, followed to the letter in a copy of the tree."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"(?:Append to `([^`]+)`:\n\n)?```(\w+)\n(.*?)```", re.DOTALL)
IMPORTS = (
    "import pandas as pd\nfrom icl.risk import optimal_window\nfrom icl.tasks import ReLU\n"
    "from icl_book.claims import changes, judge\n"
)
CHECKS = "assert changes.problems() == []\nassert card.verdict == 'established', card\n"


def recipe(title):
    """The blocks of a recipe: the file that each is appended to, its language, its text."""
    section = re.search(rf"(?s)^## {title}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE)
    return BLOCK.findall(section[1])


@pytest.fixture
def follow(tmp_path):
    """A function that follows a recipe in a copy of the tracked files and returns what was printed."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, tracked.stdout.split("\0")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tmp_path / name, follow_symlinks=False)
    (tmp_path / ".venv").mkdir()
    for part in ("bin", "lib", "pyvenv.cfg"):
        (tmp_path / ".venv" / part).symlink_to(Path(sys.prefix, part))
    (tmp_path / ".venv" / ".installed").touch()
    paths = os.pathsep.join([str(tmp_path), str(tmp_path / "book")])
    environment = os.environ | {"PYTHONPATH": paths}

    def run(words):
        done = subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def all_of(title):
        said = ""
        for file, language, text in recipe(title):
            if file:
                with (tmp_path / file).open("a", encoding="utf-8") as stream:
                    stream.write(f"\n\n{text}" if language == "python" else text)
            elif language == "bash":
                said += run(["bash", "-euc", text])
            else:
                said += run(
                    [sys.executable, "-c", IMPORTS + text.replace("judge(", "card = judge(") + CHECKS]
                )
        return said

    return all_of


def test_a_class_of_functions(follow):
    said = follow("Add a class of functions")
    assert re.search(r"[3-9] passed|\d\d passed", said), said


def test_a_claim(follow):
    follow("Add a claim")


@pytest.mark.slow
def test_a_chapter(follow):
    assert "mine" in follow("Add a chapter")
