"""Everything of a release in one folder: ``python -m icl_book.site.release PRESET``.

``_build/release/<version>`` has the built book as one archive, which opens without a server, the PDF, the
executed notebooks, wheel and source archive of `icl`, a manifest that names the origin of every result, and
checksums.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from icl_book import process, provenance
from icl_book.provenance import ROOT
from icl_book.runner.plan import plan
from icl_book.runner.record import collect
from icl_book.site import pdf

#: The date of every file in an archive: the same files make the same archive.
DATE = (1980, 1, 1, 0, 0, 0)
#: What stands of each result in the manifest.
ORIGIN = ("preset", "parameters", "seconds", "device", "machine", "versions", "commit")


def release(preset: str, root: Path = ROOT) -> Path:
    """Write the release of the book that was built last with a preset, and return its folder.

    Raises:
        SystemExit: If there is no book, files differ from the last commit, or the PDF cannot be made.
    """
    version: str = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))[
        "project"
    ]["version"]
    book, commit = root / "_build" / "book" / preset, provenance.commit()
    if not book.is_dir():
        sys.exit(
            f"release: there is no book of the preset {preset!r}; run: make book PRESET={preset}"
        )
    if commit is None or commit["dirty"]:
        sys.exit(
            "release: commit everything first, the archives hold what is committed"
        )
    runs = {run.name: run.path for run in plan(preset)}
    manifest = {
        "version": version,
        "preset": preset,
        "commit": commit["id"],
        "requirements.lock sha256": digest(root / "requirements.lock"),
        "results": {name: origin(collect(path)) for name, path in sorted(runs.items())},
    }
    told = json.dumps(manifest, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    place = root / "_build" / "release" / version
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    name = f"softmax-icl-book-{version}"
    (place / "manifest.json").write_text(told, encoding="utf-8")
    pages = {
        path.relative_to(book).as_posix(): path.read_bytes()
        for path in book.rglob("*")
        if path.is_file() and path.name != ".digest"
    }
    archive(place / f"{name}.zip", name, pages | {"manifest.json": told.encode()})
    executed = {f"{name}.ipynb": path.read_bytes() for name, path in runs.items()}
    archive(place / f"{name}-notebooks.zip", f"{name}-notebooks", executed)
    packages(place, root)
    shutil.copy(pdf.pdf(preset, root), place / f"{name}.pdf")
    sums = [f"{digest(path)}  {path.name}\n" for path in sorted(place.iterdir())]
    (place / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    return place


def origin(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the manifest says of a result: its origin, and its verdicts."""
    verdicts = {card["id"]: card["verdict"] for card in run["cards"]}
    return {key: run[key] for key in ORIGIN if key in run} | {"verdicts": verdicts}


def digest(path: Path) -> str:
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
    command = ["git", "-C", str(root), "archive", "--format=zip", "HEAD"]
    tree = subprocess.run(command, capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(io.BytesIO(tree)) as packed:
            packed.extractall(folder)
        code = "import sys, setuptools.build_meta as build; place = sys.argv[1]\n"
        code += (
            "build.build_wheel(place); build.build_sdist(place)"  # they change sys.argv
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(place)],
            cwd=folder,
            env=os.environ | {"SOURCE_DATE_EPOCH": "315532800"},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        sys.exit(
            f"release: the package is not built: {done.stderr.strip().splitlines()[-1]}"
        )


if __name__ == "__main__":
    process.prepare()
    print(release(sys.argv[1]))
