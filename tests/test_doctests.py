"""The examples in docstrings are run."""

import doctest
import importlib
import pkgutil

import pytest

import icl
import icl_book

MODULES = [
    m.name
    for package in (icl, icl_book)
    for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if "__main__" not in m.name
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    found = {m for m in MODULES for t in finder.find(importlib.import_module(m)) if t.examples}
    assert {"icl.risk.exact", "icl.pretrain.trainer"} <= found
