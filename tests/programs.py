"""Programs that tests start."""

import os
import subprocess

from icl_book.provenance import ROOT


def program(*words, cwd=ROOT, **environment):
    """Run a program to its end with the packages of the tree ``cwd``; return its status and what it said."""
    environment = (
        os.environ | {"PYTHONPATH": os.pathsep.join([str(cwd), f"{cwd}/book"])} | environment
    )
    return subprocess.run(
        words, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
