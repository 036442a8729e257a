"""Five ways to one gradient, and what they cost: counted operations, and what a process is to run."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from icl.streams import stream
from icl.tensor_trick import gradient, kron_block
from icl.tensor_trick.formulas import plain_gradient, row_gradient
from icl_book.measurements.identities import Problem, normal_problem
from icl_book.measurements.tables import grid, measured


def explicit(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Tensor:
    """Compute the gradient of the normalized loss by two products with the whole Kronecker product."""
    K = torch.kron(A1, A2)
    P = row_gradient((K @ X.reshape(-1, 1)).reshape(B.shape), B, "normalized")
    return (K.T @ P.reshape(-1, 1)).reshape(X.shape)


def blockwise(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Tensor:
    """Compute it with one block of the Kronecker product at a time."""
    total, x = torch.zeros_like(X).reshape(-1, 1), X.reshape(-1, 1)
    for j in range(len(A1)):
        block = kron_block(A1, A2, j)
        total += block.T @ row_gradient((block @ x).T, B[j : j + 1], "normalized").T
    return total.reshape(X.shape)


def autograd(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor) -> Tensor:
    """Compute it by automatic differentiation of the matrix form."""
    X = X.detach().requires_grad_()
    value = 0.5 * (torch.softmax(A1 @ X @ A2.T, -1) - B).square().sum()
    return torch.autograd.grad(value, X)[0]


FORMS: dict[str, Callable[..., Tensor]] = {
    "explicit": explicit,
    "blockwise": blockwise,
    "autograd": autograd,
    "closed form": plain_gradient,
    "streaming": gradient,
}
#: Forms that form blocks of the Kronecker product.
SLOW = ("explicit", "blockwise")


def data(n: int, d: int, seed: int) -> Problem:
    """Draw A1, A2, X and B of one problem."""
    A1, A2, X, B = normal_problem(n, d, stream(seed, "tasks", d))
    return A1, A2, X / d**1.5, B


#: By how much n and d grow.
GROWING = {"n = d": (2, 2), "n, d fixed": (2, 1), "d, n fixed": (1, 2)}


def growth(
    forms: Sequence[str], size: int, ways: Sequence[str], seed: int
) -> pd.DataFrame:
    """Return the exponent of the operations of matrix products when n, d or both double from ``size``.

    Columns ``form``, ``growing``, ``value`` and ``error``: counts are whole numbers, so only the logarithm
    is rounded.
    """

    def counted(form: str, n: int, d: int) -> int:
        with FlopCounterMode(display=False) as counter:
            FORMS[form](*data(n, d, seed))
        return int(counter.get_total_flops())

    def one(form: str, growing: str) -> tuple[float, float]:
        n, d = (size * factor for factor in GROWING[growing])
        ratio = counted(form, n, d) / counted(form, size, size)
        power = math.log2(ratio)
        return power, float(
            np.spacing(math.log(ratio)) / math.log(2) + np.spacing(power)
        )

    return measured(one, ["value", "error"], form=forms, growing=ways)


#: What a fresh process runs before it is copied for each measurement of a gradient, and in each copy.
GRADIENT = {
    "prepare": "import torch\n"
    "from icl_book.measurements.costs import FORMS, data\n"
    "from icl_book.measure import limit_memory\n"
    "torch.set_num_threads(1)\n"
    "FORMS['streaming'](*data(256, 4, 0))",  # loads the compiled loops
    "setup": "form = FORMS['{form}']; form(*data(8, 4, 0)); limit_memory({limit})\n"
    "given = data({n}, {d}, {seed})",
    "statement": "form(*given)",
}
#: The same for the scores alone, in NumPy.
SCORES = {
    "prepare": "import os\n"
    "os.environ['OPENBLAS_NUM_THREADS'] = os.environ['OMP_NUM_THREADS'] = '1'\n"
    "import numpy as np\n"
    "from icl.streams import stream\n"
    "def explicit(A1, X, A2): return np.kron(A1, A2) @ X.reshape(-1)\n"
    "def matrix(A1, X, A2): return A1 @ (X @ A2.T)\n"
    "def data(n, d, seed):\n"
    "    rng = stream(seed, 'tasks', d)\n"
    "    return [rng.standard_normal(shape) for shape in ((n, d), (d, d), (n, d))]",
    "setup": "{form}(*data(24, 24, 0)); given = data({n}, {d}, {seed})",
    "statement": "{form}(*given)",
}


def settings(
    small: Sequence[int], large: Sequence[int], limit: int, seed: int
) -> pd.DataFrame:
    """Return the sizes n = d at which each form is measured: ``form``, ``n``, ``d``, ``limit``, ``seed``.

    The forms with blocks are tried at the small sizes, and at those large ones that need more than
    ``limit`` bytes (one that fits would take n^4 operations); the others at the last small one and all large.
    """
    sizes = {form: [small[-1], *large] for form in FORMS}
    sizes["explicit"] = [*small, *large]
    sizes["blockwise"] = [*small, *(n for n in large if 8 * float(n) ** 3 >= limit)]
    frame = pd.DataFrame(
        [(form, n) for form, some in sizes.items() for n in some], columns=["form", "n"]
    )
    return frame.assign(d=frame.n, limit=limit, seed=seed)


def memory_exponents(peaks: pd.DataFrame) -> pd.DataFrame:
    """Return the exponent of ``peak`` between the ends in n: columns ``form``, ``process``, ``value``."""
    log = np.log(peaks.pivot(index=["form", "process"], columns="n", values="peak"))
    first, last = log.columns.min(), log.columns.max()
    return (
        ((log[last] - log[first]) / math.log(last / first))
        .rename("value")
        .reset_index()
    )


def score_jobs(sizes: Sequence[int], times: int, seed: int) -> pd.DataFrame:
    """Return what is measured of the scores, ``times`` over (``process``): ``form``, ``n``, ``d``, ``seed``.

    All sizes n = d in both forms; the explicit one also with the bytes of the middle size and four times as
    many tokens for each dimension.
    """
    middle = sizes[len(sizes) // 2]
    rows = [("explicit", n, n) for n in sizes] + [("explicit", 2 * middle, middle // 2)]
    rows += [("matrix", n, n) for n in sizes]
    frame = pd.DataFrame(rows, columns=["form", "n", "d"]).assign(seed=seed)
    return grid(process=range(times)).merge(frame, how="cross")
