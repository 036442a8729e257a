"""The recipes of CONTRIBUTING.md, followed to the letter in a copy of the tree."""

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from icl_book.provenance import ROOT
from programs import program

PYTHON = shlex.quote(sys.executable)
#: What whoever follows a recipe does next, in the copy: format, lint, and a chapter's measurement.
NEXT = {
    "Add a class of functions": [
        f"{PYTHON} -m ruff format --check icl && {PYTHON} -m ruff check icl",
        f"{PYTHON} -c 'from icl_book.measurements import theorem2_scaling; "
        'rows = theorem2_scaling.exact_windows(tasks=["sine", "ReLU"], dims=[3], lengths=[100.0], '
        "lipschitz=2.0, noise_std=0.5); from icl_book.figures import plots; "
        'colors = plots.colors(rows["task"]); assert len(set(colors.values())) == 2; '
        'assert (rows["w"] > 1).all() and list(rows["task"]) == ["sine", "ReLU"]\'',
    ]
}
#: The file that a block is appended to, its language, its text.
BLOCK = re.compile(r"(?:Append to `([^`]+)`:\n\n)?```(\w+)\n(.*?)```", re.DOTALL)
IMPORTS = (
    "import pandas as pd\nfrom icl.risk import optimal_window\nfrom icl.tasks import ReLU\n"
    "from icl_book.claims import judge\n"
)
CHECKS = "assert card.verdict == 'established', card\n"


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Add a class of functions", r"[3-9] passed|\d\d passed"),
        ("Add a claim", ""),
        pytest.param("Add a chapter", "mine", marks=pytest.mark.slow),
    ],
)
def test_a_recipe(tmp_path, title, expected):
    tree = tmp_path / "tree"
    ignored = shutil.ignore_patterns(
        ".git", ".venv", ".snakemake", "_build", "*_cache", "__pycache__"
    )
    shutil.copytree(ROOT, tree, symlinks=True, ignore=ignored)
    (tree / ".venv").mkdir()
    for part in ("bin", "lib", "pyvenv.cfg"):
        (tree / ".venv" / part).symlink_to(Path(sys.prefix, part))
    (tree / ".venv" / ".installed").write_text(f"{tree}\n")
    section = re.search(
        rf"^## {title}\n(.*?)(?=^## |\Z)", (ROOT / "CONTRIBUTING.md").read_text(), re.M | re.S
    )
    said = ""
    for file, language, text in BLOCK.findall(section[1]):
        if file:
            with (tree / file).open("a") as stream:
                stream.write(f"\n\n{text}" if language == "python" else text)
            continue
        words = ["bash", "-euc", text]
        if language == "python":
            words = [
                sys.executable,
                "-c",
                IMPORTS + text.replace("judge(", "card = judge(") + CHECKS,
            ]
        done = program(*words, cwd=tree)
        assert done.returncode == 0, done.stdout + done.stderr
        said += done.stdout
    assert re.search(expected, said), said
    for command in NEXT.get(title, []):
        done = program("bash", "-euc", command, cwd=tree)
        assert done.returncode == 0, done.stdout + done.stderr
