"""What a notebook calls: the vocabulary of parameters, set-up, footer, and where it ran."""

import json
import re
import subprocess
import sys

import pytest
import torch

from icl_book import notebook, provenance
from icl_book.parameters import PARAMETERS, BadInput, number, validate
from icl_book.provenance import ROOT

# -------------------------------------------------------------------- the vocabulary
GOOD = {
    "dims": [[2], [2, 100], [2.0, 3], (2, 3)],
    "n_values": [[1]],
    "noise_std": [0, 0.5, 3],
    "noise_stds": [[0.0, 1]],
    "lipschitz": [1, 1e-9],
    "context_length": [1],
    "seeds": [2],
    "seed": [0],
    "steps": [1, 1e3],
}
BAD = {
    "dims": [1, [1], [], [2.5], [[2]], [True], "2", None, [float("nan")]],
    "n_values": [[0], [-3], [1.5]],
    "noise_std": [-1e-9, float("nan"), float("inf"), "0.5", True, None, [0.5]],
    "noise_stds": [[-1.0], [], 0.5],
    "lipschitz": [0, 0.0, -1, float("nan"), 5e-324, 1e300, 10**400],
    "context_length": [0, 1.5, [5], float("nan")],
    "seeds": [1, 0],
    "seed": [-1, 0.5],
    "steps": [0],
    "learning_rate": [0.0],
    "contexts": [1, 10**12],
    "memory_limit": [1e300, 1e-10],
    "flips": [1.5],
}


@pytest.mark.parametrize("name, value", [(n, v) for n, values in GOOD.items() for v in values])
def test_allowed_values_pass(name, value):
    validate({name: value}, [name])


@pytest.mark.parametrize("name, value", [(n, v) for n, values in BAD.items() for v in values])
def test_other_values_are_named_with_what_is_allowed(name, value):
    with pytest.raises(BadInput) as caught:
        validate({name: value}, [name])
    message = str(caught.value)
    assert message.startswith(f"{name}={value!r}"[:200]) and message.endswith(f"{PARAMETERS[name].meaning})")
    assert re.search("must be (a finite number|a number|an integer|a list)", message) and "\n" not in message


@pytest.mark.parametrize("text", ["0x10", "12:30", "relu", "nan", "inf", "1e400", "9" * 5000, ""])
def test_text_that_spells_no_finite_number_is_no_parameter(text):
    with pytest.raises(BadInput, match="must be"):
        validate({"seed": number(text)}, ["seed"])


def test_numbers_that_yaml_takes_for_text_are_numbers():
    assert number(["1e-3", "7", "010", "2.5", True, "x"]) == [1e-3, 7, 10, 2.5, True, "x"]
    steps = validate({"steps": number("1e3")}, ["steps"])["steps"]
    assert steps == 1000 and isinstance(steps, int)


# --------------------------------------------------------------- called by a notebook
def kernel(*cells):
    """The globals of a kernel that has executed these cells, as IPython keeps them."""
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


def test_a_notebook_runs_as_a_plain_script(tmp_path):
    script = tmp_path / "plain.py"
    text = '# %% tags=["parameters"]\nsteps = 2e1\n\n# %%\n'
    text += "from icl_book import notebook\nnotebook.setup(globals())\n"
    script.write_text(text + "# %%\nprint(steps)\nnotebook.footer()\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("20\nComputed in ")


@pytest.mark.parametrize(
    ("cells", "needs", "message"),
    [
        # Unknown anywhere, and known to other notebooks
        (
            ["noise_std = 0.1", "# Parameters\nnois_std = 3"],
            {},
            "unknown parameter nois_std=3: this notebook",
        ),
        (["noise_std = 0.1", "# Parameters\ncontexts = None"], {}, "unknown parameter contexts=None: this"),
        (["frobnication = 1"], {}, "frobnication: not in the vocabulary"),
        (["import math"], {}, "no parameters cell was executed"),
        (["dims = [2]", "dims = [2]\nseed = -1"], {}, "seed=-1: must be"),  # a name that the reader added
        (
            ["n_decades = [1]"],
            {"n_decades": 2},
            r"n_decades=\[1\]: must have 2 or more entries in increasing",
        ),
        (["n_decades = [1, 1]"], {"n_decades": 2}, "must have 2 or more entries in increasing order"),
        (["dims = [5, 3]\nranks = [2]"], {"ranks": "dims"}, "must have as many entries as dims="),
    ],
)
def test_setup_refuses_what_the_notebook_cannot_use(cells, needs, message):
    with pytest.raises(BadInput, match=message):
        notebook.setup(kernel(*cells), **needs)


def test_setup_takes_lists_that_are_long_enough_and_go_together():
    notebook.setup(kernel("n_decades = [1, 2, 8]"), n_decades=2)
    notebook.setup(kernel("dims = [5, 3]\nranks = [2, 1]"), ranks="dims")


def test_bad_input_shows_itself_in_one_line_in_a_notebook():
    assert BadInput("seed=-1: must be")._render_traceback_() == ["BadInput: seed=-1: must be"]


def test_device_setting(monkeypatch):
    monkeypatch.setenv("ICL_DEVICE", "cpu")
    assert str(provenance.device()) == "cpu"
    monkeypatch.setenv("ICL_DEVICE", "abacus")
    with pytest.raises(BadInput, match="ICL_DEVICE='abacus': must be one of cpu"):
        provenance.device()


@pytest.mark.gpu
def test_device_is_the_gpu_where_there_is_one(monkeypatch):
    monkeypatch.delenv("ICL_DEVICE", raising=False)
    torch.zeros(1, device=provenance.device())
    assert provenance.device().type == "cuda" and provenance.device_name().startswith("cuda (")


def test_a_device_that_nothing_was_computed_on_is_not_named(monkeypatch):
    monkeypatch.delenv("ICL_DEVICE", raising=False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a GPU")
    for computed, named in ((False, "cpu"), (True, "cuda (a GPU)")):
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda computed=computed: computed)
        assert provenance.device_name() == named


def test_provenance_is_plain_data_and_says_where():
    record = [provenance.machine(), provenance.versions(), provenance.commit()]
    assert json.loads(json.dumps(record)) == record
    assert record[0]["cores"] >= 1 and {"python", "numpy", "torch"} <= set(record[1])


def test_commit_is_dirty_where_sources_differ_and_unknown_without_git(monkeypatch, tmp_path):
    def git(*words):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)

    (tmp_path / "code.py").write_text("1\n")
    git("init")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-m", "first")
    monkeypatch.setattr(provenance, "ROOT", tmp_path.resolve())
    (tmp_path / "results" / "paper").mkdir(parents=True)
    (tmp_path / "results" / "paper" / "x.json").write_text("{}\n")
    assert provenance.commit()["dirty"] is False
    (tmp_path / "code.py").write_text("2\n")
    assert provenance.commit()["dirty"] is True
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provenance.commit() is None


BALANCING = ["theorem2_scaling", "phase_diagram"]


@pytest.mark.parametrize("name", BALANCING)
def test_chapters_whose_laws_balance_noise_refuse_to_have_none(name):
    cells = re.split(r"(?m)^# %%", (ROOT / "notebooks" / f"{name}.py").read_text(encoding="utf-8"))
    bodies = [cell.partition("\n")[2] for cell in cells]
    begin, imports = (body for body in bodies if body.startswith("dims =") or "notebook.setup(" in body)
    with pytest.raises(BadInput, match="noise_std=0: must be positive"):
        kernel(begin, "# Parameters\nnoise_std = 0", imports)
