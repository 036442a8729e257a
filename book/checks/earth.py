"""The two maps of the Earth, read from the files of `book/planet`.

Each function takes unit vectors and returns values: 1 for land and 0 for sea, and the
downward component of the main magnetic field.
"""

from pathlib import Path

import numpy as np
from scipy.special import factorial, lpmv

DATA = Path(__file__).parents[1] / "planet"
BITS = np.load(DATA / "land.npz", allow_pickle=False)["bits"]
MAP = np.unpackbits(BITS, axis=1)[:360, :720].astype(float)
FIELD = np.loadtxt(DATA / "magnetic.csv", delimiter=",", skiprows=1)


def land(x):
    row = np.arccos(x[:, 2]) / np.pi * 360
    column = (np.arctan2(x[:, 1], x[:, 0]) / np.pi + 1) * 360
    return MAP[row.astype(int), column.astype(int) % 720]


def magnetic(x):
    """Return the downward field, from coefficients of Schmidt's semi-normalized functions."""
    phi, total = np.arctan2(x[:, 1], x[:, 0]), 0.0
    for degree, k, nT in FIELD:
        m = abs(k)
        squared = factorial(degree - m) / factorial(degree + m) * (2 if m else 1)
        along = np.cos(m * phi) if k >= 0 else np.sin(m * phi)
        factor = (degree + 1) * nT * (-1) ** m * np.sqrt(squared)
        total -= factor * lpmv(m, degree, x[:, 2]) * along
    return total
