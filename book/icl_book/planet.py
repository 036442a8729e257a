"""Two maps of the Earth: land and sea, and the vertical component of the magnetic field.

A map is an array (rows, columns). Rows go from north to south, columns from the longitude -180 degrees
eastwards. The files in ``book/planet`` say where the data come from, and how to make them again.
"""

from __future__ import annotations

import csv
import hashlib
import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, lpmv

from icl_book.provenance import ROOT

Array = NDArray[np.float64]
FOLDER = ROOT / "book" / "planet"
#: Mean radius of the Earth in kilometres (IUGG).
RADIUS = 6371.0
#: Digests of the files, by name.
SHA256 = {
    "land.npz": "42eceb4046341e965e7355890a217f23f27f589a1a643056f83b9bafc61e2073",
    "magnetic.csv": "c39427cee3fde55ba3963d7f8abfe22f164a6883bc5c9596556c4355c047a568",
}


def land() -> Array:
    """Return the map of land and sea, (360, 720): 1 if a cell of half a degree is mostly land, else 0."""
    _check_digest("land.npz")
    with np.load(FOLDER / "land.npz", allow_pickle=False) as found:
        return np.unpackbits(found["bits"], axis=1).astype(float)


def magnetic_field(rows: int = 180) -> Array:
    """Return the downward component of the main magnetic field in 2020, at the Earth's mean radius, in nT.

    The map (``rows``, 2 ``rows``) has the values at the centers of its cells. At the colatitude theta and the
    longitude phi the field is ``-sum (l + 1) (g_lm cos m phi + h_lm sin m phi) P_lm(cos theta)``, with the
    coefficients g_lm and h_lm of the file and Schmidt's semi-normalized functions P_lm.
    """
    theta = (np.arange(rows) + 0.5) * math.pi / rows
    phi = (np.arange(2 * rows) + 0.5) * math.pi / rows - math.pi
    total = np.zeros((rows, 2 * rows))
    for degree, order, value in _read_coefficients():
        m = abs(order)
        wave = np.cos(m * phi) if order >= 0 else np.sin(m * phi)
        schmidt = _schmidt_factor(degree, m) * lpmv(m, degree, np.cos(theta))
        total -= (degree + 1) * value * np.outer(schmidt, wave)
    return total


def magnetic_power() -> tuple[float, ...]:
    """Return the mean square over the sphere of each degree 0, ..., 13 of `magnetic_field`, in nT^2."""
    power = np.zeros(14)
    for degree, _, value in _read_coefficients():
        # The wave of each coefficient has the mean square 1 / (2 l + 1).
        power[degree] += (degree + 1) ** 2 / (2 * degree + 1) * value**2
    return tuple(power.tolist())


def standardize(values: Array) -> Array:
    """Return a map minus its mean over the sphere, divided by its standard deviation there."""
    area = -np.diff(np.cos(np.linspace(0, math.pi, values.shape[0] + 1))) / 2
    centered = values - area @ values.mean(axis=1)
    return np.asarray(centered / math.sqrt(area @ (centered**2).mean(axis=1)))


def random_places(rng: np.random.Generator, count: int) -> Array:
    """Draw places uniformly from the sphere, as unit vectors, (count, 3)."""
    places = rng.standard_normal((count, 3))
    return np.asarray(places / np.linalg.norm(places, axis=1, keepdims=True))


def value_at(values: Array, places: Array) -> Array:
    """Return the values of a map in the cells in which places (..., 3) lie.

    Places are unit vectors. Their first axis points to longitude 0 on the equator, and their third axis to
    the north pole.
    """
    rows, columns = values.shape
    colatitude = np.arccos(places[..., 2].clip(-1, 1))
    # This longitude is counted from the first column, at -180 degrees.
    longitude = np.arctan2(places[..., 1], places[..., 0]) + math.pi
    row = (colatitude * (rows / math.pi)).astype(int).clip(0, rows - 1)
    column = (longitude * (columns / (2 * math.pi))).astype(int).clip(0, columns - 1)
    return np.asarray(values[row, column])


def _schmidt_factor(degree: int, m: int) -> float:
    """Return the factor that turns SciPy's Legendre function into Schmidt's, which lacks the sign (-1)^m."""
    ratio = math.exp(0.5 * (gammaln(degree - m + 1) - gammaln(degree + m + 1)))
    sign = -1.0 if m % 2 else 1.0
    return sign * ratio * (math.sqrt(2) if m else 1.0)


def _read_coefficients() -> list[tuple[int, int, float]]:
    """Return degree, order and coefficient in nT of each term. Terms with a sine have a negative order."""
    _check_digest("magnetic.csv")
    with (FOLDER / "magnetic.csv").open(newline="") as file:
        return [
            (int(row["degree"]), int(row["order"]), float(row["nT"]))
            for row in csv.DictReader(file)
        ]


def _check_digest(name: str) -> None:
    """Raise ValueError if a file is not the one that the book was written with."""
    found = hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()
    if found != SHA256[name]:
        raise ValueError(
            f"book/planet/{name}: sha256 {found[:12]}..., must be {SHA256[name][:12]}..."
        )
