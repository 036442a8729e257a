"""The compiled loops against NumPy, PyTorch and the plain gradient."""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from numba import njit

import icl
from icl.compiled import elementary, regressions
from icl.streams import stream
from icl.tensor_trick.formulas import row_gradient, row_hvp


@njit
def each(function, x):
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = function(x[i])
    return out


def test_powers_of_two_have_the_precision_of_their_argument():
    x = np.linspace(-1020, 1020, 100_001)
    assert np.abs(each(elementary.exp2_double, x) / np.exp2(x) - 1).max() < 3e-15
    x = np.linspace(-125, 125, 100_001, dtype=np.float32)
    exact = np.exp2(x.astype(float))
    assert np.abs(each(elementary.exp2, x) / exact - 1).max() < 1e-6
    for function, real in (
        (elementary.exp2, np.float32),
        (elementary.exp2_double, np.float64),
    ):
        low, nan = each(function, np.array([-np.inf, np.nan], real))
        assert abs(low / np.finfo(real).tiny - 1) < 3e-7 and np.isnan(nan)


@pytest.mark.parametrize("kind", ["normalized", "rescaled"])
@pytest.mark.parametrize("m", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("spread", [0.1, 5.0])
def test_rows_of_the_squared_losses_are_the_plain_ones(kind, m, spread):
    rng = stream(m, "monte carlo")
    S, T, B = torch.from_numpy(rng.standard_normal((3, 9, m)))
    S, B = spread * S, B.softmax(-1)
    far = 60 if kind == "rescaled" else 900  # the largest logit may be the last one
    S[:, -1] += torch.linspace(-far, far, 9, dtype=S.dtype)
    S += torch.linspace(-200, 200, 9, dtype=S.dtype)[
        :, None
    ]  # where a row lies must not matter
    for real, tolerance in ((torch.float64, 1e-14), (torch.float32, 1e-5)):
        if kind == "rescaled":
            limit = (
                math.log(torch.finfo(real).max) / 2.5
            )  # the result is about exp(2 S)
            S = S.clamp(-limit, limit)
        s, t, b = (value.to(real) for value in (S, T, B))
        exact = s.double(), t.double(), b.double()
        size = (
            S.exp().sum(-1, keepdim=True) * S.exp().amax(-1, keepdim=True)
            if kind == "rescaled"
            else 1
        )
        p, w = s.clone(), s.clone()
        regressions.squared_gradient(p, b, kind)
        assert (
            (p - row_gradient(exact[0], exact[2], kind)).abs() <= tolerance * size
        ).all()
        regressions.squared_hvp(w, t, b, kind)
        assert ((w - row_hvp(*exact, kind)).abs() <= 10 * tolerance * size).all()


def test_rows_without_a_number_are_seen():
    for bad in (np.nan, np.inf):
        S = torch.zeros(3, 70)
        S[1, 66] = bad
        T, B = torch.ones(3, 70), torch.full((3, 70), 0.01)
        for call in (
            lambda S, B: regressions.squared_gradient(S, B, "normalized"),
            lambda S, B, T=T: regressions.squared_hvp(S, T, B, "normalized"),
        ):
            out = S.clone()
            call(out, B)
            assert (
                out[1].isnan().all()
                and out[0].isfinite().all()
                and out[2].isfinite().all()
            )


@pytest.mark.slow
def test_a_second_process_compiles_nothing(tmp_path):
    script = """
import numpy as np, torch
from icl.compiled import recurrence, regressions
from icl.tasks.gegenbauer import Polynomials
S, T, B = torch.rand(3, 4, 8)
for real in (torch.float32, torch.float64):
    regressions.squared_gradient(S.to(real), B.to(real), "normalized")
    regressions.squared_hvp(S.to(real), T.to(real), B.to(real), "rescaled")
Polynomials(3, np.ones(2)).take(2)
used = [regressions._gradient, regressions._hvp]  # each in two precisions
used += [recurrence.recur]
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
    counts = ["2"] * 2 + ["1"]
    assert first == ["0"] * 3 + counts and second == counts + ["0"] * 3
