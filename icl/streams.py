"""Random streams.

Everything random in the project is drawn from a *stream*: a counter-based generator that
is a pure function of ``(seed, name, step)``. Step 1000 can be drawn without drawing the
999 before it, so work can be resumed anywhere, and the numbers of one stream never depend
on how many another one used. Training, evaluation and Monte Carlo draw from streams of their own.

There are two kinds. `stream` is *portable*: float64, drawn on the CPU by NumPy and then moved, so every
device sees the same numbers. `NativeStream` is *native*: float32, drawn by PyTorch on the device that uses
them, faster on a CPU and different on a GPU. Both have ``standard_normal(shape)`` and
``uniform(low, high, shape)``, the first giving NumPy arrays, the second tensors. PyTorch takes long to
import: it is loaded by `NativeStream`.

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

from icl.checks import choice, integer
from icl.compiled import module

if TYPE_CHECKING:
    import torch


def root_seed() -> int:
    """Return what the environment variable ``ICL_SEED`` says; 0 if it is not set or empty."""
    text = os.environ.get("ICL_SEED") or "0"
    if not text.isdecimal() or len(text) > 10 or int(text) >= 2**31:
        raise ValueError(f"ICL_SEED={text!r}: must be an integer from 0 to 2**31 - 1")
    return int(text)


#: Added to every seed.
ROOT_SEED = root_seed() << 32

#: Of a generator whose key is set afterwards.
_ANY_SEED = np.random.SeedSequence(0)

#: The separate sources of randomness and their place in the generator's key.
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

    Equal arguments give equal numbers on every machine. Every step owns 2**192 counter values.

    Raises:
        ValueError: If seed or step are not integers from 0 to 2**64 - 1, or the name is none of `STREAMS`.
    """
    return np.random.Generator(_philox(seed, name, step))


def _philox(seed: int, name: str, step: int) -> np.random.Philox:
    """Return the bits of `stream`; given the key, NumPy would first ask the system for a random one."""
    seed, place, step = _address(seed, name, step)
    bits = np.random.Philox(_ANY_SEED)
    counter = np.array([0, 0, 0, step], dtype=np.uint64)
    key = np.array([seed, place], dtype=np.uint64)
    bits.state = bits.state | {"state": {"counter": counter, "key": key}}
    return bits


def _address(seed: int, name: str, step: int) -> tuple[int, int, int]:
    """Return the seed, the stream's place in the key, and the step, checked."""
    place = STREAMS[choice(name, "name", STREAMS)]
    seed = (integer(seed, "seed", 0, 2**64 - 1) + ROOT_SEED) % 2**64
    return seed, place, integer(step, "step", 0, 2**64 - 1)


#: A stream of which at first so many normal numbers are wanted on a CPU is drawn by the compiled loops.
_MANY = 2**12


class NativeStream:
    """Draw from PyTorch's own generator of a device in float32: the fast counterpart of `stream`.

    The numbers are a function of the arguments and the device's type, up to the rounding of the processor at
    hand. The generator's seed is the first number of `stream` with the same arguments. Of that a CPU's
    generator uses 32 bits: of 10,000 streams two are the same with a probability of one per cent. On a CPU
    `icl.compiled.normal` draws the same numbers faster where they are many.

    Raises:
        ValueError: As `stream`.
    """

    def __init__(
        self, seed: int, name: str, step: int = 0, device: torch.device | str = "cpu"
    ):
        import torch

        self.device = torch.device(device)
        first = _philox(seed, name, step).random_raw()
        self._seed = int(first) >> 1  # a positive 64-bit integer
        self._state: Any = None  # of the compiled loops, and the words that they took
        self._taken = 0

    @functools.cached_property
    def generator(self) -> torch.Generator:
        """PyTorch's generator, where the numbers that were drawn have left it."""
        import torch

        generator = torch.Generator(self.device)
        generator.manual_seed(self._seed)
        if self._taken:
            # a uniform number takes one word
            torch.empty(self._taken, dtype=torch.float32).uniform_(generator=generator)
        return generator

    def standard_normal(self, shape: tuple[int, ...]) -> torch.Tensor:
        """Draw normal numbers, a float32 tensor of that shape."""
        import torch

        size = math.prod(shape)
        if size >= (_MANY if self._state is None else 16) and self._is_compiled():
            self._taken += size + (16 if size % 16 else 0)
            drawn = _compiled().normal(self._state, size)
            return torch.from_numpy(drawn).reshape(shape)
        out = torch.empty(shape, dtype=torch.float32, device=self.device)
        return out.normal_(generator=self.generator)

    def uniform(self, low: float, high: float, shape: tuple[int, ...]) -> torch.Tensor:
        """Draw uniform numbers between low and high, a float32 tensor of that shape."""
        import torch

        if self._state is not None and self._is_compiled():
            size = math.prod(shape)
            self._taken += size
            drawn = torch.from_numpy(_compiled().uniform(self._state, size))
            first, last = torch.tensor([low, high], dtype=torch.float32)
            return drawn.reshape(shape).mul_(last - first).add_(first)
        out = torch.empty(shape, dtype=torch.float32, device=self.device)
        return out.uniform_(low, high, generator=self.generator)

    def _is_compiled(self) -> bool:
        """Return whether the compiled loops draw the next numbers: not once PyTorch's generator did."""
        fits = self.device.type == "cpu" and "generator" not in vars(self)
        if not fits or _compiled() is None:
            return False
        if self._state is None:
            self._state = _compiled().start(self._seed)
        return True


@functools.cache
def _compiled() -> Any:
    """Return the compiled loops if they can be had and draw what this PyTorch draws, else None."""
    import torch

    loops = module("normal")
    if loops is not None:
        drawn = torch.empty(1003, dtype=torch.float32)
        drawn.normal_(generator=torch.Generator().manual_seed(5))
        same = np.allclose(drawn, loops.normal(loops.start(5), 1003), rtol=0, atol=1e-5)
        return loops if same else None
    return None
