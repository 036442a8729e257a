"""What completion and ``import *`` see of the package's own names; for type checkers see `typed`."""

import pytest

import icl


def test_names_are_listed_and_a_wrong_one_is_no_attribute():
    assert set(icl.__all__) <= set(dir(icl)) and "__version__" in dir(icl)
    names: dict[str, object] = {}
    exec("from icl import *", names)
    assert set(icl.__all__) <= set(names)
    with pytest.raises(AttributeError, match="no_such_name"):
        icl.no_such_name  # noqa: B018
