"""Random streams and covariate laws.

Everything random in the project is drawn from a *stream*: a counter-based generator that
is a pure function of ``(seed, name, step)``. Step 1000 can be drawn without drawing the
999 before it, so work can be resumed anywhere, and the numbers of one stream never depend
on how much another one used.

There are two kinds. `stream` is *portable*: float64, drawn on the CPU and then moved, so every
device sees the same numbers. `NativeStream` is *native*: float32, drawn on the device that uses
them, several times faster, and different on a GPU. What draws from one draws from the other:
both have ``standard_normal(shape)`` and ``uniform(low, high, shape)``, the first giving NumPy
arrays, the second tensors (``torch.as_tensor`` takes either).
"""

from __future__ import annotations

import operator
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import betaincinv

#: The separate sources of randomness and their place in the generator's key.
STREAMS = {"covariates": 0, "tasks": 1, "noise": 2, "initialization": 3, "evaluation": 4, "monte carlo": 5}


def stream(seed: int, name: str, step: int = 0) -> np.random.Generator:
    """The generator of stream ``name`` at ``step``: Philox with key (seed, name), counter step.

    Args:
        seed: Non-negative integer below 2**64.
        name: One of `STREAMS`.
        step: Non-negative integer; every step owns 2**192 counter values of its own.

    Returns:
        A NumPy generator; equal arguments give equal numbers on every machine.

    Raises:
        ValueError: If the seed or step is out of range or the name is unknown.
    """
    seed, place, step = _address(seed, name, step)
    return np.random.Generator(np.random.Philox(key=[seed, place], counter=[0, 0, 0, step]))


def _address(seed, name, step) -> tuple[int, int, int]:
    """The seed, the stream's place in the key, and the step, checked."""
    if name not in STREAMS:
        raise ValueError(f"name={name!r}: allowed are {', '.join(STREAMS)}")
    if integer(seed, "seed", 0) >= 2**64:
        raise ValueError(f"seed={seed!r}: must be below 2**64")
    return int(seed), STREAMS[name], integer(step, "step", 0)


def integer(value, name: str, least: int) -> int:
    """``value`` as an int of at least ``least``.

    Args:
        value: What the caller was given.
        name: The parameter's name, for the message.
        least: The smallest value allowed.

    Returns:
        The value as a plain int.

    Raises:
        ValueError: If it is not a whole number or too small.
    """
    try:
        whole = operator.index(value)
    except TypeError:
        whole = None
    if whole is None or isinstance(value, bool) or whole < least:
        raise ValueError(f"{name}={value!r}: must be an integer >= {least}")
    return whole


class NativeStream:
    """A stream in the device's own generator, float32: the fast counterpart of `stream`.

    A pure function of the arguments and the device's type, up to the rounding of the processor at hand.
    On the CPU it is Philox-4x32 with key ``seed`` and counter (number, call, step, name), see `icl.fused`;
    on a GPU it is PyTorch's Philox.

    Args:
        seed: As in `stream`.
        name: As in `stream`.
        step: As in `stream`, below 2**32.
        device: Where to draw.

    Raises:
        ValueError: As `stream`.
    """

    def __init__(self, seed: int, name: str, step: int = 0, device: torch.device | str = "cpu"):
        self.device, self._calls = torch.device(device), 0
        if self.device.type == "cpu":
            seed, place, step = _address(seed, name, step)
            if step >= 2**32:  # one word of the counter; it would begin again
                raise ValueError(f"step={step!r}: must be below 2**32 for a native stream on a CPU")
            self._where = np.array([seed % 2**32, seed >> 32], np.uint32), step, place
        else:
            self.generator = torch.Generator(self.device)
            self.generator.manual_seed(int(stream(seed, name, step).bit_generator.random_raw()) >> 1)

    def standard_normal(self, shape: tuple[int, ...], out: torch.Tensor | None = None) -> torch.Tensor:
        """Normal numbers, a float32 tensor of that shape: ``out``, if that is given, or a new one."""
        out = torch.empty(shape, device=self.device) if out is None else out
        if self.device.type == "cpu":
            return self._fill("fill_normal", out)
        return out.normal_(generator=self.generator)

    def uniform(self, low: float, high: float, shape: tuple[int, ...]) -> torch.Tensor:
        """Uniform numbers between low and high, a float32 tensor of that shape."""
        out = torch.empty(shape, device=self.device)
        if self.device.type == "cpu":
            return self._fill("fill_uniform", out, np.float32(low), np.float32(high))
        return out.uniform_(low, high, generator=self.generator)

    def _fill(self, loop, out, *limits):
        from icl import fused  # here, because numba takes a while to import and few runs need it

        key, step, place = self._where
        flat = out.view(-1).numpy()
        whole = flat if flat.size % 4 == 0 else np.empty(4 * -(-flat.size // 4), np.float32)
        getattr(fused, loop)(whole, key, self._calls, step, place, *limits)
        if whole is not flat:
            flat[:] = whole[: flat.size]
        self._calls += 1
        return out


def uniform_sphere(rng: np.random.Generator, *shape: int) -> torch.Tensor:
    """Points uniform on the unit sphere, ``x ~ U(S^{d-1})``.

    Args:
        rng: A stream.
        *shape: Leading sizes and, last, the dimension d >= 2.

    Returns:
        float64 tensor of that shape whose last axis has norm 1.
    """
    integer(shape[-1], "dim", 2)
    if isinstance(rng, NativeStream):
        return unit(planes(rng.standard_normal(shape[::-1])))
    return unit(torch.from_numpy(rng.standard_normal(shape)))


def unit(x: torch.Tensor) -> torch.Tensor:
    """``x / |x|`` along the last axis, in the same memory layout and perhaps in place."""
    if x.stride(-1) == 1:
        return x / x.norm(dim=-1, keepdim=True)
    p = planes(x)
    if fusible(p):
        from icl import fused

        fused.normalize(p.view(len(p), -1).numpy())
        return x
    return planes(p.mul_(dot(p, p).rsqrt_()))


def fusible(x: torch.Tensor) -> bool:
    """Whether the loops of `icl.fused` take it: single precision, on a CPU, without gaps."""
    return x.device.type == "cpu" and x.dtype == torch.float32 and x.is_contiguous()


def planes(x: torch.Tensor) -> torch.Tensor:
    """``x`` with its axes reversed: contiguous if x lies in memory coordinate by coordinate."""
    return x.permute(*reversed(range(x.ndim)))


def dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """``sum_i a[i] b[i]`` over the first axis, plane by plane and so without a large intermediate."""
    total = a[0] * b[0]
    for one, other in zip(a[1:], b[1:], strict=True):
        total.addcmul_(one, other)
    return total


def cap_quantile(dim: int, mass: float) -> float:
    """The ``1 - x.x_q`` below which a uniform token ``x`` falls with probability ``mass``.

    Args:
        dim: Dimension d >= 2.
        mass: Probability; 1 and more give 2, the whole sphere.

    Returns:
        A number in [0, 2]. Its inverse at mass 1/n is the window parameter whose kernel
        just reaches the nearest of n tokens; it grows like ``n ** (2 / (d - 1))``.
    """
    return 2.0 if mass >= 1 else 2 * float(betaincinv((dim - 1) / 2, (dim - 1) / 2, mass))


@dataclass(frozen=True)
class Sphere:
    """Tokens ``x ~ U(S^{d-1})``, the paper's isotropic case.

    A token law turns independent normal numbers into tokens. It has ``dim`` and `tokens`; write
    your own with these two, and write `tokens` for any strides of its argument.

    Attributes:
        dim: Dimension d >= 2.
    """

    dim: int

    def __post_init__(self):
        integer(self.dim, "dim", 2)

    def tokens(self, normal: torch.Tensor) -> torch.Tensor:
        """Tokens from standard normal numbers (..., d), which it may overwrite; same shape and layout."""
        return unit(normal)


@dataclass(frozen=True)
class Ellipsoid:
    """Tokens ``x = A u`` with ``u ~ U(S^{d-1})``; ``A = Sigma^{1/2}`` gives ITA slides, Lemma 1.

    Attributes:
        matrix: A, rows as tuples (an array is converted), shape (d, d). ``E x x' = A A' / d``:
            the slides' Sigma is not divided by d.
    """

    matrix: tuple[tuple[float, ...], ...]

    def __post_init__(self):
        object.__setattr__(self, "matrix", frozen(self.matrix, "matrix"))
        if len({len(self.matrix), *map(len, self.matrix)}) != 1:
            raise ValueError(f"matrix={self.matrix!r}: must be square")

    @property
    def dim(self) -> int:
        """Dimension d."""
        return len(self.matrix)

    def tokens(self, normal: torch.Tensor) -> torch.Tensor:
        """Tokens from standard normal numbers, as in `Sphere.tokens`."""
        return apply(self.matrix, unit(normal))


@dataclass(frozen=True)
class LowRank:
    """Tokens ``x = B u + e B_perp v``, ``u ~ U(S^{k-1})``, ``v ~ U(S^{d-k-1})`` independent (Theorem 4).

    Attributes:
        basis: B, orthonormal columns, shape (d, k) with 1 <= k < d, rows as tuples (an array is
            converted). ``S^0`` is the two points -1 and 1.
        outside: e, the length of the part outside the subspace.
    """

    basis: tuple[tuple[float, ...], ...]
    outside: float = 1.0

    def __post_init__(self):
        object.__setattr__(self, "basis", frozen(self.basis, "basis"))
        basis = np.array(self.basis)
        if not (0 < basis.shape[1] < len(basis)) or not np.allclose(basis.T @ basis, np.eye(basis.shape[1])):
            raise ValueError(f"basis={self.basis!r}: must have fewer columns than rows, orthonormal ones")
        if not np.isfinite(self.outside):
            raise ValueError(f"outside={self.outside!r}: must be a finite number")

    @property
    def dim(self) -> int:
        """Dimension d."""
        return len(self.basis)

    def tokens(self, normal: torch.Tensor) -> torch.Tensor:
        """Tokens from standard normal numbers, as in `Sphere.tokens`."""
        k = len(self.basis[0])
        full = np.linalg.qr(np.array(self.basis), mode="complete").Q
        u, v = unit(normal[..., :k]), unit(normal[..., k:])
        return apply(self.basis, u) + apply(self.outside * full[:, k:], v)


def frozen(matrix, name: str) -> tuple[tuple[float, ...], ...]:
    """A matrix as a tuple of rows, which a frozen dataclass can hold and compare.

    Args:
        matrix: Anything NumPy reads as a matrix.
        name: The parameter's name, for the message.

    Returns:
        Its rows.

    Raises:
        ValueError: If it is no matrix of finite numbers.
    """
    array = np.asarray(matrix, dtype=float)
    if array.ndim != 2 or array.size == 0 or not np.isfinite(array).all():
        raise ValueError(f"{name}={matrix!r}: must be a matrix of finite numbers")
    return tuple(map(tuple, array.tolist()))


def apply(matrix, x: torch.Tensor) -> torch.Tensor:
    """``matrix @ x`` along the last axis of ``x``, keeping the memory layout of planes.

    Args:
        matrix: (m, d), anything NumPy reads as a matrix.
        x: (..., d).

    Returns:
        (..., m).
    """
    A = torch.as_tensor(np.asarray(matrix, dtype=float)).to(x)
    if x.stride(-1) == 1:
        return x @ A.T
    p = planes(x)
    return planes((A @ p.reshape(len(p), -1)).reshape(-1, *p.shape[1:]))
