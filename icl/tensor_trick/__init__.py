"""The tensor trick and the five softmax regressions of paper 2.

- `regressions`: loss, gradient and Hessian product, over blocks of rows.
- `formulas`: what they compute for the rows, without checks of arguments.
- `kronecker`: vec, and the blocks A_j of the Kronecker product.
"""

from icl.tensor_trick.formulas import KINDS, TARGETED
from icl.tensor_trick.kronecker import kron_block, unvec, vec
from icl.tensor_trick.regressions import gradient, hvp, loss

__all__ = ["KINDS", "TARGETED", "gradient", "hvp", "kron_block", "loss", "unvec", "vec"]
