"""The examples in docstrings and in README.md are run."""

import doctest
import importlib
import inspect
import pkgutil
import re

import numpy as np
import pytest

import icl
import icl_book
import icl_rigor
from icl.risk import optimal_window
from icl_book.provenance import ROOT

MODULES = [
    m.name
    for package in (icl, icl_book, icl_rigor)
    for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if "__main__" not in m.name
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert failed == 0 and (tried or name not in ("icl.risk.exact", "icl.pretrain.trainer"))


def doors():
    """Return the functions that other modules call in the numerics of the exact risk."""
    modules = [importlib.import_module(name) for name in MODULES if ".numerics." in name]
    return [
        value
        for module in modules
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and name[0] != "_"
    ]


def test_each_numerical_door_has_an_example():
    assert len(doors()) > 10
    assert [door.__name__ for door in doors() if ">>>" not in (door.__doc__ or "")] == []


def test_the_studies_of_the_readme():
    """Eight trained layers have their mean window within 10 % of the exact one; own data need one column."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    study: dict = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), study)
    assert len(blocks) == 3
    first, second = np.diag(study["model"].best_matrix_.M)
    assert second < 0.05 * first  # the second column is useless
    exact = optimal_window(study["cubic"], n=20, noise_std=2.0).w
    assert abs(study["trained"].windows[0].mean() / exact - 1) < 0.1
