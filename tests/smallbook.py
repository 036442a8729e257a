"""A small book in a copy of the tree, for tests that run the whole path for real."""

import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from icl_book.claims import changes
from icl_book.provenance import ROOT

TINY = ROOT / "tests" / "data" / "tiny.py"
HANGING = 600  # seconds after which whatever is waited for will not come
TOC = "format: jb-book\nroot: book/introduction\nchapters:\n- file: notebooks/tiny\n- file: notebooks/other\n"


def until(condition, tell=lambda: None):
    """Wait for something that happens in another process; ``tell`` says what is in the way."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < HANGING, tell()
        time.sleep(0.1)


class Copy:
    """A copy of the tree, in a path with a space, whose book has two small notebooks."""

    def __init__(self, root: Path):
        self.root = root
        for name in ("icl", "book", "profiles"):
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("Snakefile", "_config.yml", "requirements.lock", "pyproject.toml"):
            shutil.copy(ROOT / name, root)
        for page in (root / "book").glob("*.md"):
            page.unlink()
        (root / "book" / "introduction.md").write_text(
            "# A small book\n\nSee the notebooks {cite:p}`collins2024`.\n\n```{bibliography}\n```\n"
        )
        (root / "_toc.yml").write_text(TOC)
        (root / "notebooks").mkdir()
        tiny = TINY.read_text()
        (root / "notebooks" / "tiny.py").write_text(tiny)
        begin, end = tiny.index("# %%\nclaim = "), tiny.index("# %%\nnotebook.footer")
        (root / "notebooks" / "other.py").write_text((tiny[:begin] + tiny[end:]).replace("# Tiny", "# Other"))
        (root / "presets").mkdir()
        self.preset()
        self.environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), str(root / "book")])}
        self.environment.pop("MPLBACKEND", None)
        claims = root / "book" / "claims"
        shutil.rmtree(claims)
        claims.mkdir()
        (claims / "small.yml").write_text(
            "X: {source: here, reading: $1 > 0$, quantity: one, grade: proved here, control: c,\n"
            "    rule: {at_least: 0, at_most: 2}}\n"
        )
        shutil.rmtree(root / "book" / "icl_book" / "claims" / "data")  # a link in the repository
        (root / "book" / "icl_book" / "claims" / "data").symlink_to("../../claims")
        self.log()

    def log(self):
        """Give the present rules an entry."""
        rules = changes.digest(self.root)
        (self.root / "book" / "changelog.yml").write_text(
            f"- {{date: today, rules: '{rules}', change: None yet.}}\n"
        )

    def preset(self, tiny="{}"):
        (self.root / "presets" / "quick.yml").write_text(f"tiny: {tiny}\nother: {{}}\n")

    def edit(self, path: str, old: str, new: str):
        file = self.root / path
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    def processes(self):
        """Processes at work in the copy, however they were started."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if Path(process.cwd()).is_relative_to(self.root) and process.status() != "zombie":
                    found.append(process)
        return found

    def start(self, *words, **options):
        """Start the command line."""
        return subprocess.Popen(
            [sys.executable, "-m", "icl_book", *words],
            cwd=self.root,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self.environment,
            **options,
        )

    def run(self, *words):
        process = self.start(*words)
        said, _ = process.communicate(timeout=HANGING)
        return process.returncode, said

    def asleep(self, process):
        """Wait until the notebook tiny, which ``process`` runs, sleeps."""
        file = self.root / "notebooks" / "asleep"
        until(lambda: process.poll() is not None or (file.is_file() and file.read_text()))
        assert process.poll() is None, process.communicate()[0]
        file.unlink()

    @contextmanager
    def awake(self):
        """Let the notebook tiny not sleep."""
        file = self.root / "notebooks" / "awake"
        file.touch()
        yield
        for left in (file, file.with_name("asleep")):
            left.unlink(missing_ok=True)

    def done(self, name, folder="quick"):
        found = (self.root / "_build" / "runs" / folder).glob(f"{name}.*.ipynb")
        return {p for p in found if "failed" not in p.name}

    def page(self, name="tiny"):
        return (self.root / "_build" / "book" / "quick" / "notebooks" / f"{name}.html").read_text()
