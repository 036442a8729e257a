"""Functions that a notebook calls: the vocabulary of parameters, set-up, footer, and where it ran."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jupytext
import numpy as np
import papermill
import pytest
from papermill.translators import PythonTranslator

from icl_book import notebook, parameters, provenance
from icl_book.parameters import PARAMETERS, BadInput, parse_number, validate
from icl_book.provenance import ROOT
from icl_book.runner import plan
from programs import program

# -------------------------------------------------------------------- the vocabulary
#: The tests of `icl.checks` say which values are numbers.
BAD = {
    "dims": [1, [1], [], [2.5], [[2]], "2", None],
    "noise_std": [-1e-9, float("inf"), True, [0.5]],
    "lipschitz": [0, 5e-324, 1e300, 10**400],
    "context_length": [0, 1.5, [5]],
    "seeds": [1],  # an interval needs two
    "contexts": [1, 10**12],
}


def test_allowed_values_pass_and_whole_numbers_become_integers():
    values = {
        "dims": (2.0, 3),
        "noise_std": 0,
        "noise_stds": [0.0],
        "lipschitz": 1e-9,
        "seeds": 2,
        "seed": 0,
    }
    assert str(validate(values, values)) == str(values | {"dims": [2, 3]})


@pytest.mark.parametrize("name, value", [(n, v) for n, values in BAD.items() for v in values])
def test_other_values_are_named_with_what_is_allowed(name, value):
    with pytest.raises(BadInput) as caught:
        validate({name: value}, [name])
    message = str(caught.value)
    assert message.startswith(f"{name}={value!r}"[:200]) and message.endswith(
        f"{PARAMETERS[name].meaning})"
    )
    assert (
        re.search("must be (a finite number|a number|an integer|a list)", message)
        and "\n" not in message
    )


@pytest.mark.parametrize("text", ["0x10", "12:30", "nan", "1e400", "9" * 5000, "1_0", ""])
def test_text_that_is_not_a_finite_number_is_refused(text):
    with pytest.raises(BadInput, match="must be"):
        validate({"seed": parse_number(text)}, ["seed"])


def test_numbers_that_yaml_takes_for_text_are_numbers():
    assert (
        str(parse_number(["1e-3", "7", "010", "2.5", True, "x"]))
        == "[0.001, 7, 10, 2.5, True, 'x']"
    )


# --------------------------------------------------------------- called by a notebook
def kernel(*cells):
    """Return the globals of a kernel that has executed these cells, as IPython keeps them."""
    namespace = {"In": ["", *cells]}
    for source in cells:
        exec(source, namespace)
    return namespace


def test_setup_reads_the_names_from_the_parameters_cell():
    namespace = kernel("dims = [2]  # dimensions\nnoise_std = 0.1", "import math\nother = 3")
    notebook.setup(namespace)
    notebook.setup(kernel("dims = [2]\nnoise_std = 0.1", "# Parameters\nnoise_std = 0.5"))
    namespace["noise_std"] = -1  # the reader changes it and runs the cell again
    with pytest.raises(BadInput, match="noise_std=-1: must be"):
        notebook.setup(namespace)
    notebook.setup(kernel("dims = [2]", "dims = [3]\nseed = 1", "shown = 2"))
    assert notebook._started["parameters"] == {"dims": [3], "seed": 1}
    notebook.setup(namespace := kernel("steps = 1e3"))
    assert namespace["steps"] == 1000 and isinstance(namespace["steps"], int)
    notebook.setup(kernel("n_decades = [1, 2]\ndims = [5, 3]"), n_decades=2, dims="n_decades")


def test_a_notebook_runs_as_a_plain_script(tmp_path):
    text = '# %% tags=["parameters"]\nsteps = 2e1\n\n# %%\n'
    text += "from icl_book import notebook\nnotebook.setup(globals())\n"
    (tmp_path / "plain.py").write_text(text + "# %%\nprint(steps)\nnotebook.footer()\n")
    done = program(sys.executable, tmp_path / "plain.py")
    assert done.stdout.startswith("20\nComputed in "), done.stderr


def test_a_chapter_from_standard_input_prints_its_verdicts(tmp_path):
    script = (ROOT / "notebooks" / "tensor_trick.py").read_text()
    script = script[: script.index("# %%", script.index('"P2.trick",'))]
    script = script.replace("draws = 10 ", "draws = 2 ").replace(
        "dims = [2, 3, 5, 8, 16] ", "dims = [2] "
    )
    done = subprocess.run(
        [sys.executable, "-"],
        input=script,
        text=True,
        capture_output=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stdout.splitlines() if line.startswith("P2.")]
    judged = ("scale.operations", "normalized", "rescaled", "trick")
    assert said == [f"P2.{name}: holds" for name in judged]


@pytest.mark.parametrize("name", plan.notebooks())
def test_papermill_lists_every_parameter_with_its_value_and_meaning(name):
    listed = papermill.inspect_notebook(ROOT / "notebooks" / f"{name}.ipynb")
    assert {
        key: ast.literal_eval(one["default"]) for key, one in listed.items()
    } == plan.read_defaults(name)
    assert all(one["help"] for one in listed.values())


def test_figures_stand_in_a_notebook_whatever_backend_the_machine_sets(tmp_path):
    """Clusters set MPLBACKEND=agg for scripts, with which papermill would write notebooks without figures."""
    drawn = "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()"
    cells = ["seed = 1", "from icl_book import notebook; notebook.setup(globals())", drawn]
    node = jupytext.reads("\n\n".join(f"# %%\n{cell}" for cell in cells), "py:percent")
    node.metadata["kernelspec"] = {"name": "python3", "display_name": "Python"}
    jupytext.write(node, tmp_path / "in.ipynb")
    paths = [str(tmp_path / name) for name in ("in.ipynb", "out.ipynb")]
    words = [sys.executable, "-m", "papermill", "--no-progress-bar", *paths]
    done = program(*words, MPLBACKEND="agg")
    assert done.returncode == 0, done.stderr
    outputs = jupytext.read(paths[1]).cells[-1].outputs
    assert any("image" in kind for one in outputs for kind in one.get("data", {}))


def test_numbers_of_numpy_that_papermill_injects_are_numbers():
    """papermill writes a type that it does not know as the text that NumPy prints."""
    given = {"context_length": np.int64(7), "dims": np.array([2, 5]), "noise_std": np.float32(0.25)}
    given |= {"noise_stds": np.array([0.5, 1.0]), "n_values": [np.int64(3), np.int64(4)]}
    injected = PythonTranslator.codify(given)
    notebook.setup(
        kernel(
            "context_length = 1\ndims = [3]\nnoise_std = 1.0\nnoise_stds = [1.0]\nn_values = [1]",
            injected,
        )
    )
    assert notebook._started["parameters"] == {
        "context_length": 7,
        "dims": [2, 5],
        "noise_std": 0.25,
        "noise_stds": [0.5, 1.0],
        "n_values": [3, 4],
    }


def test_a_parameters_cell_may_have_types():
    assert parameters.literals("dims: list[int] = [2]  # d\nnoise_std: float = 1.0") == {
        "dims": [2],
        "noise_std": 1.0,
    }
    for other in ("dims: list[int]", "a, b = 1, 2", "dims += [2]", "dims = f()", "a.b = 1"):
        with pytest.raises(ValueError, match="."):
            parameters.literals(other)


@pytest.mark.parametrize(
    ("cells", "needs", "message"),
    [
        (["noise_std = 0.1", "# Parameters\ncontexts = None"], {}, "contexts=None: must be an"),
        (["import math"], {}, "no parameters cell was executed"),
        (["dims = [2]", "dims = [2]\nseed = -1"], {}, "seed=-1: must be"),
        (
            ["n_decades = [1]"],
            {"n_decades": 2},
            r"n_decades=\[1\]: must have 2 or more entries in incr",
        ),
        (
            ["n_decades = [1, 1]"],
            {"n_decades": 2},
            "must have 2 or more entries in increasing order",
        ),
        (["dims = [5, 3]\nranks = [2]"], {"ranks": "dims"}, "must have as many entries as dims="),
        (["dims = [5]\nranks = [2, 1]"], {"ranks": "dims"}, "must have as many entries as dims="),
    ],
)
def test_setup_refuses_what_the_notebook_cannot_use(cells, needs, message):
    with pytest.raises(BadInput, match=message):
        notebook.setup(kernel(*cells), **needs)


def test_bad_input_shows_itself_in_one_line_in_a_notebook():
    assert BadInput("seed=-1: must be")._render_traceback_() == ["BadInput: seed=-1: must be"]


@pytest.mark.parametrize("name", ["theorem2_scaling", "phase_diagram"])
def test_chapters_whose_laws_balance_noise_refuse_zero_noise(name):
    cells = [cell.source for cell in jupytext.read(ROOT / "notebooks" / f"{name}.py").cells]
    begin, imports = (
        text for text in cells if text.startswith("dims = [") or "notebook.setup(" in text
    )
    with pytest.raises(BadInput, match="noise_std=0: must be positive"):
        kernel(begin, "# Parameters\nnoise_std = 0", imports)


# ----------------------------------------------------------------------- where it ran
def test_packages_of_another_tree_are_refused(tmp_path):
    """A copied or moved checkout has an environment that still names the first folder."""
    provenance.check_tree(ROOT)
    provenance.check_tree(ROOT / "notebooks")
    provenance.check_tree(tmp_path)  # this folder belongs to another tree
    copy = tmp_path / "copy"
    for name in ("icl", "book/icl_book"):
        shutil.copytree(ROOT / name, copy / name, symlinks=True)
    shutil.copytree(ROOT / "book" / "claims", copy / "book" / "claims")
    (copy / "notebooks").mkdir()
    # with -m, icl is that of the copy
    for path in (f"{ROOT}{os.pathsep}{ROOT / 'book'}", str(ROOT / "book")):
        done = program(sys.executable, "-m", "icl_book", "sync", cwd=copy, PYTHONPATH=path)
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and done.stdout == ""
        assert re.match(
            r"error: icl\w* is imported from .*: the environment was made for another", done.stderr
        )
    code = "noise_std = 1.0\nfrom icl_book import notebook\nnotebook.setup(globals())\n"
    (copy / "notebooks" / "x.py").write_text(f"# %%\n{code}")
    done = program(
        sys.executable, "x.py", cwd=copy / "notebooks", PYTHONPATH=f"{ROOT}{os.pathsep}{ROOT}/book"
    )
    assert done.returncode == 1 and "is imported from" in done.stderr.splitlines()[-1]


def test_a_name_that_is_not_utf_8_is_refused_before_anything_runs(tmp_path, monkeypatch):
    provenance.check_tree(ROOT)
    broken = os.fsdecode(bytes(tmp_path) + b"/caf\xe9")
    for name, value in (("ROOT", Path(broken)), ("sys", SimpleNamespace(executable=broken))):
        with monkeypatch.context() as patch:
            patch.setattr(provenance, name, value)
            with pytest.raises(BadInput, match=r"caf\\udce9': this name is not UTF-8") as caught:
                provenance.check_tree(ROOT)
        str(caught.value).encode()


@pytest.mark.parametrize(
    ("code", "same", "other"),
    [
        ("x = 1", '"""A module."""\nx = 1  # one', "x = 2"),
        ("f('a, b')", 'f("a, b",)', "f('ab')"),
        ("", '"""An empty module."""', "x = 1"),
        (
            "def f():\n    return 1",
            'def f():\n    """One."""\n    return 1',
            "def f():\n    return 2",
        ),
        ("def f():\n    pass", 'def f():\n    """Nothing."""', 'def f():\n    return "Nothing."'),
        (
            "async def f():\n    return 1",
            'async def f():\n    "One."\n\n    return 1',
            "async def f(): 2",
        ),
        (
            "class A:\n    x: int",
            'class A:\n    x: int\n    """A number."""',
            "class A:\n    x: str",
        ),
    ],
)
def test_adding_changing_or_removing_a_docstring_does_not_change_the_code(code, same, other):
    assert (
        provenance.dump_code(code)
        == provenance.dump_code(same)
        == provenance.dump_code(same.replace("One", "Eins"))
    )
    assert provenance.dump_code(code) != provenance.dump_code(other)


def test_commit_is_dirty_where_sources_differ_and_unknown_without_git(monkeypatch, tmp_path):
    (tmp_path / "code.py").write_text("1\n")
    for words in ("init", "add .", "-c user.name=a -c user.email=a@b commit -m first"):
        program("git", *words.split(), cwd=tmp_path)
    monkeypatch.setattr(provenance, "ROOT", tmp_path.resolve())
    for name in ("results", "benchmarks/results"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "x.json").write_text("{}\n")
    assert provenance.commit()["dirty"] is False
    (tmp_path / "code.py").write_text("2\n")
    assert provenance.commit()["dirty"] is True
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provenance.commit() is None
