"""Environments with chosen packages only: folders of links to what is installed here."""

import os
import sys
import tomllib
from importlib.metadata import distribution

from packaging.requirements import Requirement

from icl_book.provenance import ROOT
from programs import program

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def environment(folder, *words):
    """Link `icl` into a folder, with the packages that ``pip install`` would install for these words."""
    (folder / "icl").symlink_to(ROOT / "icl")
    wanted = [*PROJECT["dependencies"], *words]
    linked = set()
    while wanted:
        one = Requirement(wanted.pop())
        if one.name == PROJECT["name"]:
            for extra in one.extras:
                wanted += PROJECT["optional-dependencies"][extra]
        elif one.name not in linked and (not one.marker or one.marker.evaluate({"extra": ""})):
            linked.add(one.name)
            installed = distribution(one.name)
            wanted += installed.requires or []
            for top in {path.parts[0] for path in installed.files} - {"..", "__pycache__"}:
                if not (folder / top).exists():
                    (folder / top).symlink_to(installed.locate_file(top))
    return folder


def python(folder, *words, more=()):
    """Run Python with the packages of a folder, and with the modules in ``more`` folders."""
    path = os.pathsep.join(map(str, (folder, *more)))
    return program(sys.executable, "-S", *words, cwd=folder, PYTHONPATH=path, MPLBACKEND="agg")
