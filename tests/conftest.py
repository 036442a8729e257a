"""Settings that all tests share."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # also for the programs that tests start

import pytest
import torch

torch.set_num_threads(1)  # small problems on few cores: more threads are slower


def pytest_collection_modifyitems(items):
    """Tests marked ``gpu`` are skipped where there is no CUDA device."""
    for item in items:
        if item.get_closest_marker("gpu") and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))
