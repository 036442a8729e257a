"""What a statement permits, written as data: a range whose ends are arithmetic in a case's labels.

    {at_most: 2 / d, tolerance: 0.01}           no more than 2 / d, and 0.01
    {at_least: 0.4, at_most: 0.8}               between the two
    {equals: 1, tolerance: 0.02}                from 0.98 to 1.02

A tolerance widens every end. A mapping with ``by`` is a choice by a label, of a rule or of a number; the key
``otherwise`` stands for all other values:

    {by: tokens, Gaussian: {at_most: 1}, sphere: {at_least: 1}}
    {at_least: {by: class, ReLU: 3 / (d + 2), affine: 4 / (d + 3)}}

Arithmetic has numbers, labels, ``+ - * / **``, ``<=``, ``exp``, ``log10`` and ``sqrt``; nothing else is run.
"""

from __future__ import annotations

import ast
import math
import operator
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
FUNCTIONS = {"exp": math.exp, "log10": math.log10, "sqrt": math.sqrt}

#: Labels with which arithmetic is tried before there is a case: every one has the same odd value.
ANY: Mapping[str, Any] = defaultdict(lambda: math.pi)


@dataclass(frozen=True)
class Amount:
    """A number, arithmetic in a case's labels, or a choice of one by a label; called with labels, its value.

    Raises:
        ValueError: If it is none of these; if called: if a label is missing, or its value has no entry.
    """

    spec: Any

    def __post_init__(self) -> None:
        for one in _ends_of(self.spec):
            _number(one, ANY)

    def __call__(self, labels: Mapping[str, Any]) -> float:
        return float(_number(_chosen(self.spec, labels), labels))


@dataclass(frozen=True)
class Rule:
    """A rule; called with a case's labels, the permitted range, ends and every tolerance included.

    Raises:
        ValueError: If it does not bound, or has other parts than a rule; if called: as in `Amount`.
    """

    spec: Any

    def __post_init__(self) -> None:
        for one in _ends_of(self.spec):
            keys = set(one) if isinstance(one, Mapping) else set()
            if keys - {"tolerance"} not in ({"at_least"}, {"at_most"}, {"at_least", "at_most"}, {"equals"}):
                raise ValueError(
                    f"{one!r} has not at_least, at_most, both or equals, and at most a tolerance"
                )
            for part in one.values():
                Amount(part)

    def __call__(self, labels: Mapping[str, Any]) -> tuple[float, float]:
        one = _chosen(self.spec, labels)
        low = Amount(one.get("at_least", one.get("equals", -math.inf)))(labels)
        high = Amount(one.get("at_most", one.get("equals", math.inf)))(labels)
        tolerance = Amount(one.get("tolerance", 0))(labels)
        return low - tolerance, high + tolerance


def _ends_of(spec: Any) -> Iterator[Any]:
    """Yield all that a choice by a label can end in; what is no choice, itself."""
    if isinstance(spec, Mapping) and "by" in spec:
        _number(spec["by"], ANY)
        for one in [one for key, one in spec.items() if key != "by"]:
            yield from _ends_of(one)
    else:
        yield spec


def _chosen(spec: Any, labels: Mapping[str, Any]) -> Any:
    while isinstance(spec, Mapping) and "by" in spec:
        value = _number(spec["by"], labels)
        if value not in spec and "otherwise" not in spec:
            raise ValueError(f"the rule says nothing of {spec['by']} = {value!r}, but of {list(spec)[1:]}")
        spec = spec[value] if value in spec else spec["otherwise"]
    return spec


def _number(one: Any, labels: Mapping[str, Any]) -> Any:
    if isinstance(one, str):
        return _value(_parsed(one), labels)
    if isinstance(one, bool) or not isinstance(one, int | float):
        raise ValueError(f"{one!r} is no number, no arithmetic and no choice by a label")
    return one


@cache
def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise ValueError(f"{text!r} is no arithmetic") from None


def _value(node: ast.expr, labels: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            try:
                return labels[name]
            except KeyError:
                raise ValueError(f"the rule needs the label {name!r}; the case has {list(labels)}") from None
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, labels)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](_value(left, labels), _value(right, labels))
        case ast.Compare(left=left, ops=[ast.LtE()], comparators=[right]):
            return _value(left, labels) <= _value(right, labels)
        case ast.Call(func=ast.Name(id=name), args=[argument]) if name in FUNCTIONS:
            return FUNCTIONS[name](_value(argument, labels))
    raise ValueError(f"{ast.unparse(node)!r} is no arithmetic with numbers and labels")
