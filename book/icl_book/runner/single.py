"""Judge one claim alone, by the cells of its chapter that its evidence needs.

A cell needs an earlier cell if it uses a name that the earlier cell assigns. It also needs an earlier cell
that assigns a part of the name's value, as in ``x[0] = 1``. A change by a call, as of ``append``, is not
seen. Other cells, such as those that only draw, are left out, so that an exact claim takes seconds. The cells
run in this process, as in a script.
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
        BadInput: If the claim does not exist, if it is *not testable* or *not read*, if no chapter judges it,
            or if a cell fails.
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
    """Run the cell with the index ``last``, which judges the claim, and the cells that it needs, in order.

    Returns:
        The card of the claim.
    """
    found: list[Card] = []

    # The cells call this in place of `judge`, because they may judge other claims, too.
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
            # What a chapter prints is not part of the answer.
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(tree, f"{name}, cell {place + 1}", "exec"), namespace)
        except Exception as error:
            raise BadInput(f"{name}: cell {place + 1}: {type(error).__name__}: {error}") from error
        # The name is there as soon as the cell that imports `judge` has run.
        if "judge" in namespace:
            namespace["judge"] = judge_if_asked
    return found[-1]


def list_needed_cells(cells: list[str], last: int) -> list[int]:
    """Return the indices of the cell ``last`` and of the cells that it needs, in their order.

    The setup, a cell that calls ``notebook.setup``, is always needed. So are the parameters: the cells before
    the setup that consist of assignments only.
    """
    trees = [ast.parse(cell) for cell in cells]
    places = [last]
    # These names must be assigned by earlier cells.
    missing = list_read_names(trees[last])
    # Cells are visited backwards, so that the setup is seen before the parameters.
    setup_seen = False
    for place in range(last - 1, -1, -1):
        only_assigns = all(isinstance(statement, ast.Assign) for statement in trees[place].body)
        is_setup = "notebook.setup(" in cells[place]
        is_parameters = setup_seen and only_assigns
        if is_setup or is_parameters or missing & list_changed_names(trees[place]):
            places.append(place)
            # If the cell changes only a part of a name's value, the name is still missing.
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
        # `t += 1` reads t, although the syntax tree only says that it stores t.
        loads |= {
            node.target.id
            for node in ast.walk(statement)
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
        }
        # The names that a comprehension or a function inside the statement binds are not read from outside.
        targets = [n.target for n in ast.walk(statement) if isinstance(n, ast.comprehension)]
        inner = {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
        inner |= {n.arg for n in ast.walk(statement) if isinstance(n, ast.arg)}
        # The names that a loop, a with or a def binds are not read from outside, either. An assignment,
        # however, may read the name that it binds: x = f(x). If this stands in a loop, it is not seen.
        if not isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
            inner |= list_changed_names(statement)
        names |= loads - known - inner
        known |= list_changed_names(statement)
    return names


def _list_assigned(tree: ast.Module) -> set[str]:
    """Return the names that a cell certainly assigns, defines or imports as a whole.

    Assignments inside a branch or a loop are left out, because they may not be executed. Those inside a def
    or a class count, although they bind other variables.
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
    """Return the names that a cell or a statement may change or bind.

    These are the names that it assigns, deletes, imports or defines, and the names of which it assigns or
    deletes a part, as in ``x[0] = 1``. Local names of its functions and comprehensions count, although they
    are other variables.
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
