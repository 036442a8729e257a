"""The compiled loop draws the same numbers as PyTorch."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import icl
from icl.compiled.normal import normal
from icl.streams import NativeStream


@pytest.mark.parametrize("size", [16, 17, 31, 608, 624, 625, 640, 5000, 12_487])
def test_normal_numbers_are_those_of_pytorch(size):
    for seed in (0, 5, 2**32 + 5, 2**63 - 1):
        generator = torch.Generator().manual_seed(seed)
        wanted = torch.empty(size).normal_(generator=generator).numpy()
        assert np.abs(normal(seed, size) - wanted).max() < 3e-6


@pytest.mark.parametrize("first", [5000, 4096, 100])
def test_a_stream_goes_on_where_the_compiled_loop_left_it(first):
    draws = [("normal", first), ("normal", 16), ("uniform", 7), ("normal", 5001), ("normal", 3)]
    for order in (draws, draws[::-1]):
        stream = NativeStream(3, "noise", 7)
        generator = torch.Generator().manual_seed(stream._seed)
        for kind, size in order:
            if kind == "normal":
                found = stream.standard_normal((size, 1))
                wanted = torch.empty(size, 1).normal_(generator=generator)
            else:
                found = stream.uniform(-2.0, 3.0, (size,))
                wanted = torch.empty(size).uniform_(-2.0, 3.0, generator=generator)
            assert found.shape == wanted.shape and found.dtype == torch.float32
            assert torch.allclose(found, wanted, rtol=0, atol=3e-6)


@pytest.mark.slow
def test_streams_are_the_same_without_the_compiled_loop():
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
