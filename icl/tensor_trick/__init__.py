"""The tensor trick and the five softmax regressions of paper 2.

- `regressions`: the losses with gradient and Hessian product. `streaming`: the same in tiles of rows.
- `lipschitz`: printed and sharp bounds. `supremum_search`: witnesses by gradient ascent.
- `target_shift`: moves of weights and data as moves of the target.
- `kronecker`: everything through the explicit Kronecker product, slowly.
"""

from icl.tensor_trick.regressions import (
    KINDS,
    TARGETED,
    check_problem,
    gradient,
    hvp,
    kron_block,
    loss,
    row_gradient,
    row_hvp,
    row_loss,
    unvec,
    vec,
)

__all__ = [
    "KINDS",
    "TARGETED",
    "check_problem",
    "gradient",
    "hvp",
    "kron_block",
    "loss",
    "row_gradient",
    "row_hvp",
    "row_loss",
    "unvec",
    "vec",
]
