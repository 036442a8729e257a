"""Write a release into one folder: ``python -m icl_book release``.

The folder ``_build/release/<version>`` has

- the built book as one archive, whose pages open without a server, and as a PDF,
- the executed notebooks,
- the wheel and the source archive of `icl`,
- ``manifest.json``, which names the origin of every result, and
- ``SHA256SUMS``, the checksums of these files.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from icl_book import provenance, repository
from icl_book.parameters import BadInput
from icl_book.provenance import ROOT
from icl_book.runner.record import cards, collect, read_json
from icl_book.site import assemble, pdf, stage

#: The date of every file in an archive, so that equal files make equal archives.
DATE = (1980, 1, 1, 0, 0, 0)
SECONDS = 315532800
#: The code that builds the packages in ``tree.zip`` into a folder. It reads its argument first, because
#: building changes sys.argv.
BUILD = """
import os, sys, zipfile
import setuptools.build_meta as build
place = sys.argv[1]
with zipfile.ZipFile("tree.zip") as packed:
    packed.extractall()
os.remove("tree.zip")
build.build_wheel(place)
build.build_sdist(place)
"""
ORIGIN = ("preset", "parameters", "seconds", "device", "machine", "versions", "commit")


def release(preset: str, root: Path = ROOT) -> Path:
    """Write the release of the last book of a preset, and return its folder.

    Raises:
        BadInput: If the book is missing or outdated, if files differ from the last commit, or if packages or
            PDF cannot be made. An earlier release of the same version then stays as it is.
    """
    version: str = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    # Without a browser for the PDF this raises now, and not after minutes.
    pdf.find_browser()
    runs = assemble.find_finished(preset, root)
    commit = provenance.commit()
    if commit is None or commit["dirty"]:
        raise BadInput("commit everything first, the archives hold what is committed")
    manifest = {
        "version": version,
        "preset": preset,
        "commit": commit["id"],
        "requirements.lock sha256": hash_file(root / "requirements.lock"),
        "results": {name: describe_origin(collect(path)) for name, path in sorted(runs.items())},
    }
    manifest_text = json.dumps(manifest, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    place = root / "_build" / "release" / version
    new = place.with_name(f".{version}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    try:
        fill(new, version, preset, runs, manifest_text, root)
        # After this, `new` exists only after an error.
        assemble.swap(new, place)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return place


def fill(
    place: Path,
    version: str,
    preset: str,
    runs: Mapping[str, Path],
    manifest_text: str,
    root: Path,
) -> None:
    """Write every file of a release into the folder ``place``."""
    book = root / "_build" / "book" / preset
    name = f"softmax-icl-book-{version}"
    (place / "manifest.json").write_text(manifest_text, encoding="utf-8")
    # The file .digest is not a page.
    pages = {
        path.relative_to(book).as_posix(): path.read_bytes()
        for path in book.rglob("*")
        if path.is_file() and path.name != ".digest"
    }
    write_archive(place / f"{name}.zip", name, pages | {"manifest.json": manifest_text.encode()})
    executed = {
        f"{chapter}.ipynb": write_notebook(root, chapter, path) for chapter, path in runs.items()
    }
    write_archive(place / f"{name}-notebooks.zip", f"{name}-notebooks", executed)
    build_packages(place, root)
    shutil.copy(pdf.write_pdf(preset, root), place / f"{name}.pdf")
    sums = [f"{hash_file(path)}  {path.name}\n" for path in sorted(place.iterdir())]
    (place / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


def write_notebook(root: Path, name: str, path: Path) -> bytes:
    """Return an executed notebook as bytes, with today's text and the numbers of its own cards."""
    source = root / "notebooks" / f"{name}.py"
    content = stage.update_text(source, read_json(path), cards([collect(path)]))
    return json.dumps(content, indent=1, ensure_ascii=False).encode() + b"\n"


def describe_origin(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the manifest has of a run's results."""
    verdicts = {card["id"]: card["verdict"] for card in run["cards"]}
    return {key: run[key] for key in ORIGIN if key in run} | {"verdicts": verdicts}


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_archive(path: Path, folder: str, files: Mapping[str, bytes]) -> None:
    """Write a ZIP archive with one folder, whose bytes depend on the names and contents of ``files`` only."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{folder}/{name}", DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            # ZIP keeps the permissions in the upper 16 bits.
            entry.external_attr = 0o644 << 16
            made.writestr(entry, files[name])


def build_packages(place: Path, root: Path) -> None:
    """Build the wheel and the source archive of `icl` from the last commit, into the folder ``place``."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree.zip")
        repository.git(root, "archive", "--format=zip", f"--output={tree}", "HEAD")
        done = subprocess.run(
            [sys.executable, "-c", BUILD, str(place)],
            cwd=folder,
            # The wheel records permissions, which must not depend on the user's settings.
            umask=0o022,
            # The files in the wheel get this date.
            env=os.environ | {"SOURCE_DATE_EPOCH": str(SECONDS)},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise BadInput(f"the package is not built: {done.stderr.strip().splitlines()[-1]}")
    for path in place.glob("*.tar.gz"):
        normalize_archive(path)


def normalize_archive(path: Path) -> None:
    """Write a source archive again, without the user's name and the times that setuptools has written."""
    made = io.BytesIO()
    with (
        tarfile.open(path) as found,
        gzip.GzipFile("", "wb", 9, made, mtime=SECONDS) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as target,
    ):
        for old in sorted(found, key=lambda one: one.name):
            entry = tarfile.TarInfo(old.name)
            entry.type = old.type
            entry.size = old.size
            entry.mtime = SECONDS
            entry.linkname = old.linkname
            entry.mode = 0o755 if old.isdir() else 0o644
            target.addfile(entry, found.extractfile(old))
    path.write_bytes(made.getvalue())
