"""The numbers that a chapter keeps: a folded box at the end of its page says what a sweep can collect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bs4 import BeautifulSoup

from icl_book.runner.record import value

#: Style-sheet class of the box.
BOX = "icl-numbers"
#: Parameters that the box's example varies, if the chapter has one of them.
VARIED = ("noise_std", "seed", "context_length")


def command(run: Mapping) -> str:
    """Return a sweep that collects the first two numbers of a chapter over two values of a parameter.

    Args:
        run: What `icl_book.runner.record.collect` says of the executed notebook.
    """
    single = {k: v for k, v in run["parameters"].items() if isinstance(v, int | float)}
    name = next((k for k in (*VARIED, *single) if k in single), None)
    if name:
        grid = f"{name}={single[name]},{2 * single[name] or 1}"
    else:
        name, values = next(iter(run["parameters"].items()))
        grid = f"{name}=[{','.join(map(str, values))}],[{values[0]}]"
    collected = ",".join([*run["numbers"]][:2])
    return f'make sweep NOTEBOOK={run["name"]} GRID="{grid}" \\\n  COLLECT={collected}'


def box(run: Mapping) -> str:
    """Write the box of a chapter in MyST markdown.

    Args:
        run: What `icl_book.runner.record.collect` says of the executed notebook.
    """
    lines = [
        "::::{admonition} Numbers that a sweep can collect",
        f":class: dropdown {BOX}",
        "",
        "The notebook keeps these numbers under a name. A sweep writes them into its table for every "
        "combination of parameters, and `COLLECT` picks some of them; the page *Reproduce* says more:",
        "",
        "```bash",
        command(run),
        "```",
        "",
        "| name | value in this run |",
        "|:--|:--|",
        *(f"| `{name}` | {_shown(text)} |" for name, text in run["numbers"].items()),
        "::::",
    ]
    return "\n".join(lines)


def _shown(text: str) -> str:
    found = value(text)
    plain = f"{found:.6g}" if isinstance(found, float) else " ".join(str(found).split())
    return "`` " + plain.replace("|", "\\|") + " ``"


def add(content: dict, run: Mapping) -> None:
    """Add the box to a page, above the footer's cell; nothing if the notebook keeps no numbers.

    Args:
        content: The executed notebook as JSON, its cells in the page's order; changed in place.
        run: What `icl_book.runner.record.collect` says of it.
    """
    if run["numbers"]:
        cell = {"cell_type": "markdown", "id": BOX, "metadata": {}, "source": box(run)}
        content["cells"].insert(len(content["cells"]) - 1, cell)


def problems(name: str, page: BeautifulSoup, names: Iterable[str]) -> list[str]:
    """Find problems of a page's box: it is missing, or a number that the notebook keeps is not in it.

    Args:
        name: The page.
        page: Its HTML, parsed.
        names: The names under which the notebook keeps numbers.
    """
    shown = {cell.get_text(strip=True) for cell in page.select(f".{BOX} td:first-child")}
    missing = [one for one in names if one not in shown]
    if missing and not shown:
        return [f"{name}: has no box that names the numbers which the notebook keeps"]
    return [f"{name}: number {one} is not in the box of numbers" for one in missing]
