"""Trees in files, without pickle: `tree.save` and `tree.load`, in NumPy's `.npz` and in `.safetensors`.

A file has the leaves by their paths, such as `layers[0].weight`; the structure is the program's. A safetensors file is
eight bytes with the length of a JSON text, that text (name -> dtype, shape, and where the bytes are), and the bytes:
https://github.com/huggingface/safetensors. It is read and written here, since a library for these 80 lines would be
one more that has to be there.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import ml_dtypes
import numpy as np

from tracejit import tree as _tree
from tracejit.docstrings import complete as _complete
from tracejit.errors import TreeFileError

__all__ = ["load", "save"]

#: Name in a safetensors file -> dtype.
_DTYPES = {
    "BOOL": np.dtype(bool), "U8": np.dtype("u1"), "I8": np.dtype("i1"), "U16": np.dtype("<u2"),
    "I16": np.dtype("<i2"), "U32": np.dtype("<u4"), "I32": np.dtype("<i4"), "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"), "F16": np.dtype("<f2"), "F32": np.dtype("<f4"), "F64": np.dtype("<f8"),
    "C64": np.dtype("<c8"), "BF16": np.dtype(ml_dtypes.bfloat16),
}  # fmt: skip
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_LONGEST_HEADER = 100_000_000
_NUMBERS = (bool, int, float, complex)


def save(path: Any, tree: Any) -> None:
    """Write the leaves of a tree, arrays (of devices, too) and numbers, into a file. The end of its name says how:
    `.npz` or `.safetensors`. The file is there as a whole or not at all.

    Raises TreeFileError for other names, and for leaves that the format has no place for.
    """
    place = Path(path)
    found, _ = _tree.flatten_with_paths(tree)
    arrays = {}
    for name, leaf in found:
        array = leaf.get() if _is_devices(leaf) else np.asarray(leaf)
        if array.dtype.kind not in "biufc" and array.dtype != ml_dtypes.bfloat16:
            raise TreeFileError(
                path=str(path),
                problem=f"the leaf {name!r} is a {type(leaf).__name__} of {array.dtype}, no array of numbers",
            )
        arrays[_bare(name)] = array
    write = {".npz": _write_npz, ".safetensors": _write_safetensors}.get(place.suffix)
    if write is None:
        raise TreeFileError(path=str(path), problem="the name ends neither with .npz nor with .safetensors")
    with _whole(place) as file:
        write(str(path), file, arrays)


def load(path: Any, like: Any = None) -> Any:
    """The arrays of a file that `save`, or another program, has written: as a tree of the structure of `like`, whose
    leaves say the shapes and dtypes, all on the host; or as a dict by name, where `like` is None. Nothing in a file is
    run. `.npz` has checksums, `.safetensors` has none: there, bytes of an array that have changed are other numbers.

    Raises TreeFileError where the file is damaged, is of another kind, or does not fit `like`; FileNotFoundError.
    """
    place = Path(path)
    read = {".npz": _read_npz, ".safetensors": _read_safetensors}.get(place.suffix)
    if read is None:
        raise TreeFileError(path=str(path), problem="the name ends neither with .npz nor with .safetensors")
    arrays = read(str(path), place)
    if like is None:
        return arrays
    found, treedef = _tree.flatten_with_paths(like)
    wanted = {_bare(name): leaf for name, leaf in found}
    missing, more = sorted(wanted.keys() - arrays.keys()), sorted(arrays.keys() - wanted.keys())
    if missing or more:
        problem = f"it lacks {missing[:5]}" if missing else f"it has {more[:5]} besides"
        raise TreeFileError(path=str(path), problem=f"{problem}, which does not fit the tree")
    return _tree.unflatten(treedef, [_fit(str(path), n, arrays[n], leaf) for n, leaf in wanted.items()])


def _bare(name: str) -> str:
    """A path without the point at its beginning; the name of a tree that is one leaf is "leaf"."""
    return name.removeprefix(".") or "leaf"


def _is_devices(leaf: Any) -> bool:
    """Whether a leaf is an array of CuPy's, or of a device that is emulated."""
    return hasattr(type(leaf), "__cuda_array_interface__") and hasattr(type(leaf), "get")


def _fit(path: str, name: str, array: np.ndarray, leaf: Any) -> Any:
    wanted = leaf if _is_devices(leaf) else np.asarray(leaf)
    if array.shape != wanted.shape or array.dtype != wanted.dtype:
        theirs, ours = (f"{a.dtype.name}{list(a.shape)}" for a in (array, wanted))
        raise TreeFileError(path=path, problem=f"{name!r} is {theirs} in the file, and {ours} in the tree")
    if type(leaf) in _NUMBERS:
        return type(leaf)(array.item())
    return array[()] if isinstance(leaf, np.generic) else array


@contextlib.contextmanager
def _whole(place: Path) -> Iterator[BinaryIO]:
    """A file that takes its name when it is complete."""
    part = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)


# ---------------------------------------------------------------- safetensors


def _write_safetensors(path: str, file: BinaryIO, arrays: Mapping[str, np.ndarray]) -> None:
    header, start = {}, 0
    for name, a in arrays.items():
        kind = _NAMES.get(a.dtype.newbyteorder("<") if a.dtype != ml_dtypes.bfloat16 else a.dtype)
        if kind is None:
            raise TreeFileError(
                path=path, problem=f"the format has no {a.dtype.name}, which {name!r} is; .npz has"
            )
        header[name] = {"dtype": kind, "shape": list(a.shape), "data_offsets": [start, start + a.nbytes]}
        start += a.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(struct.pack("<Q", len(text)) + text)
    for a in arrays.values():
        little = a if a.dtype == ml_dtypes.bfloat16 else a.astype(a.dtype.newbyteorder("<"), copy=False)
        file.write(np.ascontiguousarray(little).tobytes())


def _read_safetensors(path: str, place: Path) -> dict[str, np.ndarray]:
    def damaged(problem: str) -> TreeFileError:
        return TreeFileError(path=path, problem=f"it is no whole safetensors file: {problem}")

    size = place.stat().st_size
    with place.open("rb") as file:
        first = file.read(8)
        if len(first) < 8:
            raise damaged("it has less than eight bytes")
        (length,) = struct.unpack("<Q", first)
        if length > min(size - 8, _LONGEST_HEADER):
            raise damaged(f"its header would have {length} bytes")
        header = _header(file.read(length), damaged)
        data = size - 8 - length
        header.pop("__metadata__", None)
        places = {name: _entry(name, entry, damaged) for name, entry in header.items()}
        end = 0
        for name, (_, _, start, stop) in sorted(places.items(), key=lambda item: item[1][2:]):
            if start != end:
                raise damaged(f"the bytes of {name!r} begin at {start}, not at {end}")
            end = stop
        if end != data:
            raise damaged(f"there are {data} bytes of data, not {end}")
        found = {}
        for name, (dtype, shape, start, stop) in places.items():
            file.seek(8 + length + start)
            raw = file.read(stop - start)
            if len(raw) != stop - start:
                raise damaged("it ended while it was read")
            found[name] = np.frombuffer(bytearray(raw), dtype).reshape(shape)
        return found


def _header(text: bytes, damaged: Any) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            raise damaged("a name occurs twice")
        return made

    try:
        header = json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as e:
        if isinstance(e, TreeFileError):
            raise
        raise damaged("its header is no JSON") from None
    if not isinstance(header, dict):
        raise damaged("its header is no JSON object")
    return header


def _entry(name: str, entry: Any, damaged: Any) -> tuple[np.dtype, tuple[int, ...], int, int]:
    """The dtype, the shape, and where the bytes begin and end."""
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise damaged(f"the entry of {name!r} has other fields than a dtype, a shape and offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    known = _DTYPES.get(dtype) if isinstance(dtype, str) else None
    if known is None:
        raise damaged(f"{name!r} has the dtype {dtype!r}, which is unknown here")
    if not _counts(shape) or not _counts(offsets) or len(offsets) != 2 or len(shape) > 32:
        raise damaged(f"{name!r} has a shape or offsets that are none")
    if offsets[1] - offsets[0] != math.prod(shape) * known.itemsize:
        raise damaged(f"{name!r} has {offsets[1] - offsets[0]} bytes, which is not what its shape takes")
    return known, tuple(shape), offsets[0], offsets[1]


def _counts(x: Any) -> bool:
    return isinstance(x, list) and all(type(n) is int and 0 <= n < 2**62 for n in x)


# ---------------------------------------------------------------- npz

_END = 22  # bytes at the end of an archive, before its comment


def _write_npz(path: str, file: BinaryIO, arrays: Mapping[str, np.ndarray]) -> None:
    for name, a in arrays.items():
        if a.dtype == ml_dtypes.bfloat16:
            problem = f"the format has no bfloat16, which {name!r} is; .safetensors has"
            raise TreeFileError(path=path, problem=problem)
    with zipfile.ZipFile(file, "w") as archive:
        for name, a in arrays.items():
            info = zipfile.ZipInfo()
            info.filename = f"{name}.npy"  # the constructor would make slashes of backslashes on Windows
            with archive.open(info, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, a, allow_pickle=False)


def _read_npz(path: str, place: Path) -> dict[str, np.ndarray]:
    def damaged(problem: str) -> TreeFileError:
        return TreeFileError(path=path, problem=f"it is no whole .npz file: {problem}")

    try:
        with zipfile.ZipFile(place) as archive:
            _all_listed(place, archive, damaged)
            return {
                info.orig_filename.removesuffix(".npy"): _member(archive, info, damaged)
                for info in archive.infolist()
            }
    except FileNotFoundError:
        raise
    except TreeFileError:
        raise
    except (
        OSError,
        ValueError,
        EOFError,
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
        KeyError,
    ) as e:
        raise damaged(str(e) or type(e).__name__) from None
    except Exception as e:  # zlib.error and what else a damaged archive leads to
        raise damaged(type(e).__name__) from None


def _all_listed(place: Path, archive: zipfile.ZipFile, damaged: Any) -> None:
    """Compare how many members the end of the archive counts with those that are listed: a wrong length in the list
    hides the members after it, which zipfile does not notice."""
    with place.open("rb") as file:
        file.seek(-_END - len(archive.comment), os.SEEK_END)
        end = file.read(_END)
    (count,) = struct.unpack_from("<H", end, 10)
    if end[:4] != b"PK\5\6" or count not in (min(len(archive.infolist()), 0xFFFF), 0xFFFF):
        raise damaged(f"it lists {len(archive.infolist())} arrays, and counts {count}")


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, damaged: Any) -> np.ndarray:
    """An array of the archive. Its header is compared with the bytes that there are before memory is asked for."""
    if not info.filename.endswith(".npy"):
        raise damaged(f"{info.filename!r} is no array")
    with archive.open(info) as file:
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise damaged(f"the array {info.filename!r} is of version {version}")
        read = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = read(file)
        if dtype.hasobject or dtype.kind not in "biufc":
            raise damaged(f"{info.filename!r} holds {dtype}, no numbers")
        size = math.prod(shape) * dtype.itemsize
        if any(n < 0 for n in shape) or size > info.file_size:
            raise damaged(f"{info.filename!r} has less bytes than its shape {shape} takes")
        raw = file.read(size)
        if len(raw) != size or file.read(1):
            raise damaged(f"{info.filename!r} has another number of bytes than its shape {shape} takes")
    array = np.frombuffer(bytearray(raw), dtype).astype(dtype.newbyteorder("="), copy=False)
    return array.reshape(shape[::-1]).T if fortran else array.reshape(shape)


_complete("tracejit.tree", {"load": load, "save": save})
