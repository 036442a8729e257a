"""Programs that tests start."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from icl_book.provenance import ROOT


def program(*words, cwd=ROOT, **environment):
    """Run a program to its end with the packages of the tree ``cwd``; return its status and what it said."""
    environment = (
        os.environ | {"PYTHONPATH": os.pathsep.join([str(cwd), f"{cwd}/book"])} | environment
    )
    return subprocess.run(
        words, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


#: A copy of the tree leaves out files about to be renamed, and keeps what was compiled.
PASSING = ("*.pyc.*", "*.tmp.*")


def installed(tree):
    """Copy the repository to a folder, as it is after its installation."""
    ignored = shutil.ignore_patterns(".git", ".venv", ".snakemake", "_build", "*_cache", *PASSING)
    shutil.copytree(ROOT, tree, symlinks=True, ignore=ignored)
    (tree / ".venv").mkdir()
    for part in ("bin", "lib", "pyvenv.cfg"):
        (tree / ".venv" / part).symlink_to(Path(sys.prefix, part))
    (tree / ".venv" / ".installed").write_text(f"{tree}\n")
    return tree
