"""The recipes of CONTRIBUTING.md, followed to the letter in a copy of the tree."""

import re
import shlex
import sys

import pytest

from icl_book.provenance import ROOT
from programs import installed, program

PYTHON = shlex.quote(sys.executable)
CHAPTER = "icl_as_gradient_descent"


def sentence_after(chapter):
    """Those of `make test` that look at claims and at the form of a chapter, and run it in seconds."""
    files = " ".join(
        f"tests/icl_book/test_{name}.py" for name in ("registry", "chapters", "pages", "book")
    )
    form = f"(test_chapters or test_pages) and ({chapter} or times)"
    chosen = f"test_registry or {form} or smoke_preset and {chapter}"
    return [
        f"{PYTHON} -m pytest -q -n 0 -p no:cacheprovider {files} -k '{chosen}'",
        f"ls _build/runs/smoke/{chapter}.*.ipynb",
    ]


#: What a contributor does next, in the copy: format, lint, a chapter's measurement, tests.
NEXT = {
    "Add a class of functions": [
        f"{PYTHON} -m ruff format --check icl && {PYTHON} -m ruff check icl",
        f"{PYTHON} -c 'from icl_book.measurements import theorem2_scaling; "
        'rows = theorem2_scaling.exact_windows(tasks=["sine", "ReLU"], dims=[3], lengths=[100.0], '
        "lipschitz=2.0, noise_std=0.5); from icl_book.figures import plots; "
        'colors = plots.colors(rows["task"]); assert len(set(colors.values())) == 2; '
        'assert (rows["w"] > 1).all() and list(rows["task"]) == ["sine", "ReLU"]\'',
    ],
    "Add a claim": [f"{PYTHON} -m icl_book sync", *sentence_after(CHAPTER)],
    "Add a chapter": sentence_after("mine"),
}
#: The file that a block is written into, the line of it that comes before, the block's language, its text.
BLOCK = re.compile(
    r"(?:(?:Append to|In) `([^`]+)`(?:[^`]* below `([^`]+)`)?:\n\n)?```(\w+)\n(.*?)```", re.DOTALL
)
#: The end of a chapter, and the imports that the recipe's cell needs.
HIDDEN = '# %% jupyter={"source_hidden": true} tags=["remove-input"]\n'
FOOTER = f"{HIDDEN}notebook.footer()\n"
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
    tree = installed(tmp_path / "tree")
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
            chapter = tree / "notebooks" / f"{CHAPTER}.py"
            before, end, _ = chapter.read_text().rpartition(FOOTER)
            chapter.write_text(f"{before}{HIDDEN}{IMPORTS}{text}\n{end}")
            # without git, a copy does not know which of a pair was edited
            chapter.with_suffix(".ipynb").unlink()
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
