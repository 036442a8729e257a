"""Public names of `icl`, and which of them the cards and figures of a notebook are computed with.

Everything is read from source text, nothing is imported. `Names` knows where the API page documents what,
and `behind` follows the assignments of a notebook from cell to cell.
"""

from __future__ import annotations

import ast
import dis
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import CodeType

from icl_book.provenance import ROOT

#: Rooms in the order in which a reader meets them.
ROOMS = ("tasks", "risk", "pretrain", "tensor_trick", "attention", "covariates", "streams", "statistics")
#: What the API page shows of the book's own package.
BOOK = ("icl_book.claims", "icl_book.notebook", "icl_book.plots")
#: Rooms with a page of their own; `page_of` puts everything else on one more.
PAGES = ("tasks", "risk", "pretrain", "tensor_trick")
#: Style-sheet classes of outputs that carry a line of links; matplotlib's figures have it in the caption.
MARKED = ("icl-card", "icl-slider", "icl-live")
#: Behind the figures of the risk that move, whatever their cells read: the page's script is a port of these.
PORTED = ("icl.risk.optimal_window", "icl.risk.population_risk")
#: Behind the other figures that move, by name.
PORTED_FOR = {
    "kronecker": ("icl.tensor_trick.kron_block", "icl.tensor_trick.vec"),
    "bounds": ("icl.tensor_trick.lipschitz.Bound", "icl.tensor_trick.lipschitz.sharp"),
    "gaussian": ("icl.risk.gaussian_risk", "icl.risk.gaussian_window", "icl.risk.optimal_window"),
    "phases": ("icl.risk.nearest_neighbor_risk", "icl.risk.optimal_window", "icl.risk.population_risk"),
    "descent": (
        "icl.tensor_trick.gradient",
        "icl.tensor_trick.target_shift.data_move",
        "icl.tensor_trick.target_shift.self_attention_weights",
    ),
    "circle": ("icl.attention.softmax_weights",),
    "ellipse": ("icl.attention.softmax_weights",),
}
#: The line where nothing of `icl` is behind a card or figure.
ON_PAGE = "the cells of this page alone"
#: The link of a figure back to the page of all figures.
GALLERY = '<a class="icl-code" href="../book/gallery.html">All figures</a>'
#: Documented, but nothing that a statement is computed with.
ASIDE = ("icl.streams.", "icl.statistics.", "icl_book.")


class Names:
    """The objects of `icl` that the API page documents.

    Attributes:
        sections: Module to the public names documented under it, in the page's order: each room, then those
            of its modules that notebooks import from.
        kinds: Documented full name to ``"function"`` or ``"class"``.
    """

    def __init__(self, notebooks: Iterable[str], root: Path = ROOT):
        self._root = root
        self._tree = cache(self._parse)
        dotted = {path for text in notebooks for path in imports(text).values()}
        modules = {
            path for name in dotted for path in (name, name.rpartition(".")[0]) if self.is_module(path)
        }
        rooms = dict.fromkeys([f"icl.{room}" for room in ROOMS] + sorted(modules - {"icl"}))
        self.sections: dict[str, list[str]] = {}
        self.kinds: dict[str, str] = {}
        self._documented: dict[str, str] = {}
        for room in [*rooms, *BOOK]:
            for module in [room, *(name for name in rooms if name.startswith(f"{room}."))]:
                if module not in self.sections:
                    self.sections[module] = [n for n in self._exports(module) if self._document(module, n)]

    def anchor(self, dotted: str) -> str | None:
        """Return the full name under which the API page documents an object; None if it does not."""
        return self._documented.get(self._origin(dotted))

    def is_module(self, dotted: str) -> bool:
        """Return whether a dotted name is a module of `icl`."""
        return dotted.split(".")[0] == "icl" and self._tree(dotted) is not None

    def _parse(self, module: str) -> ast.Module | None:
        path = (self._root / "book" if module.startswith("icl_book") else self._root).joinpath(
            *module.split(".")
        )
        for file in (path / "__init__.py", path.with_suffix(".py")):
            if file.is_file():
                return ast.parse(file.read_text(encoding="utf-8"))
        return None

    def _exports(self, module: str) -> list[str]:
        body = self._tree(module).body
        for line in body:
            if isinstance(line, ast.Assign) and getattr(line.targets[0], "id", "") == "__all__":
                return ast.literal_eval(line.value)
        names = [line.name for line in body if isinstance(line, ast.FunctionDef | ast.ClassDef)]
        return [name for name in names if not name.startswith("_")]

    def _origin(self, dotted: str) -> str:
        """Follow re-exports to the module that defines an object."""
        module, _, name = dotted.rpartition(".")
        tree = self._tree(module) if module else None
        for line in tree.body if tree else ():
            if isinstance(line, ast.ImportFrom):
                for alias in line.names:
                    if name == (alias.asname or alias.name):
                        return self._origin(f"{line.module}.{alias.name}")
        return dotted

    def _document(self, module: str, name: str) -> bool:
        origin = self._origin(f"{module}.{name}")
        if origin in self._documented:
            return False
        tree = self._tree(origin.rpartition(".")[0])
        for line in tree.body if tree else ():
            if isinstance(line, ast.FunctionDef | ast.ClassDef) and line.name == origin.rpartition(".")[2]:
                self._documented[origin] = f"{module}.{name}"
                self.kinds[f"{module}.{name}"] = "class" if isinstance(line, ast.ClassDef) else "function"
                return True
        return False  # a constant or a module


def page_of(dotted: str) -> str:
    """Return the API page that documents a module or what is in it, e.g. ``"api_risk"``."""
    package, room = [*dotted.split("."), ""][:2]
    return f"api_{room if package == 'icl' and room in PAGES else 'more'}"


def code(content: dict) -> list[str]:
    """Return the sources of a notebook's code cells."""
    return ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "code"]


def imports(source: str) -> dict[str, str]:
    """Return the names that the top-level imports of a text bind, each with the dotted name behind it."""
    found = {}
    for line in ast.parse(source).body:
        if isinstance(line, ast.Import):
            for alias in line.names:
                bound = alias.asname or alias.name.split(".")[0]
                found[bound] = alias.name if alias.asname else bound
        elif isinstance(line, ast.ImportFrom):
            found |= {alias.asname or alias.name: f"{line.module}.{alias.name}" for alias in line.names}
    return found


def behind(cells: Sequence[str], names: Names) -> list[list[str]]:
    """Find the functions and classes of `icl` behind each code cell of a notebook.

    A cell is computed with what it reads: directly, through functions defined above it, or through values
    assigned above it.

    Args:
        cells: Sources of the code cells in order.
        names: The documented objects.

    Returns:
        For each cell the full names on the API page, in the page's order.
    """
    known: dict[str, set[str]] = {}  # a notebook's name to the objects of icl behind its value
    imported: dict[str, str] = {}
    order = list(names.kinds)
    found = []
    for source in cells:
        here: set[str] = set()
        for statement in ast.parse(source).body:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                imported |= imports(ast.unparse(statement))
                continue
            compiled = compile(ast.Module([statement], []), "cell", "exec")
            read = {names.anchor(dotted) for dotted in _quoted(compiled)}
            for path in _reads(compiled):
                first, *rest = path
                if first not in imported:
                    read |= known.get(first, set())
                    continue
                dotted = imported[first]
                while rest and names.is_module(dotted):
                    dotted = f"{dotted}.{rest.pop(0)}"
                read.add(names.anchor(dotted))
            known |= dict.fromkeys(_writes(statement, compiled) - imported.keys(), read)
            here |= read
        found.append([name for name in order if name in here and not name.startswith(ASIDE)])
    return found


def _reads(code: CodeType) -> Iterator[list[str]]:
    """Yield what code reads from the notebook's namespace, with attributes: ``["np", "linspace"]``."""
    path: list[str] = []
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and path:
            path.append(step.argval)
        elif step.opname != "EXTENDED_ARG":
            if path:
                yield path
            path = [step.argval] if step.opname in ("LOAD_NAME", "LOAD_GLOBAL") else []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _reads(constant)


def _quoted(code: CodeType) -> set[str]:
    """Return what text in code imports: a notebook hands such text to `icl_book.measure.in_subprocess`."""
    found: set[str] = set()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _quoted(constant)
        elif isinstance(constant, str) and "import" in constant:
            try:
                found |= set(imports(constant).values())
            except SyntaxError:
                pass  # prose
    return found


def _writes(statement: ast.stmt, code: CodeType) -> set[str]:
    """Return the names that a statement binds, or whose values it may change.

    These are ``x[i] = ...``, ``x.append(...)`` and, for a call whose result is dropped, ``fill(x)``.
    """
    bound = {s.argval for s in dis.get_instructions(code) if s.opname in ("STORE_NAME", "STORE_GLOBAL")}
    for node in ast.walk(statement):
        targets = []
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            targets = [node]
        elif isinstance(node, ast.Expr) and isinstance(call := node.value, ast.Call):
            targets = [call.func] if isinstance(call.func, ast.Attribute) else call.args
        for target in targets:
            while isinstance(target, ast.Subscript | ast.Attribute):
                target = target.value
            if isinstance(target, ast.Name):
                bound.add(target.id)
    return bound


def annotate(content: dict, names: Names) -> None:
    """Write below each card and figure of an executed notebook which functions computed it, with links.

    Args:
        content: The notebook as read from JSON; changed in place.
        names: The documented objects.
    """
    cells = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    for cell, objects in zip(cells, behind(code(content), names), strict=True):
        line = note(objects)
        figure = cell.get("metadata", {}).get("mystnb", {}).get("figure")
        if figure:
            figure["caption"] = f"{figure['caption'].rstrip()} {line} {GALLERY}"
        for output in cell.get("outputs", []):
            shown = "".join(output.get("data", {}).get("text/html", ""))
            if shown.startswith(tuple(f'<div class="{kind}' for kind in MARKED)):
                if shown.startswith('<div class="icl-live'):
                    name = re.search(r'data-figure="(\w+)"', shown)
                    line = note(PORTED_FOR.get(name[1] if name else "", PORTED))
                output["data"]["text/html"] = f"{shown.rstrip().removesuffix('</div>')}{line}</div>"


def note(objects: Sequence[str]) -> str:
    """Return the line of links to the API page; it says so where the page's own code is all there is.

    A link shows the last part of a name, its title the whole.
    """
    links = [
        f'<a href="../book/{page_of(name)}.html#{name}" title="{name}">'
        f"<code>{name.rpartition('.')[2]}</code></a>"
        for name in objects
    ]
    return f'<span class="icl-code">Source code: {", ".join(links) or ON_PAGE}.</span>'
