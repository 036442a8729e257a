"""Importing the exact risk loads nothing that takes long."""

import os
import subprocess
import sys
from pathlib import Path

import icl

SLOW = ("torch", "scipy.stats", "scipy.integrate")
REPORT = f"; print(*(name for name in {SLOW} if name in sys.modules))"


def test_the_exact_risk_needs_no_torch_and_imports_load_nothing_slow():
    code = "import sys, icl.risk, icl.tasks, icl.covariates, icl.streams" + REPORT
    code += "; icl.risk.population_risk(icl.tasks.ReLU(5), 10.0, 100, 0.5)" + REPORT
    env = os.environ | {"PYTHONPATH": str(Path(icl.__file__).parents[1])}
    run = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    imported, computed = run.stdout.splitlines()
    assert imported == "" and "torch" not in computed
