"""Names of the package that completion and ``import *`` see; for type checkers see `typed`."""

import inspect

import pytest

import icl
from icl.pretrain import pretrain
from icl.pretrain.config import Options


def test_names_are_listed_and_a_wrong_name_is_an_attribute_error():
    assert set(icl.__all__) <= set(dir(icl)) and "__version__" in dir(icl)
    names: dict[str, object] = {}
    exec("from icl import *", names)
    assert set(icl.__all__) <= set(names)
    with pytest.raises(AttributeError, match="no_such_name"):
        icl.no_such_name  # noqa: B018


def test_train_grid_hands_on_every_keyword_of_pretrain():
    parameters = inspect.signature(pretrain).parameters.values()
    keywords = {p.name: p.annotation for p in parameters if p.kind is p.KEYWORD_ONLY}
    assert {k: v.__forward_arg__ for k, v in Options.__annotations__.items()} == keywords
