"""The exact risk is usable without PyTorch, and importing it loads no compiler."""

import os
import subprocess
import sys
from pathlib import Path

import icl


def loaded(code):
    """Which of the slow packages a fresh interpreter has loaded after ``code``."""
    names = ("torch", "numba", "scipy.stats", "scipy.integrate")
    report = f"\nimport sys; print(*(name for name in {names} if name in sys.modules))"
    env = os.environ | {"PYTHONPATH": str(Path(icl.__file__).parents[1])}
    run = subprocess.run(
        [sys.executable, "-c", code + report], env=env, capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


def test_imports_load_nothing_slow():
    assert loaded("import icl.risk, icl.tasks, icl.covariates, icl.streams") == set()


def test_exact_risk_needs_no_torch():
    code = "from icl.risk import population_risk; from icl.tasks import ReLU\n"
    assert "torch" not in loaded(code + "population_risk(ReLU(5), 10.0, 100, 0.5)")


def test_sampling_finds_torch():
    code = "from icl.risk import monte_carlo_risk; from icl.tasks import ReLU\n"
    assert "torch" in loaded(code + "monte_carlo_risk(ReLU(5), 10.0, 10, 0.5, 100)")
