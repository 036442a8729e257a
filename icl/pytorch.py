"""PyTorch, where it is installed; only training, sampling and attention of tensors need it."""

try:
    import torch as torch
    from torch import Tensor as Tensor
except ModuleNotFoundError as missing:
    if missing.name != "torch":
        raise
    raise ModuleNotFoundError(
        'this needs PyTorch, which comes with the extra "train": pip install "softmax-icl[train]"',
        name="torch",
    ) from None
