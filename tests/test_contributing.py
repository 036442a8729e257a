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


def sentence_after(chapter):
    """Those of `make test` that look at claims and at the form of a chapter, and run it in seconds."""
    words = f"{PYTHON} -m pytest -q -n 0 -p no:cacheprovider tests/icl_book"
    return [
        f"{words}/test_registry.py",
        f"{words}/test_chapters.py {words.split()[-1]}/test_pages.py -k '{chapter} or times'",
        f"{words}/test_book.py -k 'smoke_preset and {chapter}'",
    ]


#: What whoever follows a recipe does next, in the copy: format, lint, a chapter's measurement, tests.
NEXT = {
    "Add a class of functions": [
        f"{PYTHON} -m ruff format --check icl && {PYTHON} -m ruff check icl",
        f"{PYTHON} -c 'from icl_book.measurements import theorem2_scaling; "
        'rows = theorem2_scaling.exact_windows(tasks=["sine", "ReLU"], dims=[3], lengths=[100.0], '
        "lipschitz=2.0, noise_std=0.5); from icl_book.figures import plots; "
        'colors = plots.colors(rows["task"]); assert len(set(colors.values())) == 2; '
        'assert (rows["w"] > 1).all() and list(rows["task"]) == ["sine", "ReLU"]\'',
    ],
    "Add a claim": [f"{PYTHON} -m icl_book sync", *sentence_after("exact_risk")],
    "Add a chapter": sentence_after("mine"),
}
#: The file that a block is written into, the line of it that comes before, the block's language, its text.
BLOCK = re.compile(
    r"(?:(?:Append to|In) `([^`]+)`(?:[^`]* below `([^`]+)`)?:\n\n)?```(\w+)\n(.*?)```", re.DOTALL
)
#: The end of a chapter, and a chapter that imports what the recipe's cell needs.
FOOTER = '# %% tags=["remove-input"]\nnotebook.footer()\n'
CHAPTER = "notebooks/exact_risk.py"
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
    for file, above, language, text in BLOCK.findall(section[1]):
        if above:
            before, line, after = (tree / file).read_text().partition(f"{above}\n")
            assert line
            (tree / file).write_text(before + line + text + after)
            continue
        if file:
            with (tree / file).open("a") as stream:
                stream.write(f"\n\n{text}" if language == "python" else text)
            continue
        words = ["bash", "-euc", text]
        if language == "python":
            before, end, _ = (tree / CHAPTER).read_text().rpartition(FOOTER)
            (tree / CHAPTER).write_text(f'{before}# %% tags=["remove-input"]\n{text}\n{end}')
            # without git, a copy does not know which of a pair was edited
            (tree / CHAPTER).with_suffix(".ipynb").unlink()
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
