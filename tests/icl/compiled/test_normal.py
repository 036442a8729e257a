"""The compiled loops draw PyTorch's own numbers."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import icl
from icl.compiled import normal
from icl.streams import NativeStream


def pytorch(seed):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("size", [16, 17, 31, 608, 624, 625, 5000])
def test_random_numbers_are_those_of_pytorch(size):
    for seed in (0, 5, 2**32 + 5, 2**63 - 1):
        wanted = torch.empty(size).uniform_(generator=pytorch(seed)).numpy()
        assert np.array_equal(normal.uniform(normal.start(seed), size), wanted)
        wanted = torch.empty(size).normal_(generator=pytorch(seed)).numpy()
        found = normal.normal(normal.start(seed), size)
        assert np.abs(found - wanted).max() < 3e-6


def test_a_stream_goes_on_where_the_compiled_loops_left_it():
    """Any order of draws, large and small, is that of one generator of PyTorch."""
    draws = [("normal", 5000), ("uniform", 7), ("normal", 16), ("normal", 33)]
    for more in ([("uniform", 3)], [("normal", 5)], [("normal", 4), ("uniform", 700)]):
        stream = NativeStream(3, "noise", 7)
        generator = pytorch(stream._seed)
        for kind, size in draws + more + draws:
            if kind == "normal":
                found = stream.standard_normal((size, 1))
                wanted = torch.empty(size, 1).normal_(generator=generator)
            else:
                found = stream.uniform(-2.0, 3.0, (size,))
                wanted = torch.empty(size).uniform_(-2.0, 3.0, generator=generator)
            assert found.shape == wanted.shape and found.dtype == torch.float32
            assert torch.allclose(found, wanted, rtol=0, atol=3e-6)


@pytest.mark.slow
def test_streams_are_the_same_without_the_compiled_loops():
    code = (
        "from icl.streams import NativeStream\n"
        "print(*NativeStream(1, 'covariates').standard_normal((5000,)).tolist())"
    )
    runs = []
    for env in ({}, {"NUMBA_DISABLE_JIT": "1"}):
        paths = {"PYTHONPATH": str(Path(icl.__file__).parents[1])}
        run = subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            env=os.environ | paths | env,
            capture_output=True,
            text=True,
            check=True,
        )
        runs.append(np.array(run.stdout.split(), dtype=float))
    assert 0 < np.abs(runs[0] - runs[1]).max() < 3e-6
