"""The tree that jupyter-book reads: prose, executed notebooks in reading order, generated pages, MathJax."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from icl_book import repository
from icl_book.provenance import ROOT

BUILT_WITH = ("jupyter-book", "sphinx", "myst-nb", "papermill", "jupytext", "django-static-mathjax")

#: MathJax that draws formulas: one file, no fonts.
DRAWN = "tex-svg-full.js"


def mathjax() -> Path:
    """Return the folder of the locked package that holds MathJax."""
    return Path(next(iter(find_spec("mathjax").submodule_search_locations))) / "static/mathjax"


def stage(
    target: Path, notebooks: Mapping[str, Path], collected: list[dict], registry: dict, root: Path = ROOT
) -> None:
    """Write the tree.

    Args:
        target: Where; what is there is deleted.
        notebooks: Executed notebook by name.
        collected: What `icl_book.runner.record.collect` says of each.
        registry: All claims.
        root: The repository.
    """
    from icl_book.claims import changes
    from icl_book.notebook import data
    from icl_book.runner.record import read_json
    from icl_book.site import (
        audit,
        durations,
        export,
        findings,
        gallery,
        judged,
        numbers,
        pages,
        picture,
        sameness,
        sources,
    )

    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(root / "book", target / "book", ignore=shutil.ignore_patterns("icl_book", "__pycache__"))
    shutil.copy(root / "_toc.yml", target)
    (target / "_config.yml").write_text(repository.configuration(root), encoding="utf-8")
    url = repository.address(root)
    for path in (target / "book").glob("*.md"):  # MyST does not substitute inside code blocks
        text = path.read_text(encoding="utf-8").replace("{{ repository }}", url)
        path.write_text(text.replace("{{ repository_name }}", url.rsplit("/", 1)[-1]), encoding="utf-8")
    (target / "notebooks").mkdir()
    executed = {name: json.loads(path.read_text(encoding="utf-8")) for name, path in notebooks.items()}
    names = sources.Names((code for content in executed.values() for code in sources.code(content)), root)
    titles = {
        name: re.search(r"^# (.+)$", "".join(content["cells"][0]["source"]), re.MULTILINE)[1]
        for name, content in executed.items()
    }
    generated = target / "book" / "_generated"
    runs = {run["name"]: run for run in collected}
    in_order = {name: executed[name] for name in runs}  # as in the table of contents
    drawn = gallery.page(in_order, titles, generated / "gallery")
    for name, content in executed.items():
        cards = {card["id"]: card for card in runs[name]["cards"]}
        for cell in content["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = judged.resolve("".join(cell["source"]), cards, judged.on_page)
        sources.annotate(content, names)
        numbers.add(content, runs[name])
        for output in (o for cell in content["cells"] for o in cell.get("outputs", [])):
            for mime in [m for m in output.get("data", {}) if m.startswith("application/vnd.icl.")]:
                del output["data"][mime]  # records for machines; the page shows their HTML
        (target / "notebooks" / f"{name}.ipynb").write_text(json.dumps(content), encoding="utf-8")

    static = target / "book" / "_static" / "mathjax"
    static.mkdir(parents=True)
    shutil.copy(mathjax() / "es5" / DRAWN, static)
    shutil.copy(mathjax() / "LICENSE", static)

    kinds = ("confirmatory", "replications")
    again, repeated = ([read_json(p) for p in sorted((root / "results" / k).glob("*.json"))] for k in kinds)
    found = audit.entries(registry, collected, again, repeated, changes.changes())
    built = {"python": sys.version.split()[0]} | {name: version(name) for name in BUILT_WITH}
    for name, text in {
        "picture": picture.markdown(generated / "picture.svg"),
        "verdicts": pages.verdict_table(found),
        "findings": findings.markdown(collected),
        **{f"counts-{name}": audit.tally(found, name) for name in audit.GROUPS},
        "levels": audit.levels(found),
        "confirmatory": audit.confirmatory(found, again),
        "replications": audit.replications(repeated),
        "changelog": audit.changelog(changes.changes()),
        "sources": audit.sources(),
        "audit": audit.page(found, titles.__getitem__),
        "provenance": pages.provenance(collected, built),
        "determinism": sameness.markdown(read_json(data("benchmarks/results/determinism.json"))),
        "durations": durations.markdown(read_json(data("benchmarks/results/presets.json"))),
        **pages.api(names),
        "gallery": drawn,
    }.items():
        (generated / f"{name}.md").write_text(text, encoding="utf-8")
    for name, text in {
        "audit.json": export.as_json(found, changes.digest()),
        "audit.schema.json": json.dumps(export.SCHEMA, indent=1) + "\n",
    }.items():
        (target / "book" / "_static" / name).write_text(text, encoding="utf-8")
