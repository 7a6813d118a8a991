"""Files of exported programs: what is damaged, of others, or for other processors."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import ExportedFileError
from tracejit.interpreters import jit_stored
from tracejit.interpreters.jit_stored import VERSION, pack, unpack

X = np.linspace(-1, 2, 7)


def f(x: Any, n: Any) -> Any:
    return {"sum": np.sum(np.sin(x) * n), "cut": x[x > 0], "at": x[n]}


@pytest.fixture(scope="module")
def data() -> bytes:
    return tj.export(f, vjp=False)(X, 2).to_bytes()


@pytest.fixture(scope="module")
def named() -> bytes:
    """The same for any size."""
    return tj.export(f)(tj.ShapeDtypeStruct(("n",), float), 2).to_bytes()


def _mutated(data: bytes, seed: int) -> bytes:
    """A file with bytes changed, left out, put in, repeated, exchanged, or of another file."""
    r = random.Random(seed)
    out = bytearray(data)
    a, b = sorted(r.randrange(len(data)) for _ in range(2))
    kind = r.randrange(7)
    if kind == 0:
        for _ in range(r.choice([1, 1, 2, 8])):
            out[r.choice([r.randrange(len(out)), r.randrange(80)])] ^= 1 << r.randrange(8)
    elif kind == 1:
        del out[a:]
    elif kind == 2:
        del out[a:b]
    elif kind == 3:
        out[a:a] = out[a:b]
    elif kind == 4:
        out[a:b] = r.randbytes(b - a)
    elif kind == 5:
        out[:] = out[b:] + out[:b]
    else:
        out += r.randbytes(r.randrange(1, 9))
    return bytes(out)


def _loads(data: bytes, path: Path) -> None:
    """A file is refused, or does what the right one does."""
    path.write_bytes(data)
    try:
        e = tj.load_exported(path)
    except ExportedFileError as error:
        assert str(path) in str(error)
        return
    got, wanted = e(X, 2), f(X, 2)
    np.testing.assert_allclose(got["sum"], wanted["sum"])
    assert got["cut"].tolist() == wanted["cut"].tolist() and got["at"] == wanted["at"]


@pytest.mark.parametrize(
    "start", [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(100, 1000, 100))]
)
def test_mutated_files(start: int, data: bytes, named: bytes, tmp_path: Path) -> None:
    for seed in range(start, start + 100):
        _loads(_mutated(named if seed % 2 else data, seed), tmp_path / "mutated.tj")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "cut off"),
        (b"tracejit", "cut off"),
        (b"PK\x03\x04" * 50, "has not written"),
        (b"\x80\x04.", "has not"),
    ],
)
def test_other_files(content: bytes, why: str, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(ExportedFileError, match=why):
        tj.load_exported(tmp_path / "other")
    with pytest.raises(FileNotFoundError):
        tj.load_exported(tmp_path / "none")


def _changed(data: bytes, path: list[Any], value: Any) -> bytes:
    """A file whose checksum is right, but whose description has another value."""
    description, blocks = unpack(data)
    inner: Any = description
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return pack(description, blocks)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["functions"], []),
        (["functions", 0, "leaves"], []),
        (["functions", 0, "leaves", 0, "dtype"], "object"),
        (["functions", 0, "leaves", 0, "shape"], [8]),
        (["functions", 0, "program", "module"], 99),
        (["functions", 0, "program", "externals"], [["nothing:of this kind", "i32()"]]),
        (["functions", 0, "program", "failures", 0, 1, 0, 1], "os"),
        (["modules", 0, "text"], 10**6),
        (["modules", 0, "needs"], [[0, ["f"]]]),
        (["host"], None),
        (["helpers"], {}),
    ],
    ids=str,
)
def test_descriptions_that_are_none(path: list[Any], value: Any, data: bytes, tmp_path: Path) -> None:
    (tmp_path / "changed.tj").write_bytes(_changed(data, path, value))
    with pytest.raises(ExportedFileError):
        tj.load_exported(tmp_path / "changed.tj")


def test_other_processors(data: bytes, tmp_path: Path) -> None:
    """A file for a processor that has more is compiled from its text."""
    features: Any = {"features": ["a feature of the future"]}
    for host in (features | {"words": None}, {"words": [2**32] * 18}, {"words": [1]}, {"machine": "another"}):
        known = unpack(data)[0]["host"]
        path = tmp_path / "other.tj"
        path.write_bytes(_changed(data, ["host"], {**known, **host}))
        assert not tj.load_exported(path).is_native
        _loads(path.read_bytes(), path)


def _kept(x: Any, n: Any) -> Any:
    """It calls BLAS, NumPy's sorting and the runtime, has a check, and a result of unknown length."""
    y = np.sort(x @ x.T, axis=1)
    while np.sum(y) < 100:
        y = y * 1.5 + 1
    return {"y": y[n], "cut": x[x > 0], "T": x.T}


def test_a_file_of_this_format_from_before(request: pytest.FixtureRequest) -> None:
    """A file in the repository is loaded, and does what it did: if this fails, the format of files or the way in which
    programs are called has changed. Then `container.VERSION` has to, and `--update-golden` writes the file of that."""
    path = Path(__file__).with_name(f"format_{VERSION}.tj")
    x = np.linspace(-1, 1, 400).reshape(20, 20)
    if request.config.getoption("--update-golden"):
        with tj.config.override(optimize=True):
            tj.export(_kept)(x, 2).save(path)
    e = tj.load_exported(path)
    got, wanted = e(x, 19), _kept(x, 19)
    np.testing.assert_allclose(got["y"], wanted["y"])
    assert got["cut"].tolist() == wanted["cut"].tolist() and got["T"].base is x.T.base
    with pytest.raises(IndexError, match="index 20 is out of bounds for axis 0 with size 20"):
        e(x, 20)


def test_what_it_tells(data: bytes, tmp_path: Path) -> None:
    e = tj.export(f)(X, 2)
    assert str(e.in_avals) == "(f64[7], i64[])" and [a.dtype for a in e.out_avals] == [np.float64] * 3
    assert e.is_native and e.host["features"] and not e.has_vjp
    e.save(tmp_path / "a.tj")
    assert (tmp_path / "a.tj").read_bytes() == e.to_bytes() and list(tmp_path.iterdir()) == [
        tmp_path / "a.tj"
    ]
    tj.load_exported(tmp_path / "a.tj").save(tmp_path / "b.tj")
    assert (tmp_path / "b.tj").read_bytes() == e.to_bytes()


def test_traced_values_are_refused() -> None:
    e = tj.export(np.sin)(X)
    with pytest.raises(tj.errors.RefusedFunctionError, match="machine code"):
        tj.grad(lambda x: e(x).sum())(X)
    with tj.config.override(fallback=True), pytest.warns(tj.errors.FallbackWarning):
        np.testing.assert_allclose(tj.jit(lambda x: e(x) + 1)(X), np.sin(X) + 1)


@pytest.mark.parametrize(
    ("path", "value"),
    [(["sizes"], []), (["sizes"], ["m"]), (["sizes"], ["n", "n"]), (["leaves", 1, "shape"], ["m"]),
     (["leaves", 1, "shape"], [7]), (["leaves", 0, "kind"], "array"), (["leaves", 0, "dtype"], "float64")],
    ids=str,
)  # fmt: skip
def test_sizes_that_are_none(path: list[Any], value: Any, named: bytes, tmp_path: Path) -> None:
    (tmp_path / "changed.tj").write_bytes(_changed(named, ["functions", 0, *path], value))
    with pytest.raises(ExportedFileError):
        tj.load_exported(tmp_path / "changed.tj")


@pytest.mark.parametrize("dtype", ["f8", "i2", "?"])
@pytest.mark.parametrize(
    "lay",
    [
        np.copy,
        np.asfortranarray,
        lambda a: a[::-1, ::-1],
        lambda a: a[::2, ::-1],
        lambda a: a[:, ::-3].T,
        lambda a: a[:, :0],
        lambda a: a[0, 0],
        lambda a: np.broadcast_to(a[:1], (5, 6))[::-1],
    ],
)
def test_arrays_lie_in_a_file_as_they_lie_in_memory(lay: Any, dtype: str) -> None:
    a = np.asarray(lay(np.arange(24).reshape(4, 6).astype(dtype)))
    written = jit_stored.Written()
    described = written.array(a)
    read = jit_stored.Read(*written.finish()).array(described)
    assert read.dtype == a.dtype and (read.strides == a.strides or not a.size)
    np.testing.assert_array_equal(read, a)
    assert read.flags.writeable and read.base is not a
