"""The compiled loops against NumPy, PyTorch and the plain gradient."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from numba import njit

import icl
from icl.compiled import elementary, random_numbers, softmax_kernels
from icl.covariates import uniform_sphere
from icl.layout import inner_products, normalize, planes
from icl.pretrain.model import ParameterLayout, gradient
from icl.streams import NativeStream, stream


@njit
def each(function, x):
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = function(x[i])
    return out


@njit
def turned(t):
    out = np.empty((2, t.size), np.float32)
    for i in range(t.size):
        out[0, i], out[1, i] = elementary.cos_sin_pi(t[i])
    return out


@njit
def scrambled(words):
    return random_numbers.philox(
        words[0], words[1], words[2], words[3], words[4], words[5]
    )


@pytest.mark.parametrize(
    "given, expected",
    [
        (
            "00000000 00000000 00000000 00000000 00000000 00000000",
            "6627e8d5 e169c58d bc57ac4c 9b00dbd8",
        ),
        (
            "ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff",
            "408f276d 41c83b0e a20bc7c6 6d5451fd",
        ),
        (
            "243f6a88 85a308d3 13198a2e 03707344 a4093822 299f31d0",
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_gives_the_published_answers(given, expected):
    """The three known answers that come with Random123 (kat_vectors, philox4x32 10)."""
    words = scrambled(np.array([int(word, 16) for word in given.split()], np.uint32))
    assert " ".join(f"{word:08x}" for word in words) == expected


def test_elementary_functions_are_single_precision():
    x = np.linspace(-87, 88, 100_001, dtype=np.float32)
    error = np.abs(each(elementary.exp, x) / np.exp(x.astype(float)) - 1)
    assert np.all(
        error < 3e-7 + 2.0**-23 * np.abs(x)
    )  # log2(e) and its product with x are rounded
    low, nan = each(elementary.exp2, np.array([-np.inf, np.nan], np.float32))
    assert abs(low / np.finfo(np.float32).tiny - 1) < 3e-7 and np.isnan(nan)
    x = np.r_[
        np.geomspace(1e-30, 1, 50_000), 1 - np.geomspace(1e-7, 0.5, 50_000)
    ].astype(np.float32)
    exact = np.log(x.astype(float))
    assert np.all(np.abs(each(elementary.log, x) - exact) <= 3e-7 * np.abs(exact))
    t = np.linspace(-1, 1, 100_001, dtype=np.float32)
    angle = np.pi * t.astype(float)
    assert np.abs(turned(t) - np.stack([np.cos(angle), np.sin(angle)])).max() < 1e-6


def test_normal_numbers_are_those_of_box_and_muller():
    """Number i of each quarter comes from counter (i, call, step, name)."""
    key, normal = np.array([7, 8], np.uint32), np.empty(512, np.float32)
    random_numbers.fill_normal(normal, key, 1, 2, 3)
    words = np.array(
        [scrambled(np.array([i, 1, 2, 3, *key], np.uint32)) for i in range(128)],
        np.uint32,
    ).T
    radius = np.sqrt(-2 * np.log(((words[::2] >> 8) + 0.5) * 2.0**-24))
    angle = np.pi * words[1::2].astype(np.int32) * 2.0**-31
    expected = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    assert np.abs(normal.reshape(2, 2, -1) - expected).max() < 1e-5


@pytest.mark.parametrize("size", [1, 3, 4, 10])
def test_any_number_of_numbers(size):
    whole = NativeStream(0, "noise").standard_normal((12,))
    some = NativeStream(0, "noise").standard_normal((size,))
    assert some.shape == (size,) and some[0] == whole[0]


def test_planes_are_normalized_and_projected():
    rng = NativeStream(1, "covariates")
    x = rng.standard_normal((3, 5, 1500))
    exact = torch.nn.functional.normalize(x.double(), dim=0)
    assert torch.allclose(
        planes(normalize(planes(x))).double(), exact, rtol=0, atol=3e-7
    )
    q = uniform_sphere(rng, 1500, 3)
    expected = torch.einsum("bd,dnb->bn", q.double(), exact)
    assert torch.allclose(
        inner_products(q, planes(x)).double(), expected, rtol=0, atol=5e-7
    )


@pytest.mark.parametrize("d, n, B", [(3, 1, 64), (3, 20, 100), (3, 8, 7), (4, 30, 130)])
def test_gradient_is_the_plain_one(d, n, B):
    rng = stream(d, "monte carlo")
    x = torch.from_numpy(rng.standard_normal((2, 1, d, n + 1, 3 * B))).float()[
        ..., B : 2 * B
    ]  # of a block
    y = torch.from_numpy(rng.standard_normal((2, 3, n + 1, 3 * B))).float()[
        ..., B : 2 * B
    ]
    theta = torch.from_numpy(3 * rng.standard_normal((2, 3, d * d))).float()
    plain = gradient(
        ParameterLayout(d, None), theta.double(), "softmax", x.double(), y.double()
    )
    assert (
        softmax_kernels.gradient(theta, x, y) - plain
    ).abs().max() < 1e-5 * plain.abs().max() + 1e-6

    one = (
        torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
        .T.reshape(1, 1, 2, 3, 1)
        .contiguous()
    )
    takes_all = torch.tensor([[[500.0, 0.0, 0.0, 0.0]]])
    out = softmax_kernels.gradient(
        takes_all, one, torch.tensor([1.0, 2.0, 3.0]).reshape(1, 1, 3, 1)
    )
    assert out.abs().max() < 1e-30


@pytest.mark.slow
def test_a_second_process_compiles_nothing(tmp_path):
    script = """
import numpy as np, torch
from icl.compiled import random_numbers, recurrence, softmax_kernels
from icl.streams import NativeStream
from icl.tasks.gegenbauer import Polynomials
softmax_kernels.gradient(torch.zeros(1, 1, 4), torch.rand(1, 1, 2, 5, 8), torch.rand(1, 1, 5, 8))
NativeStream(0, "covariates").standard_normal((4,))
Polynomials(3, np.ones(2)).take(2)
used = [softmax_kernels._gradient_loop(2), random_numbers.fill_normal, recurrence.recur]
print(*(sum(getattr(loop.stats, what).values()) for what in ("cache_hits", "cache_misses") for loop in used))
"""
    env = os.environ | {
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": str(Path(icl.__file__).parents[1]),
    }
    run = [sys.executable, "-c", script]
    first, second = (
        subprocess.run(
            run, env=env, capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    )
    assert first == ["0"] * 3 + ["1"] * 3 and second == ["1"] * 3 + ["0"] * 3


@pytest.mark.parametrize("word", [0, 255, 2**31, 2**32 - 2**9, 2**32 - 1])
def test_no_word_gives_a_pair_of_zeros(word):
    """A token on the circle is such a pair divided by its length; one word in 2**24 gave 0 / 0."""
    word, other = np.uint32(word), np.uint32(1)
    assert 0 < random_numbers.unit_interval(word) < 1
    assert np.hypot(*random_numbers.normal_pair(word, other)) > 1e-4
