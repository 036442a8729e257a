"""Random streams.

Everything random in the project is drawn from a *stream*: a counter-based generator that
is a pure function of ``(seed, name, step)``. Step 1000 can be drawn without drawing the
999 before it, so work can be resumed anywhere, and the numbers of one stream never depend
on how many another one used. Training, evaluation and Monte Carlo draw from streams of their own.

There are two kinds. `stream` is *portable*: float64, drawn on the CPU by NumPy and then moved, so every
device sees the same numbers. `NativeStream` is *native*: float32, drawn by PyTorch on the device that uses
them, which is faster; a GPU draws other numbers than a CPU. Both have ``standard_normal(shape)`` and
``uniform(low, high, shape)``; `stream` gives NumPy arrays, `NativeStream` tensors. Since PyTorch takes long
to import, it is loaded by `NativeStream` alone.

The environment variable ``ICL_SEED``, a non-negative integer below 2**31, moves every seed below 2**32 to a
range of its own: the same program then draws fresh numbers everywhere. It is read when this module is
imported.
"""

from __future__ import annotations

import functools
import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from icl import checks
from icl.checks import choice, integer, real, sequence
from icl.compiled import can_compile

if TYPE_CHECKING:
    import torch


def root_seed() -> int:
    """Return what the environment variable ``ICL_SEED`` says; 0 if it is not set or empty."""
    text = os.environ.get("ICL_SEED") or "0"
    if not text.isdecimal() or int(text) >= 2**31:
        raise ValueError(f"ICL_SEED={text!r}: must be an integer from 0 to 2**31 - 1")
    return int(text)


#: Added to every seed. Its unit is 2**32, so that seeds below this never meet those of another root.
ROOT_SEED = root_seed() << 32

#: Largest size of a bound of uniform numbers: float32 can hold the difference of two such bounds.
_MAX_BOUND = 1e38

#: The separate sources of randomness, each with its number, the second word of the generator's key.
STREAMS = {
    "covariates": 0,
    "tasks": 1,
    "noise": 2,
    "initialization": 3,
    "evaluation": 4,
    "monte carlo": 5,  # its covariates
    "monte carlo tasks": 6,
    "monte carlo noise": 7,
}


def stream(seed: int, name: str, step: int = 0) -> np.random.Generator:
    """Return the generator of stream ``name`` at ``step``: Philox with key (seed, name), counter step.

    Equal arguments give equal numbers on every machine. Every step owns 2**192 counter values, because it is
    the highest of the counter's four words of 64 bits.

    Raises:
        ValueError: If seed or step are not integers from 0 to 2**64 - 1, or the name is not in `STREAMS`.
    """
    seed, place, step = _address(seed, name, step)
    # NumPy takes a list with integers of 2**63 and more for floats, which have fewer digits
    key = np.array([seed, place], dtype=np.uint64)
    counter = np.array([0, 0, 0, step], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def _address(seed: int, name: str, step: int) -> tuple[int, int, int]:
    """Return the seed, moved by `ROOT_SEED`, the stream's number in `STREAMS`, and the step, all checked."""
    place = STREAMS[choice(name, "name", STREAMS)]
    seed = (integer(seed, "seed", 0, 2**64 - 1) + ROOT_SEED) % 2**64
    return seed, place, integer(step, "step", 0, 2**64 - 1)


#: Smaller draws of normal numbers use PyTorch: they are fast anyway, and need not load the compiled loop.
_MIN_COMPILED_DRAW = 2**12


class NativeStream:
    """Draw from PyTorch's own generator of a device in float32: the fast counterpart of `stream`.

    The numbers are a function of the arguments and the device's type, up to the rounding of the processor at
    hand. The generator's seed is the first number of `stream` with the same arguments. Of that a CPU's
    generator uses 32 bits: of 10,000 streams two are the same with a probability of one per cent. The
    first numbers of a stream on a CPU, if they are normal and many, come from `icl.compiled.normal`, which
    draws the same numbers faster.

    Raises:
        ValueError: As `stream`, for a device that is not available, and for invalid shapes and bounds.
    """

    def __init__(self, seed: int, name: str, step: int = 0, device: torch.device | str = "cpu"):
        self.device = checks.device(device, "device")
        word = stream(seed, name, step).bit_generator.random_raw()
        # PyTorch takes a positive 64-bit integer
        self._seed = int(word) >> 1
        # the compiled loops have used this many words of the generator
        self._taken = 0

    @functools.cached_property
    def generator(self) -> torch.Generator:
        """PyTorch's generator, advanced past the numbers that the compiled loop drew."""
        from icl.pytorch import torch

        generator = torch.Generator(self.device)
        generator.manual_seed(self._seed)
        # a uniform number takes one word
        torch.empty(self._taken, device=self.device).uniform_(generator=generator)
        return generator

    def standard_normal(self, shape: tuple[int, ...]) -> torch.Tensor:
        """Draw normal numbers, a float32 tensor of that shape."""
        from icl.pytorch import torch

        size = _shape(shape)
        count = math.prod(size)
        # The compiled loop starts from the seed, and so draws only a stream's first numbers. A cached
        # property is among the attributes once it was used.
        is_first = not self._taken and "generator" not in vars(self)
        if (
            is_first
            and count >= _MIN_COMPILED_DRAW
            and self.device.type == "cpu"
            and (loop := _compiled())
        ):
            # PyTorch draws rows of sixteen, and the last sixteen numbers anew if the last row is incomplete
            self._taken = count + (16 if count % 16 else 0)
            return torch.from_numpy(loop(self._seed, count)).reshape(size)
        out = torch.empty(size, dtype=torch.float32, device=self.device)
        return out.normal_(generator=self.generator)

    def uniform(self, low: float, high: float, shape: tuple[int, ...]) -> torch.Tensor:
        """Draw uniform numbers between low and high, a float32 tensor of that shape."""
        from icl.pytorch import torch

        low = real(low, "low", -_MAX_BOUND, _MAX_BOUND)
        high = real(high, "high", low, _MAX_BOUND)
        size = _shape(shape)
        out = torch.empty(size, dtype=torch.float32, device=self.device)
        return out.uniform_(low, high, generator=self.generator)


def _shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape, or one length, as a tuple of integers."""
    lengths = sequence(shape)
    lengths = [shape] if lengths is None else lengths
    # a longer axis does not fit into memory
    return tuple(integer(length, "shape", 0, 10**10) for length in lengths)


@functools.cache
def _compiled() -> Any:
    """Return the compiled loop for normal numbers, or None without numba or if this PyTorch draws others."""
    if not can_compile():
        return None
    from icl.compiled.normal import normal
    from icl.pytorch import torch

    # 1003 is not a multiple of sixteen, so that the row that PyTorch draws anew is compared, too
    drawn = torch.empty(1003).normal_(generator=torch.Generator().manual_seed(5))
    return normal if np.allclose(drawn, normal(5, 1003), rtol=0, atol=1e-5) else None
