"""Limits of the tests of `icl`."""

import resource

import pytest
import torch

MOST_BYTES = 12 * 2**30  # of address space; what asks for more gets a MemoryError, not the machine's memory


@pytest.fixture(autouse=True)
def bounded_memory():
    """Bound the address space during a test; not with CUDA, which reserves far more."""
    if torch.cuda.is_available():
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)
