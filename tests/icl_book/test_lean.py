"""Programs that end without freeing what they hold."""

import subprocess
import sys

import pytest

BLOCKS = {
    "pass": (0, ""),
    "sys.exit()": (0, ""),
    "sys.exit(3)": (3, ""),
    "sys.exit('a reason')": (1, "a reason"),
    "sys.exit('')": (1, ""),
    "1 / 0": (1, "ZeroDivisionError: division by zero"),
}


@pytest.mark.parametrize("block", BLOCKS)
def test_a_program_ends_as_its_block_does(block):
    """Status and messages are Python's; the program waits for output, threads and `atexit` only."""
    program = f"""
import atexit, sys, threading, time
from icl_book import lean

class Kept:
    def __del__(self):
        print("freed")

kept = Kept()
def late():
    time.sleep(0.2)
    print("thread")
with lean.program():
    atexit.register(print, "atexit")
    threading.Thread(target=late).start()
    {block}
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    status, said = BLOCKS[block]
    assert done.returncode == status
    assert done.stdout.split() == ["thread", "atexit"]
    assert done.stderr.strip().splitlines()[-1:] == ([said] if said else [])
