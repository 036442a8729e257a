"""What a statement permits, written as data: a range whose ends are arithmetic in a case's labels.

For example::

    {at_most: 2 / d, tolerance: 0.01}           no more than 2 / d, and 0.01
    {at_least: 0.4, at_most: 0.8}               between the two
    {equals: 1, tolerance: 0.02}                from 0.98 to 1.02

A tolerance widens every end. A mapping with ``by`` is a choice by a label, of a rule or of a number; the key
``otherwise`` stands for all other values::

    {by: tokens, Gaussian: {at_most: 1}, sphere: {at_least: 1}}
    {at_least: {by: class, ReLU: 3 / (d + 2), affine: 4 / (d + 3)}}

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

#: Arithmetic is tried with these labels before there is a case. Every label has the same odd value,
#: for which no denominator is zero. The functions are here, too, since `eval` looks names up here first.
ANY: Mapping[str, Any] = defaultdict(lambda: math.pi, FUNCTIONS)


@dataclass(frozen=True)
class Amount:
    """A number, arithmetic in a case's labels, or a choice of one by a label; called with labels, its value.

    Raises:
        ValueError: If it is something else; when called, if a label is missing, or its value has no entry.
    """

    spec: Any

    def __post_init__(self) -> None:
        for option in _list_options(self.spec):
            _evaluate(option, ANY)

    def __call__(self, labels: Mapping[str, Any]) -> float:
        return float(_evaluate(_choose(self.spec, labels), labels))


@dataclass(frozen=True)
class Rule:
    """A rule; called with a case's labels, the permitted range, ends and every tolerance included.

    Raises:
        ValueError: If it does not bound, or has other parts than a rule; when called, as in `Amount`.
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
    """Yield all that a choice by a label may lead to; of anything else, yield that itself.

    Raises:
        ValueError: If a choice is by something that is not a label or arithmetic.
    """
    if isinstance(spec, Mapping) and "by" in spec:
        # A choice may be by arithmetic, which is tried as well.
        _evaluate(spec["by"], ANY)
        for key, option in spec.items():
            if key != "by":
                yield from _list_options(option)
    else:
        yield spec


def _choose(spec: Any, labels: Mapping[str, Any]) -> Any:
    """Follow the choices by a label, which may lead to further ones, to what these labels choose.

    Raises:
        ValueError: If a label is missing, or its value has no entry.
    """
    while isinstance(spec, Mapping) and "by" in spec:
        value = _evaluate(spec["by"], labels)
        if value not in spec and "otherwise" not in spec:
            known = [key for key in spec if key != "by"]
            raise ValueError(f"the rule says nothing of {spec['by']} = {value!r}, but of {known}")
        spec = spec[value] if value in spec else spec["otherwise"]
    return spec


def _evaluate(amount: Any, labels: Mapping[str, Any]) -> Any:
    """Return a number as it is, and the value of arithmetic; a label alone may be text.

    Raises:
        ValueError: If it is neither, or a label is missing.
    """
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
