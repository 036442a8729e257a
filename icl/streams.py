"""Random streams.

The experiments draw all random numbers from *streams*. A stream is a generator of random numbers that is
determined by a seed, the name of a purpose and a step. Step 1000 can be drawn without the steps before it.
The numbers of one stream do not depend on how many numbers another stream has given.

- `stream` gives NumPy arrays in float64, the same numbers for every device.
- `NativeStream` gives tensors in float32, drawn on the device that uses them. This is faster, but a GPU draws
  other numbers than a CPU.

Both have ``standard_normal(shape)`` and ``uniform(low, high, shape)``.

The environment variable ``ICL_SEED`` is an integer from 0 to 2**31 - 1, read when this module is imported.
For every value of it, the same program draws other numbers, as long as its seeds are below 2**32.
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
    """Return ``ICL_SEED``, or 0 if it is not set or empty; ValueError unless it is 0 to 2**31 - 1."""
    text = os.environ.get("ICL_SEED") or "0"
    if not text.isdecimal() or int(text) >= 2**31:
        raise ValueError(f"ICL_SEED={text!r}: must be an integer from 0 to 2**31 - 1")
    return int(text)


#: This number is added to every seed: ``ICL_SEED`` times 2**32.
ROOT_SEED = root_seed() << 32

#: Bounds of uniform numbers are at most this in size, because float32 must hold their difference.
_MAX_BOUND = 1e38

#: For each name of a stream, the second word of the generator's key.
STREAMS = {
    "covariates": 0,
    "tasks": 1,
    "noise": 2,
    "initialization": 3,
    "evaluation": 4,
    "monte carlo": 5,
    "monte carlo tasks": 6,
    "monte carlo noise": 7,
}


def stream(seed: int, name: str, step: int = 0) -> np.random.Generator:
    """Return the generator of the stream ``name`` at ``step``.

    Equal arguments give equal numbers on every machine. The generator is Philox. Its key is two words: the
    seed plus `ROOT_SEED`, and the number of the name in `STREAMS`. The step is the highest of the counter's
    four words.

    Raises:
        ValueError: If seed or step are not integers from 0 to 2**64 - 1, or the name is not in `STREAMS`.
    """
    seed, place, step = _check_address(seed, name, step)
    # NumPy would make floats of integers above 2**63 - 1
    key = np.array([seed, place], dtype=np.uint64)
    counter = np.array([0, 0, 0, step], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def _check_address(seed: int, name: str, step: int) -> tuple[int, int, int]:
    """Return seed + `ROOT_SEED`, the number of the name in `STREAMS`, and the step, all checked."""
    place = STREAMS[choice(name, "name", STREAMS)]
    seed = (integer(seed, "seed", 0, 2**64 - 1) + ROOT_SEED) % 2**64
    return seed, place, integer(step, "step", 0, 2**64 - 1)


#: PyTorch draws fewer normal numbers than this fast enough.
_MIN_COMPILED_DRAW = 2**12


class NativeStream:
    """A stream of float32 numbers that are drawn on a device: the fast counterpart of `stream`.

    The numbers depend on the arguments and on the type of the device, and their rounding on the processor.
    The seed of PyTorch's generator is made from the first number of `stream` with the same arguments. A CPU's
    generator uses only 32 bits of this seed, so that among 10,000 streams two are equal with a probability of
    one per cent.

    Raises:
        ValueError: If `stream` would raise it for these arguments, or if the device is not available.
    """

    def __init__(self, seed: int, name: str, step: int = 0, device: torch.device | str = "cpu"):
        self.device = checks.device(device, "device")
        word = stream(seed, name, step).bit_generator.random_raw()
        # without its last bit the number is a signed integer of 64 bits
        self._seed = int(word) >> 1
        # the compiled loop has used this many words of the generator
        self._taken = 0

    @functools.cached_property
    def generator(self) -> torch.Generator:
        """PyTorch's generator, after the numbers that the compiled loop has drawn."""
        from icl.pytorch import torch

        generator = torch.Generator(self.device)
        generator.manual_seed(self._seed)
        # each uniform number uses one word of the generator
        torch.empty(self._taken, device=self.device).uniform_(generator=generator)
        return generator

    def standard_normal(self, shape: tuple[int, ...]) -> torch.Tensor:
        """Draw a float32 tensor of standard normal numbers."""
        from icl.pytorch import torch

        size = _parse_shape(shape)
        count = math.prod(size)
        # The compiled loop can draw only the first numbers of a stream. The cached property `generator`, once
        # used, is among the attributes.
        is_first = not self._taken and "generator" not in vars(self)
        if (
            is_first
            and count >= _MIN_COMPILED_DRAW
            and self.device.type == "cpu"
            and (loop := _find_compiled())
        ):
            # if fewer than sixteen numbers are left at the end, PyTorch draws the last sixteen a second time
            self._taken = count + (16 if count % 16 else 0)
            return torch.from_numpy(loop(self._seed, count)).reshape(size)
        out = torch.empty(size, dtype=torch.float32, device=self.device)
        return out.normal_(generator=self.generator)

    def uniform(self, low: float, high: float, shape: tuple[int, ...]) -> torch.Tensor:
        """Draw a float32 tensor of uniform numbers."""
        from icl.pytorch import torch

        low = real(low, "low", -_MAX_BOUND, _MAX_BOUND)
        high = real(high, "high", low, _MAX_BOUND)
        size = _parse_shape(shape)
        out = torch.empty(size, dtype=torch.float32, device=self.device)
        return out.uniform_(low, high, generator=self.generator)


def _parse_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape as a tuple of integers; a single number is the length of the only axis."""
    lengths = sequence(shape)
    lengths = [shape] if lengths is None else lengths
    return tuple(integer(length, "shape", 0, 10**10) for length in lengths)


@functools.cache
def _find_compiled() -> Any:
    """Return the compiled loop for normal numbers; None without numba, or if PyTorch has other numbers."""
    if not can_compile():
        return None
    from icl.compiled.normal import normal
    from icl.pytorch import torch

    # 1003 is not a multiple of sixteen, so that the last sixteen numbers are compared, too
    drawn = torch.empty(1003).normal_(generator=torch.Generator().manual_seed(5))
    return normal if np.allclose(drawn, normal(5, 1003), rtol=0, atol=1e-5) else None
