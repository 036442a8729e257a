"""Write a release into one folder: ``python -m icl_book release``.

``_build/release/<version>`` has the built book as one archive, which opens without a server, the PDF, the
executed notebooks, wheel and source archive of `icl`, a manifest that names the origin of every result, and
checksums.
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

#: The date of every file in an archive, and the same in seconds, so that equal files make equal archives.
DATE, SECONDS = (1980, 1, 1, 0, 0, 0), 315532800
#: The program that unpacks the tree in the working directory and builds from it. Building changes sys.argv.
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
#: The keys of each result that the manifest has.
ORIGIN = ("preset", "parameters", "seconds", "device", "machine", "versions", "commit")


def release(preset: str, root: Path = ROOT) -> Path:
    """Write the release of the book that was built last with a preset, and return its folder.

    Raises:
        BadInput: If the book is missing or older than pages or results, files differ from the last commit,
            or packages or PDF cannot be made. An earlier release of the same version stays as it is.
    """
    version: str = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    # Without a browser this ends here, not after minutes.
    pdf.browser()
    runs = assemble.finished(preset, root)
    commit = provenance.commit()
    if commit is None or commit["dirty"]:
        raise BadInput("commit everything first, the archives hold what is committed")
    manifest = {
        "version": version,
        "preset": preset,
        "commit": commit["id"],
        "requirements.lock sha256": hash_file(root / "requirements.lock"),
        "results": {name: origin(collect(path)) for name, path in sorted(runs.items())},
    }
    told = json.dumps(manifest, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    place = root / "_build" / "release" / version
    new = place.with_name(f".{version}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    try:
        fill(new, version, preset, runs, told, root)
        assemble.swap(new, place)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return place


def fill(
    place: Path, version: str, preset: str, runs: Mapping[str, Path], told: str, root: Path
) -> None:
    """Write every file of a release into the folder ``place``; ``told`` is the manifest's text.

    ``runs`` are the executed notebooks by chapter.
    """
    book = root / "_build" / "book" / preset
    name = f"softmax-icl-book-{version}"
    (place / "manifest.json").write_text(told, encoding="utf-8")
    pages = {
        path.relative_to(book).as_posix(): path.read_bytes()
        for path in book.rglob("*")
        if path.is_file() and path.name != ".digest"
    }
    archive(place / f"{name}.zip", name, pages | {"manifest.json": told.encode()})
    executed = {f"{chapter}.ipynb": notebook(root, chapter, path) for chapter, path in runs.items()}
    archive(place / f"{name}-notebooks.zip", f"{name}-notebooks", executed)
    packages(place, root)
    shutil.copy(pdf.pdf(preset, root), place / f"{name}.pdf")
    sums = [f"{hash_file(path)}  {path.name}\n" for path in sorted(place.iterdir())]
    (place / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


def notebook(root: Path, name: str, path: Path) -> bytes:
    """Return an executed notebook with the text of its source, in which numbers are those of its cards."""
    source = root / "notebooks" / f"{name}.py"
    content = stage.today(source, read_json(path), cards([collect(path)]))
    return json.dumps(content, indent=1, ensure_ascii=False).encode() + b"\n"


def origin(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the manifest says of a result: its origin, and its verdicts."""
    verdicts = {card["id"]: card["verdict"] for card in run["cards"]}
    return {key: run[key] for key in ORIGIN if key in run} | {"verdicts": verdicts}


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def archive(path: Path, folder: str, files: Mapping[str, bytes]) -> None:
    """Write a ZIP archive with one folder, which depends on nothing but the files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{folder}/{name}", DATE)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            made.writestr(entry, files[name])


def packages(place: Path, root: Path) -> None:
    """Build wheel and source archive of `icl` from what is committed, with the installed setuptools."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree.zip")
        repository.git(root, "archive", "--format=zip", f"--output={tree}", "HEAD")
        done = subprocess.run(
            [sys.executable, "-c", BUILD, str(place)],
            cwd=folder,
            # The wheel records the permissions of new files.
            umask=0o022,
            env=os.environ | {"SOURCE_DATE_EPOCH": str(SECONDS)},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise BadInput(f"the package is not built: {done.stderr.strip().splitlines()[-1]}")
    for path in place.glob("*.tar.gz"):
        settle(path)


def settle(path: Path) -> None:
    """Write a source archive again so that it depends on nothing but the names and contents of its entries.

    The archive of setuptools has the times at which the files were unpacked, and the user's name.
    """
    made = io.BytesIO()
    with (
        tarfile.open(path) as found,
        gzip.GzipFile("", "wb", 9, made, mtime=SECONDS) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as target,
    ):
        for old in sorted(found, key=lambda one: one.name):
            entry = tarfile.TarInfo(old.name)
            entry.type, entry.size, entry.mtime = old.type, old.size, SECONDS
            entry.linkname = old.linkname
            entry.mode = 0o755 if old.isdir() else 0o644
            target.addfile(entry, found.extractfile(old))
    path.write_bytes(made.getvalue())
