"""What type checkers, completion and ``import *`` see of the package's own names."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import icl

ROOT = Path(__file__).parents[2]
SEEN = """
import icl
reveal_type(icl.predict)
reveal_type(icl.best_window)
reveal_type(icl.SoftmaxAttentionRegressor())
reveal_type(icl.__version__)
icl.no_such_name
"""


def test_names_are_listed_and_a_wrong_one_is_no_attribute():
    assert set(icl.__all__) <= set(dir(icl)) and "__version__" in dir(icl)
    names: dict[str, object] = {}
    exec("from icl import *", names)
    assert set(icl.__all__) <= set(names)
    with pytest.raises(AttributeError, match="no_such_name"):
        icl.no_such_name  # noqa: B018


@pytest.mark.slow
def test_a_type_checker_knows_the_names(tmp_path):
    path = tmp_path / "seen.py"
    path.write_text(SEEN)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "", str(path)],
        capture_output=True,
        text=True,
        check=False,
        # an editable installation is found by a hook that type checkers do not run
        env=os.environ | {"MYPYPATH": str(ROOT)},
    )
    revealed = [line for line in done.stdout.splitlines() if "Revealed" in line]
    assert len(revealed) == 4 and not any('"Any"' in line for line in revealed)
    assert "BestWindow" in revealed[1] and re.search(r'"(builtins\.)?str"', revealed[3])
    assert 'has no attribute "no_such_name"' in done.stdout
