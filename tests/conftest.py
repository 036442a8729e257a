"""Settings that all tests share."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # also for the programs that tests start

import pytest
import torch
from xdist.scheduler import LoadScopeScheduling

from chromium import browser  # noqa: F401, a fixture

torch.set_num_threads(1)  # small problems on few cores: more threads are slower


class Scheduling(LoadScopeScheduling):
    """Deals out tests one by one, and first, in groups, those that share what took long to make."""

    def _split_scope(self, nodeid):
        file = nodeid.partition("::")[0]
        if file.endswith("test_pipeline.py"):
            return f"{file} sweep" if "sweep" in nodeid else file
        return file if file.endswith("test_book.py") and "test_page_in_browser" not in nodeid else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    # The marks of pytest-xdist 3.8 for groups of tests have no effect with pytest 9.2.
    return Scheduling(config, log)


def pytest_collection_modifyitems(items):
    """Tests marked ``gpu`` are skipped where there is no CUDA device."""
    for item in items:
        if item.get_closest_marker("gpu") and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))
