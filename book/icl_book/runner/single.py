"""Judge one claim alone, by the cells of its chapter that its evidence needs.

A cell needs an earlier cell that assigns a name that it uses, or a part of the name's value, as in ``x[0] =
1``. A change by a call, as of ``append``, is not seen. The cells run in this process, as in a script.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import io
from collections.abc import Iterator
from typing import Any

from icl_book.claims import find, judge
from icl_book.claims.card import Card
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner.plan import notebooks, read_code


def judge_alone(claim_id: str) -> Card:
    """Run the cells that a claim needs, with the parameters of its chapter, and return the claim's card.

    Raises:
        BadInput: If the claim is unknown or not testable, if no chapter judges it, or if a cell fails.
    """
    claim = find(claim_id)
    if claim.rule is None:
        raise BadInput(f"claim {claim_id}: {claim.expected}: {claim.why_not}")
    for name in notebooks():
        cells = read_code(name)
        for place, cell in enumerate(cells):
            if claim_id in _list_judged(ast.parse(cell)):
                return _run_cells(name, cells, place, claim_id)
    raise BadInput(f"claim {claim_id}: no chapter judges it")


def _run_cells(name: str, cells: list[str], last: int, claim_id: str) -> Card:
    """Run the cells that the cell ``last`` needs, and this cell, which judges the claim; return the card."""
    found: list[Card] = []

    # The cells may judge other claims, too.
    def judge_if_asked(asked: str, *evidence: Any, **options: Any) -> None:
        if asked == claim_id:
            found.append(judge(asked, *evidence, **options))

    namespace: dict[str, Any] = {
        "__name__": "__main__",
        "__file__": str(ROOT / "notebooks" / f"{name}.py"),
    }
    for place in list_needed_cells(cells, last):
        tree = ast.parse(cells[place])
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(tree, f"{name}, cell {place + 1}", "exec"), namespace)
        except Exception as error:
            raise BadInput(f"{name}: cell {place + 1}: {type(error).__name__}: {error}") from error
        # An earlier cell imports `judge`.
        if "judge" in namespace:
            namespace["judge"] = judge_if_asked
    return found[-1]


def list_needed_cells(cells: list[str], last: int) -> list[int]:
    """Return the indices of the cell ``last`` and of the cells that it needs, in their order.

    The cell that calls ``notebook.setup`` is always needed, and so are the parameters: the cells before it
    that consist of assignments only.
    """
    trees = [ast.parse(cell) for cell in cells]
    places = [last]
    # These names must be assigned by earlier cells.
    missing = list_read_names(trees[last])
    setup_seen = False
    for place in range(last - 1, -1, -1):
        only_assigns = all(isinstance(statement, ast.Assign) for statement in trees[place].body)
        is_setup = "notebook.setup(" in cells[place]
        is_parameters = setup_seen and only_assigns
        if is_setup or is_parameters or missing & list_changed_names(trees[place]):
            places.append(place)
            # A name is still missing if the cell changes only a part of its value.
            missing = (missing - _list_assigned(trees[place])) | list_read_names(trees[place])
        setup_seen = setup_seen or is_setup
    return places[::-1]


def _list_judged(tree: ast.AST) -> Iterator[str]:
    """Yield the ids of the claims that a cell judges."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "judge" and node.args:
            if isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)


def list_read_names(tree: ast.Module) -> set[str]:
    """Return the names that a cell takes from earlier cells: it reads them before it assigns them."""
    names: set[str] = set()
    known = set(dir(builtins))
    for statement in tree.body:
        loads = {
            node.id
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        # The syntax tree of `t += 1` only says that it stores t.
        loads |= {
            node.target.id
            for node in ast.walk(statement)
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
        }
        # A comprehension or a function inside the statement binds these names.
        targets = [n.target for n in ast.walk(statement) if isinstance(n, ast.comprehension)]
        inner = {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
        inner |= {n.arg for n in ast.walk(statement) if isinstance(n, ast.arg)}
        # A loop, a with or a def binds names, too. An assignment, however, may read its name: x = f(x).
        if not isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
            inner |= list_changed_names(statement)
        names |= loads - known - inner
        known |= list_changed_names(statement)
    return names


def _list_assigned(tree: ast.Module) -> set[str]:
    """Return the names that a cell certainly assigns, defines or imports as a whole.

    Assignments inside a branch or a loop may not be executed.
    """
    names: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            nodes = [node for target in targets for node in ast.walk(target)]
            names |= {
                n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
        elif isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
            names |= list_changed_names(statement)
    return names


def list_changed_names(tree: ast.AST) -> set[str]:
    """Return the names that a cell or a statement may change or bind, also in part, as in ``x[0] = 1``.

    Local names of its functions and comprehensions count, although they are other variables.
    """
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            base: ast.AST = node
            while isinstance(base, ast.Subscript | ast.Attribute):
                base = base.value
            if isinstance(base, ast.Name):
                names.add(base.id)
    return names
