"""`icl` needs NumPy and SciPy, and for more the extras that the README names."""

import math
import re

import pytest

from bare import environment, python
from icl_book.provenance import ROOT

#: Checks that follow the pieces of Python, in their order: one column of the user's data is useless, and the
#: mean window of eight trained layers is within 10 % of the exact one.
CHECKS = [
    "",
    "first, second = np.diag(model.best_matrix_.M); assert second < 0.05 * first",
    "assert abs(trained.windows[0].mean() / best.w - 1) < 0.1",
]
#: Names that need an extra, each with the extra.
MORE = {
    "import icl.pretrain": "train",
    "import icl.attention": "train",
    "import icl.tensor_trick": "train",
    "from icl.risk import monte_carlo_risk; monte_carlo_risk(task, 1.0, 5, 0.1)": "train",
    "from icl.risk import bayes_linear_risk; bayes_linear_risk(task, 5, 0.1)": "train",
    "from icl.streams import NativeStream; NativeStream(0, 'noise')": "train",
    "task.sample(np.random.default_rng(0), 2)": "train",
    "icl.SoftmaxAttentionRegressor": "sklearn",
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return environment(tmp_path_factory.mktemp("bare"))


def pieces():
    """Yield the pieces of Python of README and *Use it*: what to install, the code, what it prints."""
    for page in ("README.md", "book/reproduce.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        for before, code, printed in re.findall(
            r"(.*?)```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", text, re.DOTALL
        ):
            extras = re.findall(r'`pip install "?\.(\[\w+\])?"?`', before)
            yield f"softmax-icl{extras[-1]}", code, printed


@pytest.mark.parametrize("number", range(3))
def test_the_code_of_the_readme_runs_with_the_extras_that_it_names(tmp_path, number):
    assert len(list(pieces())) == len(CHECKS)
    package, code, printed = list(pieces())[number]
    done = python(environment(tmp_path, package), "-c", f"{code}\n{CHECKS[number]}")
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed or not printed


def test_a_missing_extra_is_named_in_one_line(bare):
    start = "import icl, numpy as np; from icl.tasks import ReLU; task = ReLU(3)\n"
    for code, extra in MORE.items():
        said = python(bare, "-c", start + code).stderr.splitlines()
        assert re.fullmatch(
            r"(\w+)Error: (this|Softmax\w+) needs .* which comes with the extra "
            rf'"{extra}": pip install "softmax-icl\[{extra}\]"',
            said[-1],
        ), said


def test_exact_risk_and_predictions_need_numpy_and_scipy_alone(tmp_path):
    """Tests of the exact risk against oracles, and a prediction, run with pytest as the only addition."""
    folder = environment(tmp_path, "pytest")
    tests = [f"{ROOT}/tests/icl/risk/test_{name}.py" for name in ("form", "irrelevant")]
    words = "-m pytest -q --noconftest -p no:cacheprovider --rootdir".split()
    done = python(folder, *words, ROOT, *tests, more=(ROOT / "book", ROOT / "tests"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 100
    code = "import icl; print(*icl.predict([[0.0], [1.0]], [0.0, 2.0], [[0.5]], 3.0))"
    assert float(python(folder, "-c", code).stdout) == pytest.approx(2 / (1 + math.exp(-1.5)))
