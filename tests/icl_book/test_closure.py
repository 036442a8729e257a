"""What a notebook can reach, and which edits therefore run it again."""

import ast
import json
import re
import shutil
import subprocess
import sys

import pytest

from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner import closure, plan

SOURCES = {name: (ROOT / "notebooks" / f"{name}.py").read_text() for name in plan.notebooks()}
ALL = set(SOURCES)


def importing(*rooms):
    """Notebooks that import one of these rooms of icl themselves."""
    pattern = rf"(?:from|import) (?:icl\.(?:{'|'.join(rooms)})\b|icl import .*\b(?:{'|'.join(rooms)})\b)"
    return {name for name, source in SOURCES.items() if re.search(pattern, source)}


def judging(prefix):
    """Notebooks that name a claim whose id begins like this."""
    return {name for name, source in SOURCES.items() if f'"{prefix}' in source}


CLAIMS = {name for name, source in SOURCES.items() if re.search(r"icl_book(\.| import .*)\bclaims\b", source)}
INTERACTIVE = {name for name, source in SOURCES.items() if "icl_book.interactive" in source}
TASKS = importing("tasks", "risk", "pretrain")  # both of the latter import icl.tasks
EDITS = {
    # the science: a room, and the rooms above it
    "icl/__init__.py": ALL,
    "icl/checks.py": TASKS | importing("tensor_trick"),
    "icl/compiled/__init__.py": TASKS | importing("tensor_trick"),  # whose gradients stream
    "icl/compiled/softmax_kernels.py": TASKS,
    "icl/attention.py": TASKS,  # icl.risk.monte_carlo and icl.pretrain.model import it
    "icl/tasks/expanded.py": TASKS,
    "icl/risk/exact.py": importing("risk"),
    "icl/pretrain/trainer.py": importing("pretrain"),
    "icl/tensor_trick/regressions.py": importing("tensor_trick"),
    # statements: only who names one of the topic's ids
    "book/icl_book/claims/judge.py": CLAIMS,
    "book/icl_book/claims/registry.py": CLAIMS,
    "book/claims/paper2.yml": judging("P2."),
    # what shapes an executed notebook
    "book/icl_book/plots.py": ALL,
    "book/icl_book/notebook.py": ALL,
    "book/icl_book/interactive.py": INTERACTIVE,
    "requirements.lock": ALL,
    "notebooks/exact_risk.py": {"exact_risk"},
    # pages and machinery: nobody
    "book/icl_book/site/pages.py": set(),
    "book/icl_book/runner/execute.py": set(),
    "book/introduction.md": set(),
    "_toc.yml": set(),
    "_config.yml": set(),
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("tree") / "copy"
    for folder in ("icl", "book", "notebooks", "presets", "benchmarks"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("requirements.lock", "_toc.yml", "_config.yml"):
        shutil.copy(ROOT / file, root)
    return root


@pytest.fixture
def digests(tree, monkeypatch):
    monkeypatch.setattr(plan, "ROOT", tree)
    return lambda: {run.name: run.digest for run in plan.plan("quick")}


@pytest.fixture(scope="module")
def before(tree):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "ROOT", tree)
        return {run.name: run.digest for run in plan.plan("quick")}


@pytest.mark.parametrize("path", EDITS)
def test_an_edit_runs_again_exactly_the_notebooks_that_can_reach_it(tree, digests, before, path):
    file = tree / path
    text = file.read_text()
    try:
        file.write_text(text + "\n# edited\n")
        assert {name for name, digest in digests().items() if digest != before[name]} == EDITS[path]
    finally:
        file.write_text(text)


def test_a_file_that_is_no_module_belongs_to_the_room_it_lies_in(tree, digests, before):
    table = tree / "icl" / "pretrain" / "table.csv"
    table.write_text("1\n")
    try:
        assert {n for n, d in digests().items() if d != before[n]} == importing("pretrain")
    finally:
        table.unlink()


LOADED = """
import json, os, sys
import matplotlib.pyplot, numba, numpy, scipy.optimize, scipy.stats, sklearn.neighbors, torch
import statsmodels.nonparametric.kernel_regression, torch.utils.flop_counter
for name, code in json.load(sys.stdin).items():
    if os.fork() == 0:
        exec(code, {})
        for module in [m for n, m in sys.modules.items() if n.partition(".")[0] in ("icl", "icl_book")]:
            for public in getattr(module, "__all__", ()):
                getattr(module, public)  # loads what a package loads lazily
        found = [n for n in sys.modules if n.partition(".")[0] in ("icl", "icl_book")]
        os.write(1, (json.dumps([name, found]) + "\\n").encode())
        os._exit(0)
    assert os.wait()[1] == 0, name
"""


def test_no_notebook_imports_a_module_that_its_closure_lacks():
    code = {
        name: "\n".join(
            ast.unparse(n) for n in ast.walk(ast.parse(s)) if isinstance(n, ast.Import | ast.ImportFrom)
        )
        for name, s in SOURCES.items()
    }
    done = subprocess.run(
        [sys.executable, "-c", LOADED], input=json.dumps(code), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    loaded = dict(map(json.loads, done.stdout.splitlines()))
    assert set(loaded) == ALL and all(len(found) > 5 for found in loaded.values())
    for name, found in loaded.items():
        reached = closure.reach(SOURCES[name], name, ROOT)
        assert not [m for m in found if closure._file(m, ROOT) not in reached], name


def reached(source, root):
    return {p.relative_to(root).as_posix() for p in closure.reach(source, "notebooks/x.py", root)}


@pytest.fixture
def house(tmp_path):
    """Both packages with a few modules, each of which imports something in another way."""
    files = {
        "icl/__init__.py": "",
        "icl/lazy/__init__.py": "if TYPE_CHECKING:\n    from icl.lazy.a import x\n",
        "icl/lazy/a.py": "def f():\n    from icl import deep\n",
        "icl/lazy/b.py": "",
        "icl/deep.py": "from . import relative\n",
        "icl/relative.py": "import icl.lazy  # a circle\n",
        "icl/fresh.py": "",
        "book/icl_book/__init__.py": "",
        "book/claims/one.yml": "P1.one.a:\n",
        "book/claims/two.yml": "P1.two.a:\nP1.two.b:\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    "source, expected",
    [
        ("import numpy", set()),
        ("import icl.fresh", {"fresh"}),
        ("from icl.lazy import b", {"lazy/__init__", "lazy/a", "lazy/b", "deep", "relative"}),
        ("def f():\n    from icl.deep import g", {"lazy/__init__", "lazy/a", "deep", "relative"}),
        ("CODE = '''\n    import torch\n    from icl import fresh\n'''", {"fresh"}),
    ],
)
def test_imports_are_followed_wherever_they_stand(house, source, expected):
    files = {f"icl/{name}.py" for name in expected}
    assert reached(source, house) == files | ({"icl/__init__.py"} if expected else set())


@pytest.mark.parametrize(
    "call, topics",
    [
        ("judge('P1.one.a')", {"one"}),
        ("judge('P1.two.b')", {"two"}),
        ("judge(f'P1.two.{name}')", {"two"}),
        ("judge(f'P1.tw{name}')", {"two"}),
        ("judge(f'P1.{name}')", {"one", "two"}),
        ("judge('P1.one.a' if yes else 'P1.two.a')", {"one", "two"}),
        ("text.removeprefix('P1.')", set()),
    ],
)
def test_claims_are_reached_by_id(house, call, topics):
    assert reached(call, house) == {f"book/claims/{topic}.yml" for topic in topics}


def test_an_id_that_no_claim_has_is_refused(house):
    with pytest.raises(BadInput, match=r"notebooks/x.py: names the claim 'P1.three', which is not in"):
        reached("judge('P1.three')", house)
    assert reached("judge(Claim('P1.three'))", house) == set(), "a notebook may make its own"


def test_source_that_is_not_python_is_named(house):
    (house / "icl" / "fresh.py").write_text("def f(:\n")
    with pytest.raises(BadInput, match=r"icl/fresh.py, line 1: "):
        reached("import icl.fresh", house)
