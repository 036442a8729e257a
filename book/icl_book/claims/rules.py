"""What a statement permits, written as data: a range whose ends are arithmetic in a case's labels.

For example::

    {at_most: 2 / d, tolerance: 0.01}           at most 2 / d + 0.01
    {at_least: 0.4, at_most: 0.8}               between the two
    {equals: 1, tolerance: 0.02}                from 0.98 to 1.02

A tolerance widens the range at every end. A mapping with the key ``by`` is a *choice*: the value of a label
chooses a rule or a number. The key ``otherwise`` stands for all other values of the label::

    {by: tokens, Gaussian: {at_most: 1}, sphere: {at_least: 1}}
    {at_least: {by: task, ReLU: 3 / (d + 2), affine: 4 / (d + 3)}}

Arithmetic has numbers, labels, ``+ - * / **``, ``<=``, ``exp``, ``log10`` and ``sqrt``; nothing else is run.
"""

from __future__ import annotations

import ast
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any

OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub, ast.LtE)
SYNTAX = (
    ast.Constant,
    ast.Name,
    ast.Load,
    ast.UnaryOp,
    ast.BinOp,
    ast.Compare,
    ast.Call,
    *OPERATORS,
)
FUNCTIONS = {"exp": math.exp, "log10": math.log10, "sqrt": math.sqrt}

#: With these labels arithmetic is tried before there is a case. A denominator with pi is hardly ever zero.
ANY: Mapping[str, Any] = defaultdict(lambda: math.pi, FUNCTIONS)


@dataclass(frozen=True)
class Amount:
    """A number, arithmetic in a case's labels, or a choice of these. A call with labels returns its value.

    Raises:
        ValueError: If ``spec`` is something else, or in a call if a label is missing or its value has no
            entry.
    """

    spec: Any

    def __post_init__(self) -> None:
        for option in _list_options(self.spec):
            _evaluate(option, ANY)

    def __call__(self, labels: Mapping[str, Any]) -> float:
        return float(_evaluate(_choose(self.spec, labels), labels))


@dataclass(frozen=True)
class Rule:
    """A rule. A call with a case's labels returns the permitted range, which includes the tolerance.

    Raises:
        ValueError: If ``spec`` has not one of the forms in the docstring of this module, or as in `Amount`.
    """

    spec: Any

    def __post_init__(self) -> None:
        for ends in _list_options(self.spec):
            keys = set(ends) if isinstance(ends, Mapping) else set()
            if keys - {"tolerance"} not in (
                {"at_least"},
                {"at_most"},
                {"at_least", "at_most"},
                {"equals"},
            ):
                raise ValueError(
                    f"{ends!r} has not at_least, at_most, both or equals, and at most a tolerance"
                )
            for part in ends.values():
                # This raises ValueError unless the part is an amount.
                Amount(part)

    def __call__(self, labels: Mapping[str, Any]) -> tuple[float, float]:
        ends = _choose(self.spec, labels)
        low = Amount(ends.get("at_least", ends.get("equals", -math.inf)))(labels)
        high = Amount(ends.get("at_most", ends.get("equals", math.inf)))(labels)
        tolerance = Amount(ends.get("tolerance", 0))(labels)
        return low - tolerance, high + tolerance


def _list_options(spec: Any) -> Iterator[Any]:
    """Yield every rule or amount that the choices in ``spec`` may lead to; without a choice, ``spec``."""
    if isinstance(spec, Mapping) and "by" in spec:
        _evaluate(spec["by"], ANY)
        for key, option in spec.items():
            if key != "by":
                yield from _list_options(option)
    else:
        yield spec


def _choose(spec: Any, labels: Mapping[str, Any]) -> Any:
    """Return the rule or amount that these labels choose. A choice may lead to a further choice."""
    while isinstance(spec, Mapping) and "by" in spec:
        value = _evaluate(spec["by"], labels)
        if value not in spec and "otherwise" not in spec:
            known = [key for key in spec if key != "by"]
            raise ValueError(f"the rule says nothing of {spec['by']} = {value!r}, but of {known}")
        spec = spec[value] if value in spec else spec["otherwise"]
    return spec


def _evaluate(amount: Any, labels: Mapping[str, Any]) -> Any:
    """Return a number as it is, or the value of arithmetic, a text if it is one label alone."""
    if isinstance(amount, bool) or not isinstance(amount, str | int | float):
        raise ValueError(f"{amount!r} is not a number, arithmetic or a choice by a label")
    if not isinstance(amount, str):
        return amount
    try:
        # The code has neither attributes nor text, and its only names are labels and `FUNCTIONS`.
        return eval(_compile_arithmetic(amount), {"__builtins__": {}} | FUNCTIONS, labels)
    except NameError as error:
        has = f"the case has {list(labels)}"
        raise ValueError(f"the rule needs the label {error.name!r}; {has}") from None
    except (SyntaxError, TypeError):
        raise ValueError(f"{amount!r} is not arithmetic with numbers and labels") from None


@cache
def _compile_arithmetic(text: str) -> CodeType:
    """Return the code of arithmetic; raise SyntaxError if it has more than `SYNTAX`, or a text in quotes."""
    tree = ast.parse(text.strip(), mode="eval")
    for node in ast.walk(tree.body):
        if not isinstance(node, SYNTAX) or isinstance(getattr(node, "value", 0), str | bytes):
            raise SyntaxError
    return compile(tree, "rule", "eval")
