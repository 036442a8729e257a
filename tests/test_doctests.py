"""The examples in docstrings are run."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import icl
import icl_book
import icl_rigor

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


def entry_points():
    modules = [importlib.import_module(name) for name in MODULES if ".numerics." in name]
    return [
        value
        for module in modules
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and name[0] != "_"
    ]


def test_each_numerical_entry_point_has_an_example():
    assert len(entry_points()) > 10
    assert [
        function.__name__ for function in entry_points() if ">>>" not in (function.__doc__ or "")
    ] == []
