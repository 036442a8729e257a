"""The claims of both papers, read from ``book/claims/*.yml``; what is wrong there is named with its line."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from icl_book.claims.claim import Authority, Claim
from icl_book.parameters import BadInput

#: ``book/claims``, through a link, so that a wheel has it.
FOLDER = Path(__file__).resolve().parent / "data"

#: Who speaks in a document, unless an entry says otherwise; without a place this book does.
SPEAKERS = (
    {"": Authority.BOOK, "talk": Authority.TALK, "openreview": Authority.REBUTTAL}
    | dict.fromkeys(("abstract1", "abstract2"), Authority.TEXT)
    | dict.fromkeys(("summary1", "summary2", "tldr2"), Authority.SUMMARY)
    | dict.fromkeys(("notes2", "closeness", "largeprompt"), Authority.OTHER)
)

_ENTRIES = TypeAdapter(dict[str, Claim])


@cache
def registry() -> dict[str, Claim]:
    """Return all claims of both papers by id, in the order of the files; ValueError as `load`."""
    return load(FOLDER)


def find(claim: str) -> Claim:
    """Return the claim of an id; BadInput, naming ids like it, if there is none."""
    found = registry()
    if claim not in found:
        close = difflib.get_close_matches(claim, list(found)) or [
            "an id of book/claims/*.yml"
        ]
        raise BadInput(
            f"claim {claim!r}: there is none of this id; must be e.g. {' or '.join(close)}"
        )
    return found[claim]


def load(folder: Path) -> dict[str, Claim]:
    """Return the claims of all files of a folder by id.

    Raises:
        ValueError: If an entry is no claim, or two have one id; a line for each problem, with file and line.
    """
    found: dict[str, Claim] = {}
    for path in sorted(folder.glob("*.yml")):
        for name, claim in _read(path).items():
            if name in found:
                raise ValueError(
                    f"{claim.where}: the id {name} is taken by {found[name].where}"
                )
            found[name] = claim
    return found


class _Loader(yaml.CSafeLoader):  # type: ignore[misc]
    """Reads YAML, and refuses a key that stands twice in one mapping, of which YAML would take the last."""

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        for at, (key, _) in enumerate(node.value):
            if key.value in keys[:at]:
                said = f"{key.value} stands twice in one entry"
                raise yaml.MarkedYAMLError(problem=said, problem_mark=key.start_mark)
        return dict(super().construct_mapping(node, deep))


def _read(path: Path) -> dict[str, Claim]:
    place, root = f"book/claims/{path.name}", None
    loader = _Loader(path.read_text(encoding="utf-8"))
    try:
        root = loader.get_single_node() or yaml.MappingNode("tag:yaml.org,2002:map", [])
        entries = loader.construct_document(root)
        for (key, _), entry in zip(root.value, entries.values(), strict=True):
            entry.setdefault(
                "authority", SPEAKERS.get(str(entry.get("place", "")).partition(":")[0])
            )
            entry |= {"id": key.value, "where": f"{place}:{key.start_mark.line + 1}"}
        return _ENTRIES.validate_python(entries)
    except yaml.MarkedYAMLError as error:
        problems = [(error.problem_mark.line + 1, error.problem)]
    except AttributeError:
        problems = [(1, "an id and a mapping are needed for each claim")]
    except ValidationError as error:
        problems = [(_line(root, e["loc"]), _said(e)) for e in error.errors()]
    raise ValueError("\n".join(f"{place}:{line}: {said}" for line, said in problems))


def _line(node: yaml.Node, steps: Sequence[int | str]) -> int:
    """Return the line of what a problem is about, or of the entry that lacks it."""
    line = 1
    for step in steps:
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            node = node.value[step]
            line = node.start_mark.line + 1
        elif isinstance(node, yaml.MappingNode) and isinstance(step, int):
            key, node = node.value[step]  # readings by key are a tuple
            line = key.start_mark.line + 1
        elif isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == step:
                    node, line = value, key.start_mark.line + 1
    return line


def _said(error: Any) -> str:
    """Return what pydantic found, e.g. ``"P1.T2.upper, grade: Input should be 'identity', ..., not 'x'"``."""
    keys = [
        step
        for step in error["loc"]
        if isinstance(step, str) and step not in ("[key]", "float")
    ]
    said, given = error["msg"].removeprefix("Value error, "), error["input"]
    wrong = (
        f", not {given!r}"
        if isinstance(given, str) and said.startswith("Input")
        else ""
    )
    return f"{', '.join(keys)}: {said}{wrong}"
