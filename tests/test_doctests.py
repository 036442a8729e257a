"""The examples in docstrings are run."""

import doctest
import importlib
import pkgutil

import pytest

import icl

MODULES = [f"icl.{m.name}" for m in pkgutil.iter_modules(icl.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    found = {m for m in MODULES for t in finder.find(importlib.import_module(m)) if t.examples}
    assert {"icl.risk", "icl.pretrain"} <= found
