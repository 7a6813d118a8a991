"""Trees in files: what is written is read, by others too; damaged and hostile files are refused."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tracejit as tj
from tracejit import nn, tree
from tracejit.errors import TreeFileError

SUFFIXES = (".npz", ".safetensors")
TREE = {
    "a": (np.float32(2), np.asfortranarray(np.arange(6).reshape(2, 3)), [np.zeros((0, 3), np.int8)]),
    "x/y": 1.5,
    "n": 3,
    "yes": True,
    "big": np.arange(3, dtype=">i4"),
}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_written_is_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t{suffix}"
    tree.save(path, TREE)
    native = TREE | {"big": np.arange(3, dtype="i4")}
    like = tree.map(lambda x: type(x)(0) if not isinstance(x, np.ndarray) else np.ones_like(x), native)
    back = tree.load(path, like)
    for got, want in zip(tree.leaves(back), tree.leaves(native), strict=True):
        assert type(got) is type(want)
        np.testing.assert_array_equal(got, want)
    assert set(tree.load(path)) == {
        "['a'][0]",
        "['a'][1]",
        "['a'][2][0]",
        "['x/y']",
        "['n']",
        "['yes']",
        "['big']",
    }
    assert [p.name for p in tmp_path.iterdir()] == [path.name]  # nothing half-written is left


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_modules_and_optimizers(tmp_path: Path, suffix: str) -> None:
    net = nn.MLP([3, 5, 2], nn.relu, key=tj.random.PRNGKey(0))
    state = tj.optim.adam(0.1).init(net)
    tree.save(tmp_path / f"t{suffix}", (net, state))
    other = nn.MLP([3, 5, 2], nn.relu, key=tj.random.PRNGKey(1))
    back, _ = tree.load(tmp_path / f"t{suffix}", (other, state))
    assert np.array_equal(back(np.ones(3)), net(np.ones(3)))


def test_dtypes(tmp_path: Path) -> None:
    kinds = [np.bool_, np.int8, np.uint16, np.int64, np.float16, np.float32, np.complex64, ml_dtypes.bfloat16]
    arrays = {np.dtype(k).name: np.ones(3).astype(k) for k in kinds}
    tree.save(tmp_path / "t.safetensors", arrays)
    back = tree.load(tmp_path / "t.safetensors", arrays)
    assert all(back[n].dtype == a.dtype and np.array_equal(back[n], a) for n, a in arrays.items())
    with pytest.raises(TreeFileError, match="no complex128"):
        tree.save(tmp_path / "t.safetensors", np.ones(2, complex))
    with pytest.raises(TreeFileError, match="no bfloat16"):
        tree.save(tmp_path / "t.npz", arrays)


def test_numpy_reads_it(tmp_path: Path) -> None:
    tree.save(tmp_path / "t.npz", {"w": np.arange(3)})
    with np.load(tmp_path / "t.npz") as file:
        assert file["['w']"].tolist() == [0, 1, 2]
    np.savez_compressed(tmp_path / "u.npz", w=np.eye(3))
    assert np.array_equal(tree.load(tmp_path / "u.npz")["w"], np.eye(3))


def test_what_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    tree.save(path, {"w": np.ones(3)})
    for like, words in (
        ({"w": np.ones(4)}, r"float64\[3\] in the file, and float64\[4\]"),
        ({"w": np.ones(3, int)}, "int64"),
        ({"v": np.ones(3)}, "lacks"),
        ({}, "besides"),
    ):
        with pytest.raises(TreeFileError, match=words):
            tree.load(path, like)
    with pytest.raises(TreeFileError, match="ends neither"):
        tree.save(tmp_path / "t.pickle", 1.0)
    with pytest.raises(TreeFileError, match="is a str"):
        tree.save(path, {"w": "text"})
    with pytest.raises(FileNotFoundError):
        tree.load(tmp_path / "none.npz")


def made(header: Any, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(dtype: Any = "F64", shape: Any = (1,), offsets: Any = (0, 8)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"1234567",
        made({}, length=2**63),
        made(b"{", length=1),
        made(b"[1]"),
        made(b"[" * 100_000),
        made({"a": 1}),
        made({"a": entry()}),  # no data
        made({"a": entry()}, bytes(9)),
        made({"a": entry(offsets=(1, 9))}, bytes(9)),
        made({"a": entry(), "b": entry()}, bytes(8)),  # the same bytes twice
        made({"a": entry(offsets=(8, 0))}, bytes(8)),
        made({"a": entry(shape=(-1,))}, bytes(8)),
        made({"a": entry(shape=(2**40, 2**40))}, bytes(8)),
        made({"a": entry(shape=(1.0,))}, bytes(8)),
        made({"a": entry(shape=(True,))}, bytes(8)),
        made({"a": entry("O")}, bytes(8)),
        made({"a": entry(["F64"])}, bytes(8)),
        made({"a": entry(shape=[1] * 40)}, bytes(8)),
        made(b'{"a": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}, "a": 1}'),
        made(b"\xff\xfe"),
    ],
)
def test_hostile_safetensors(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.safetensors").write_bytes(content)
    with pytest.raises(TreeFileError, match="no whole safetensors file"):
        tree.load(tmp_path / "t.safetensors")


def array_file(shape: str, descr: str = "<f8", data: bytes = bytes(8)) -> bytes:
    header = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


@pytest.mark.parametrize(
    "member",
    [
        array_file("(1000000000000,)"),  # memory is not asked for
        array_file("(2,)"),
        array_file("(-1,)"),
        array_file("(1,)", data=bytes(9)),
        array_file("(1,)", "|O"),  # a pickle
        array_file("(1,)", "<M8[s]"),
        b"no array",
        b"",
    ],
)
def test_hostile_npz(tmp_path: Path, member: bytes) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.npy", member)
    (tmp_path / "t.npz").write_bytes(buffer.getvalue())
    with pytest.raises(TreeFileError, match=r"no whole \.npz file"):
        tree.load(tmp_path / "t.npz")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damage_anywhere(tmp_path: Path, suffix: str) -> None:
    """Cut short, or with changed bytes, a file is refused, or gives arrays of the shapes that it says."""
    path = tmp_path / f"t{suffix}"
    tree.save(path, {"w": np.arange(4.0), "n": np.int32(1)})
    whole, rng = path.read_bytes(), random.Random(0)
    for k in range(150):
        content = bytearray(whole[: rng.randrange(len(whole))] if k % 2 else whole)
        for _ in range(k % 3 if k % 2 else 1 + k % 3):
            if content:
                content[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(content)
        try:
            found = tree.load(path)
        except TreeFileError:
            continue
        assert all(isinstance(a, np.ndarray) for a in found.values())


def test_every_byte_of_npz(tmp_path: Path) -> None:
    """A changed byte is refused, or changes nothing of the arrays: it hides none of them."""
    path = tmp_path / "t.npz"
    tree.save(path, {"w": np.arange(4.0), "n": np.int32(1), "m": np.arange(6).reshape(2, 3).T})
    whole, want = path.read_bytes(), tree.load(path)
    for at in range(len(whole)):
        content = bytearray(whole)
        content[at] ^= 1 << at % 8
        path.write_bytes(content)
        try:
            found = tree.load(path)
        except TreeFileError:
            continue
        assert found.keys() == want.keys(), at
        assert all(found[k].dtype == a.dtype and np.array_equal(found[k], a) for k, a in want.items()), at


@pytest.mark.parametrize("end", ["npz", "safetensors"])
def test_names_with_any_signs(tmp_path: Path, end: str) -> None:
    names = {"a/b": 1.0, "a\\b": 2.0, "line\nline": 3.0, "é": 4.0, "..": 5.0, "": 6.0, "a.npy": 7.0}
    tree.save(tmp_path / f"names.{end}", names)
    assert tree.load(tmp_path / f"names.{end}", like=dict.fromkeys(names, 0.0)) == names
