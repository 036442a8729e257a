"""A small book in a copy of the tree, for tests that run the whole path for real."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from icl_book.claims import changes
from icl_book.provenance import ROOT
from icl_book.runner import preload, schedule

TINY = ROOT / "tests" / "data" / "tiny.py"
HANGING = 600  # seconds after which whatever is waited for will not come
TOC = "format: jb-book\nroot: book/introduction\nchapters:\n- file: notebooks/tiny\n- file: notebooks/other\n"


def until(condition, tell=lambda: None):
    """Wait for something that happens in another process; ``tell`` says what is in the way."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < HANGING, tell()
        time.sleep(0.1)


def gone(process):
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


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
        self.environment.pop(preload.SOCKET, None)
        self.temporary = Path(tempfile.mkdtemp(prefix="icl-book-"))  # a short path, for sockets
        self.environment["TMPDIR"] = str(self.temporary)
        self.server = {}
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

    @contextmanager
    def kernels(self):
        """Let all programs started meanwhile share one server of kernels."""
        with preload.preloaded(schedule.thread_settings(2)):
            self.server = {preload.SOCKET: os.environ[preload.SOCKET]} if preload.SOCKET in os.environ else {}
            yield self
        shutil.rmtree(self.temporary)

    def processes(self):
        """Processes at work in the copy, however they were started."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if Path(process.cwd()).is_relative_to(self.root) and not gone(process):
                    found.append(process)
        return found

    def left_behind(self):
        """Processes, temporary files and half-written files that nothing will end or remove any more."""
        halves = [*self.root.glob("_build/**/*.part")]
        return [*self.processes(), *self.temporary.iterdir(), *halves]

    def until_nothing_is_left(self):
        until(lambda: not self.left_behind(), self.left_behind)

    def start(self, *words, alone=False, **options):
        """Start the command line; ``alone`` if it shall not share a server."""
        return subprocess.Popen(
            [sys.executable, "-m", "icl_book", *words],
            cwd=self.root,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self.environment | ({} if alone else self.server),
            **options,
        )

    def run(self, *words, alone=False):
        process = self.start(*words, alone=alone)
        said, _ = process.communicate(timeout=HANGING)
        return process.returncode, said

    def asleep(self, process):
        """Wait until the notebook tiny, which ``process`` runs, sleeps; returns its kernel."""
        file = self.root / "notebooks" / "asleep"
        until(lambda: process.poll() is not None or (file.is_file() and file.read_text()))
        assert process.poll() is None, process.communicate()[0]
        kernel = psutil.Process(int(file.read_text()))
        file.unlink()
        return kernel

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
