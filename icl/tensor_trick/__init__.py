"""The tensor trick and the five softmax regressions of paper 2.

- `regressions`: loss, gradient and Hessian product, large problems in tiles.
- `formulas`: what they compute, without checks of arguments.
- `kronecker`: vec, the blocks A_j, and everything through the explicit Kronecker product, slowly.
- `lipschitz`: proved Lipschitz constants of a row.
- `target_shift`: the target whose move replaces a move of weights or data.
- `inputs`, `tiling` (private): argument checks, and the tiles of rows.
"""

from icl.tensor_trick.formulas import KINDS, TARGETED
from icl.tensor_trick.kronecker import kron_block, unvec, vec
from icl.tensor_trick.regressions import gradient, hvp, loss

__all__ = ["KINDS", "TARGETED", "gradient", "hvp", "kron_block", "loss", "unvec", "vec"]
