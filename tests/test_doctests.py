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
