"""Settings that all tests share, and what becomes of tests whose machine lacks what they need."""

import os
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path

from icl_book import lean, repository
from icl_book.runner import process

process.prepare()  # before a library looks for its home
# A hook's variables would tie git to its repository.
with suppress(OSError):
    for name in repository.git_variables():
        os.environ.pop(name, None)
# A make that a test starts is not one within `make test`.
for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
    os.environ.pop(name, None)
os.environ.setdefault("OMP_NUM_THREADS", "1")
lean.begin()

import pytest
import torch

import chromium
from chromium import browser  # noqa: F401, a fixture

torch.set_num_threads(1)  # small problems on few cores: more threads are slower

NEEDS = {
    "browser": (
        "Chromium and its driver (apt-get install chromium chromium-driver)",
        lambda: all(chromium.programs()),
    ),
    "gpu": ("a CUDA device", torch.cuda.is_available),
}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    # The marks of pytest-xdist 3.8 for groups of tests have no effect with pytest 9.2.
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        """Deals out tests one by one, and first, in groups, those that share what took long."""

        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            if file.endswith("test_pipeline.py"):
                return f"{file} sweep" if "sweep" in nodeid else file
            shared = file.endswith(("test_book.py", "test_commands.py"))
            return file if shared and "test_page_in_browser" not in nodeid else nodeid

    return Scheduling(config, log)


def pytest_ignore_collect(collection_path, config):
    """With ``-m gpu``, import only files of such tests: others may need what is not installed."""
    if config.option.markexpr == "gpu" and collection_path.suffix == ".py":
        return "pytest.mark.gpu" not in collection_path.read_text(encoding="utf-8") or None
    return None


def pytest_configure(config):
    """Refuse to run where tests of a mark in ``ICL_MUST_RUN``, e.g. ``browser``, could only be skipped."""
    for mark in os.environ.get("ICL_MUST_RUN", "").split():
        need, here = NEEDS[mark]
        if not here():
            raise pytest.UsageError(f"ICL_MUST_RUN={mark}, but tests of that mark need {need}")


def pytest_collection_modifyitems(items):
    """Skip the tests whose needs are not met here."""
    for item in items:
        if "browser" in item.fixturenames:
            item.add_marker("browser")
    for mark, (need, here) in NEEDS.items():
        marked = [item for item in items if item.get_closest_marker(mark)]
        if marked and not here():
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=f"needs {need}"))


@pytest.fixture
def approved(tmp_path):
    """Compare a text with a file of ``tests/data``, so that a change of words is read as a diff."""

    def compare(name, text):
        new, old = tmp_path / name, Path(__file__).with_name("data") / name
        new.write_text(text, encoding="utf-8")
        assert text == old.read_text(encoding="utf-8"), f"if it is right: cp {new} {old}"

    return compare


def pytest_terminal_summary(terminalreporter):
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(re.sub(r"^Skipped: ", "", report.longrepr[2]) for report in skipped)
    if reasons:
        terminalreporter.write_line(
            f"skipped: {'; '.join(f'{count} ({reason})' for reason, count in reasons.most_common())}"
        )
