"""What native loops print, into all kinds of streams."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj


def _counted(x: Any, n: Any) -> Any:
    for i in range(n):
        x = x * 0.5 + 1
        print(i, x, x > 1.5)
        if i % 3 == 0:
            print(f"step {i:03d}: {x:.3e}", "done", sep=" -> ", end=";\n")
    print()
    return x


def _of_numpy(x: Any, k: Any, b: Any) -> Any:
    for i in range(3):
        x = x * x
        print(x, k + i, b, x.dtype, [x, i])
        print("é", x, sep="{}", end="}\\\n")
    return x


class _Pieces(io.StringIO):
    """A stream of which somebody sees what is written at once."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []

    def write(self, text: str) -> int:
        self.pieces.append(text)
        return super().write(text)


class _Full(io.StringIO):
    """A stream that takes a few texts."""

    left = 5

    def write(self, text: str) -> int:
        self.left -= 1
        if self.left < 0:
            raise OSError("no space left")
        return super().write(text)


_CASES = [(_counted, (1.0, 7)), (_of_numpy, (np.float32(1.1), np.int32(3), np.bool_(True)))]


def _printed(f: Callable[..., Any], args: tuple[Any, ...], stream: Any) -> Any:
    with contextlib.redirect_stdout(stream):
        f(*args)
    stream.flush()
    return stream


@pytest.mark.parametrize(("f", "args"), _CASES)
def test_loops_print_as_python_does(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    native = tj.jit(f, fallback=False)
    for make in (io.StringIO, lambda: io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\r\n"), _Pieces):
        want, got = _printed(f, args, make()), _printed(native, args, make())
        if isinstance(want, io.TextIOWrapper):
            want, got = (s.buffer.getvalue() for s in (want, got))
        else:
            assert getattr(want, "pieces", None) == getattr(got, "pieces", None)
            want, got = want.getvalue(), got.getvalue()
        assert want == got and want


@pytest.mark.parametrize(("f", "args"), _CASES)
def test_streams_that_refuse(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    native = tj.jit(f, fallback=False)
    for make in (_Full, lambda: io.TextIOWrapper(io.BytesIO(), "ascii", write_through=True)):
        left, raised = [], []
        for g in (f, native):
            stream = make()
            try:
                _printed(g, args, stream)
            except (OSError, UnicodeEncodeError) as error:
                raised.append((type(error), str(error)))
            left.append(stream.getvalue() if isinstance(stream, _Full) else stream.buffer.getvalue())
        assert left[0] == left[1]
        assert raised[:1] == raised[1:]


def test_a_closed_stream_and_none() -> None:
    native = tj.jit(_counted, fallback=False)
    closed = io.StringIO()
    closed.close()
    with contextlib.redirect_stdout(closed), pytest.raises(ValueError, match="closed"):
        native(1.0, 3)
    with contextlib.redirect_stdout(None):
        assert native(1.0, 3) == 1.875


def test_a_stream_that_interrupts() -> None:
    class Impatient(io.StringIO):
        def write(self, text: str) -> int:
            raise KeyboardInterrupt

    with contextlib.redirect_stdout(Impatient()), pytest.raises(KeyboardInterrupt):
        tj.jit(_counted, fallback=False)(1.0, 3)
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        assert tj.jit(_counted, fallback=False)(1.0, 3) == 1.875
    assert stream.getvalue().startswith("0 1.5 False\nstep 000")
