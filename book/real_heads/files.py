"""Readers of the files: archives of two package indices, weights, and nothing that is unpickled."""

from __future__ import annotations

import hashlib
import io
import json
import math
import struct
import tarfile
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

Tensors = dict[str, NDArray[np.float32]]

#: Numbers of a GGUF file by the code of their type.
NUMBERS = dict(enumerate(["<B", "<b", "<H", "<h", "<I", "<i", "<f", "<?"])) | {
    10: "<Q",
    11: "<q",
    12: "<d",
}
TEXT, ARRAY = 8, 9
#: Layouts of a GGUF tensor by their codes: numbers in a block, and what a block holds.
BLOCKS = {
    0: (1, np.dtype([("values", "<f4", 1)])),
    3: (32, np.dtype([("scale", "<f2"), ("least", "<f2"), ("nibbles", "u1", 16)])),
    8: (32, np.dtype([("scale", "<f2"), ("values", "i1", 32)])),
}


def sha256(content: bytes) -> str:
    """Return the digest of a file's content."""
    return hashlib.sha256(content).hexdigest()


def member(archive: Path, name: str) -> bytes:
    """Return one file of a wheel, a source archive or a Debian package.

    Raises:
        ValueError: If the archive is none of these, or has no such file.
    """
    try:
        if archive.suffix in (".whl", ".zip"):
            with zipfile.ZipFile(archive) as opened:
                return opened.read(name)
        if archive.suffix == ".deb":
            source, name = _data_of_debian(archive.read_bytes()), f"./{name}"
        else:
            source = io.BytesIO(archive.read_bytes())
        with tarfile.open(fileobj=source) as opened:
            found = opened.extractfile(name)
            if found is not None:
                return found.read()
    except (KeyError, tarfile.ReadError, zipfile.BadZipFile):
        pass
    raise ValueError(f"{archive.name}: must be an archive that has the file {name}")


def _data_of_debian(content: bytes) -> BinaryIO:
    """Return the archive of the installed files, the last part of a Debian package."""
    start = 8
    while start < len(content):
        header = content[start : start + 60]
        size = int(header[48:58])
        if header.startswith(b"data.tar"):
            return io.BytesIO(content[start + 60 : start + 60 + size])
        start += 60 + size + size % 2
    raise KeyError("data.tar")


def safetensors(content: bytes) -> Tensors:
    """Return the tensors of 32-bit floats in a safetensors file.

    Raises:
        ValueError: If the file ends before a tensor does.
    """
    (size,) = struct.unpack_from("<Q", content)
    found = {}
    for name, entry in json.loads(content[8 : 8 + size]).items():
        if entry.get("dtype") == "F32":
            first, last = (8 + size + offset for offset in entry["data_offsets"])
            if last > len(content):
                raise ValueError(f"tensor {name}: the file ends before it, at {len(content)} bytes")
            found[name] = np.frombuffer(content[first:last], "<f4").reshape(entry["shape"])
    return found


def gguf(content: bytes) -> tuple[dict[str, Any], Tensors]:
    """Return the metadata of a GGUF file, and its tensors with their blocks unpacked.

    Raises:
        ValueError: If it is no GGUF file of version 2 or 3, or a tensor is neither F32 nor Q4_1 nor Q8_0.
    """
    stream = io.BytesIO(content)
    magic, version, tensors, entries = struct.unpack("<4sIQQ", stream.read(24))
    if magic != b"GGUF" or version not in (2, 3):
        raise ValueError(f"a GGUF file of version 2 or 3 is needed, not {magic!r}, {version}")
    metadata = {_value(stream, TEXT): _value(stream) for _ in range(entries)}
    places = []
    for _ in range(tensors):
        name, dims = _value(stream, TEXT), _value(stream, 4)
        shape = [_value(stream, 10) for _ in range(dims)]
        places.append((name, shape[::-1], _value(stream, 4), _value(stream, 10)))
    aligned = metadata.get("general.alignment", 32)
    start = -(-stream.tell() // aligned) * aligned
    return metadata, {
        name: _unpacked(content, start + offset, shape, kind, name)
        for name, shape, kind, offset in places
    }


def _value(stream: BinaryIO, kind: int | None = None) -> Any:
    """Read a value; without a code of its type, the code stands before it."""
    if kind is None:
        kind = _value(stream, 4)
    if kind == TEXT:
        return stream.read(_value(stream, 10)).decode()
    if kind == ARRAY:
        inner, count = _value(stream, 4), _value(stream, 10)
        return [_value(stream, inner) for _ in range(count)]
    form = NUMBERS[kind]
    return struct.unpack(form, stream.read(struct.calcsize(form)))[0]


def _unpacked(
    content: bytes, start: int, shape: list[int], kind: int, name: str
) -> NDArray[np.float32]:
    if kind not in BLOCKS:
        raise ValueError(f"tensor {name}: has the type {kind}; must be one of {sorted(BLOCKS)}")
    length, layout = BLOCKS[kind]
    blocks = np.frombuffer(content, layout, math.prod(shape) // length, start)
    if kind == 0:
        return blocks["values"].reshape(shape)
    scale = blocks["scale"].astype(np.float32)[:, None]
    if kind == 8:
        return (scale * blocks["values"]).reshape(shape)
    # the low halves of the sixteen bytes are the first sixteen numbers, the high halves the others
    steps = np.concatenate([blocks["nibbles"] & 15, blocks["nibbles"] >> 4], axis=1)
    return (scale * steps + blocks["least"].astype(np.float32)[:, None]).reshape(shape)
