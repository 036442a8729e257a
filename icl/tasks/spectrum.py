"""Classes that are known by their power: data on a sphere, rotated at random.

Take any square-integrable function on the unit sphere, and rotate it uniformly at random. The rotated
functions are a rotation-invariant class. Its covariance is ``sum_l power_l P_l(x . x')``, where ``power_l``
is the variance of the function in spherical harmonics of degree l.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from icl.checks import integer, real, sequence, shown, table
from icl.covariates import inner_products, uniform_sphere
from icl.tasks.base import MAX_MAGNITUDE, Array, Function, Rng, uniform_numbers
from icl.tasks.classes import Expanded
from icl.tasks.gegenbauer import harmonics, shortfall

if TYPE_CHECKING:
    import torch

_MAX_POWERS = 10_000
#: Largest size of a value of a map, whose square must be allowed as a power.
_MAX_ABS_VALUE = 1e49


@dataclass(frozen=True, repr=False)
class Spectrum(Expanded):
    """A class that is known by its variance in each degree of spherical harmonics.

    ``power[l]`` is the variance in degree l, and ``power[0]`` the square of the mean, which the covariance
    leaves out (`Zonal.left_out_level`). ``rest`` is the variance in all degrees beyond the last one, and
    counts as fine variance (`Zonal.unresolved`).

    `sample` draws zonal harmonics ``f(x) = sqrt(A N_l) P_l(u . x)`` with a random direction u and a random
    degree l >= 1 of probability ``power[l] / A``. A is the sum of these powers, and N_l is the number of
    spherical harmonics of degree l. If ``rest`` is not zero, `sample` raises ValueError.

    ValueError if the dimension is not 2 to 10,000, if the powers are not a sequence of 2 to 10,000 numbers,
    or if a power or the rest is negative or not finite.
    """

    power: tuple[float, ...] = (0.0, 1.0)
    rest: float = 0.0
    label = "spectrum"
    _on_host = True

    def __post_init__(self) -> None:
        super().__post_init__()
        given = sequence(self.power)
        if given is None:
            raise ValueError(f"power={shown(self.power)}: must be a sequence of numbers >= 0")
        integer(len(given), "len(power)", 2, _MAX_POWERS)
        power = tuple(real(p, f"power[{at}]", 0, MAX_MAGNITUDE) for at, p in enumerate(given))
        object.__setattr__(self, "power", power)
        object.__setattr__(self, "rest", real(self.rest, "rest", 0, MAX_MAGNITUDE))

    @property
    def unresolved(self) -> float:
        return self.rest

    @property
    def left_out_level(self) -> float:
        return self.power[0]

    def coefficients(self) -> Array:
        return np.asarray(self.power)[1:]

    def _variogram(self, theta: Array) -> Array:
        """Return ``sum_l power_l (1 - P_l(cos theta))``."""
        # unlike in `Expanded`, all degrees have power
        return shortfall(self.dim, self.coefficients(), theta)

    def _draw(self, rng: Rng, count: int) -> Function:
        from icl.pytorch import torch

        if self.rest > 0:
            raise ValueError(
                f"rest={self.rest:g}: must be 0 for sample, which draws no such fine functions"
            )
        a = self.coefficients()
        cumulative = np.cumsum(a)
        chosen = uniform_numbers(rng, count) * cumulative[-1]
        # rounding may make a number as large as the last sum
        degree = 1 + np.searchsorted(cumulative, chosen, "right").clip(max=a.size - 1)
        # this is sqrt(A)
        scale = math.sqrt(cumulative[-1])
        u = uniform_sphere(rng, count, self.dim)

        def f(x: torch.Tensor) -> torch.Tensor:
            cosine = inner_products(u, x).cpu().numpy().astype(float)
            values = scale * harmonics(self.dim, degree, cosine)
            return torch.from_numpy(values).to(x)

        return f

    def __repr__(self) -> str:
        """Return one short line."""
        beyond = f", rest={self.rest:.3g}" if self.rest else ""
        return f"{type(self).__name__}(dim={self.dim}, degrees 1 to {len(self.power) - 1}{beyond})"


@dataclass(frozen=True, repr=False)
class Globe(Spectrum):
    """A map of the sphere in three dimensions, rotated uniformly at random.

    Build it with `globe`, which computes the power of a map.
    """

    values: Array = field(kw_only=True, compare=False, repr=False)
    #: Digest of the values, by which maps are compared, because ``==`` of two arrays is an array.
    digest: str = field(init=False, repr=False)
    label = "map"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim != 3:
            raise ValueError(f"dim={self.dim}: must be 3, where a map has its sphere")
        values = _check_map(self.values)
        values.flags.writeable = False
        object.__setattr__(self, "values", values)
        # maps of other shapes may have the same bytes
        text = repr(values.shape).encode() + values.tobytes()
        object.__setattr__(self, "digest", hashlib.sha256(text).hexdigest())

    def _draw(self, rng: Rng, count: int) -> Function:
        from icl.pytorch import torch

        values = torch.tensor(self.values)
        rows, columns = self.values.shape
        rotation = _make_rotations(torch.as_tensor(rng.standard_normal((count, 4))))

        def f(x: torch.Tensor) -> torch.Tensor:
            place = x @ rotation.to(x).mT
            colatitude = place[..., 2].clamp(-1, 1).arccos()
            longitude = torch.atan2(place[..., 1], place[..., 0]) + math.pi
            # row 0 is at the north pole, column 0 at -180 degrees
            row = (colatitude * (rows / math.pi)).long().clamp(0, rows - 1)
            column = (longitude * (columns / (2 * math.pi))).long().clamp(0, columns - 1)
            return values.to(x)[row, column]

        return f


def _make_rotations(normal: torch.Tensor) -> torch.Tensor:
    """Return uniform random rotations, (count, 3, 3), by unit quaternions from normal numbers (count, 4)."""
    from icl.pytorch import torch

    a, b, c, d = (normal / normal.norm(dim=1, keepdim=True)).unbind(1)
    rows = [
        [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
        [2 * (b * c + a * d), a * a - b * b + c * c - d * d, 2 * (c * d - a * b)],
        [2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d],
    ]
    return torch.stack([torch.stack(row, dim=1) for row in rows], dim=1)


def globe(values: ArrayLike, degree: int) -> Globe:
    """Return the class of a map of the sphere, rotated uniformly at random.

    Args:
        values: The map, (rows, columns). Rows have equal width in latitude, from north to south. Columns have
            equal width in longitude, from -180 degrees eastwards. The map must cover the whole sphere. Fill
            in missing values first, because numbers that mark them, such as -9999 or ``healpy.UNSEEN``, count
            as values.
        degree: The last degree whose power is computed, at most the number of rows. The variance in further
            degrees is the ``rest`` of the class.

    Raises:
        ValueError: If the map is not two-dimensional with finite numbers of size at most 1e49, if it has
            fewer than two rows or four columns, or if the degree is out of range.
    """
    found = _check_map(values)
    degree = integer(degree, "degree", 1, found.shape[0])
    edges = np.linspace(0, math.pi, found.shape[0] + 1)
    # this is each row's share of the sphere
    share = -np.diff(np.cos(edges)) / 2
    mean = float(share @ found.mean(axis=1))
    # `rest` is then not a small difference of large numbers
    centered = found - mean
    power = map_power(centered, degree)
    power[0] = mean**2
    variance = float(share @ (centered**2).mean(axis=1))
    # rounding and the Gauss rule of `map_power` could make it negative
    rest = max(0.0, variance - float(power[1:].sum()))
    return Globe(3, tuple(power.tolist()), rest, values=found)


def _check_map(values: Any) -> Array:
    """Return a map as a new float64 array (rows, columns); ValueError unless it is as `globe` says."""
    found = table(values, "values", _MAX_ABS_VALUE)
    if found.ndim != 2 or found.shape[0] < 2 or found.shape[1] < 4:
        raise ValueError(f"values of shape {found.shape}: must have 2 rows and 4 columns or more")
    return found


def map_power(values: Array, degree: int) -> Array:
    """Return the variance of a map, (rows, columns), in the degrees 0, ..., ``degree``.

    In degree 0 it is the square of the mean. The harmonics are ``Pbar_lm(cos theta) e^{i m phi}`` with the
    colatitude theta and the longitude phi. Integrals over the longitudes of a cell are exact, and those over
    colatitudes are computed by a Gauss rule with three nodes.
    """
    rows, columns = values.shape
    all_m = np.arange(degree + 1)
    # `fourier` is the mean over longitude of the map times e^{-i m phi}, (rows, degree + 1): the discrete
    # Fourier transform times a sinc, the mean of the wave over a cell.
    fourier = np.fft.fft(values, axis=1)[:, all_m % columns] / columns
    fourier = fourier * np.sinc(all_m / columns)
    nodes, weights = np.polynomial.legendre.leggauss(3)
    # this is half the height of a cell
    half = math.pi / rows / 2
    # these are the nodes of row 0, then those of row 1, and so on
    theta = ((2 * np.arange(rows)[:, None] + 1 + nodes) * half).ravel()
    # this is each node's share of the sphere
    share = (half * weights * np.sin(theta).reshape(rows, -1) / 2).ravel()
    power = np.zeros(degree + 1)
    for m in range(degree + 1):
        weighted = np.repeat(fourier[:, m], nodes.size) * share
        # phi is zero in the middle of the first column, which does not change absolute values
        coefficients = _evaluate_legendre(m, degree, theta) @ weighted
        # -m has the same power as m
        power[m:] += (1 if m == 0 else 2) * np.abs(coefficients) ** 2
    return power


def _evaluate_legendre(m: int, degree: int, theta: Array) -> Array:
    """Return ``Pbar_lm(cos theta)``, of mean square one over the sphere; rows are l = m, ..., degree.

    The recurrence is ``Pbar_l = c_l (cos theta Pbar_(l-1) - Pbar_(l-2) / c_(l-1))`` with
    ``c_l^2 = (4 l^2 - 1) / (l^2 - m^2)``.
    """
    cosine, sine = np.cos(theta), np.sin(theta)
    # Pbar_mm is the product of these factors
    lowest = np.ones_like(theta)
    for k in range(1, m + 1):
        lowest = lowest * sine * math.sqrt((2 * k + 1) / (2 * k))
    rows = [lowest]
    before = np.zeros_like(theta)
    for degree_now in range(m + 1, degree + 1):
        c_squared = (4 * degree_now**2 - 1) / (degree_now**2 - m**2)
        # this is 1 / c_(l-1)^2
        inverse_before = ((degree_now - 1) ** 2 - m**2) / (4 * (degree_now - 1) ** 2 - 1)
        following = math.sqrt(c_squared) * (cosine * rows[-1] - math.sqrt(inverse_before) * before)
        before = rows[-1]
        rows.append(following)
    return np.stack(rows)
