"""Make the two files of this folder again, from the packages that carry the data.

    pip install global-land-mask==1.0.0 ppigrf==2.1.0
    python book/planet/make.py

`land.npz`: 1 where more than half of a cell of half a degree is land, packed in bits, rows from north to
south, columns from -180 degrees eastwards. From the mask at 30 arc seconds of the package global-land-mask
(Todd Karin, MIT), which is the part of NOAA's GLOBE elevation model (public domain) that has an elevation.

`magnetic.csv`: Gauss coefficients of the main magnetic field for 2020 in nT, degrees 1 to 13, from IGRF-14
of the International Association of Geomagnetism and Aeronomy (doi:10.5281/zenodo.14012302), as the package
ppigrf (Karl Laundal, MIT) carries it.
"""

from __future__ import annotations

import csv
from importlib.resources import files
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
CELLS = 60  # of 30 arc seconds in half a degree
YEAR = "2020.0"


def land() -> np.ndarray:
    """Return whether each cell of half a degree is mostly land, (360, 720)."""
    path = files("global_land_mask") / "globe_combined_mask_compressed.npz"
    with np.load(str(path), allow_pickle=False) as found:
        ocean = found["mask"]
    rows, columns = ocean.shape
    cells = ocean.reshape(rows // CELLS, CELLS, columns // CELLS, CELLS)
    return (1 - cells.mean(axis=(1, 3))) > 0.5


def coefficients() -> list[tuple[int, int, float]]:
    """Return degree, order and coefficient in nT; a negative order stands for the sine (h)."""
    text = (files("ppigrf") / "IGRF14.shc").read_text()
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    years = next(words for words in lines if YEAR in words)
    at = years.index(YEAR)
    rows = [words for words in lines if len(words) == len(years) + 2]
    return [(int(words[0]), int(words[1]), float(words[2 + at])) for words in rows]


if __name__ == "__main__":
    np.savez_compressed(
        FOLDER / "land.npz", bits=np.packbits(land(), axis=1), shape=np.array([360, 720])
    )
    with (FOLDER / "magnetic.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["degree", "order", "nT"])
        writer.writerows(coefficients())
