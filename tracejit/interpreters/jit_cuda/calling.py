"""Calls like an earlier one: their arguments are looked at and handed to the program, without the general way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from tracejit.interpreters.jit import MISS, Input, errors_are_seen
from tracejit.interpreters.jit_cuda import foreign

#: Bytes at whose multiples kernels expect arrays to start.
ALIGNED = 16


def caller(
    run: Callable[..., tuple[Any, ...]],
    on: Any,
    examples: Sequence[Any],
    fixed: Sequence[bool],
    written: Collection[int],
    python: Collection[int],
    asks: bool,
) -> Callable[..., Any] | None:
    """A function of inputs like the examples, which gives what `run` gives, one output as it is, or MISS for other
    inputs. None if there can be none.

    run: the program, of arrays of the device `on` in C order.
    fixed: which inputs are always the same, which are copied to the device once.
    written: inputs whose memory outputs take; these are the device's arrays.
    python: outputs that are Python's numbers. asks: for NumPy's settings of floating-point errors."""
    if any(isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "mM" for x in examples):
        return None  # dates, of which devices have no arrays
    takers = [
        _always(on.array(np.asarray(x))) if same else _taker(on, x, n in written)
        for n, (x, same) in enumerate(zip(examples, fixed, strict=True))
    ]
    if None in takers:
        return None
    known: Any = takers

    def call(*given: Any) -> Any:
        if asks and errors_are_seen():
            return MISS
        placed: list[Any] = []
        for take, x in zip(known, given, strict=True):
            if (array := take(x)) is None:
                return MISS
            placed.append(array)
        if written and _overlap(on, placed, written):
            return MISS
        outs = run(*placed)
        if python:
            outs = tuple([x.item() if n in python else x for n, x in enumerate(outs)])
        return outs[0] if len(outs) == 1 else outs

    return call


def _always(x: Any) -> Callable[[Any], Any]:
    return lambda _: x


def _taker(on: Any, example: Any, is_written: bool) -> Callable[[Any], Any] | None:
    """The function that gives an input as an array of the device, or None where it is not like the example; None if
    such inputs go the general way."""
    if foreign.is_ours(example):
        return _of_device(on, example)
    if is_written:
        return None
    if type(example) is np.ndarray:
        dtype, shape = example.dtype, example.shape

        def of_host(x: Any) -> Any:
            if type(x) is np.ndarray and x.dtype == dtype and x.shape == shape:
                return on.array(np.ascontiguousarray(x).reshape(shape))
            return None

        return of_host if dtype.isnative else None
    number = Input.of(example)
    return None if number is None else lambda x: on.array(np.asarray(x)) if number.accepts(x) else None


def _of_device(on: Any, example: Any) -> Callable[[Any], Any] | None:
    kind, dtype, shape = type(example), example.dtype, example.shape
    address, is_on = on.address, on.has

    def take(x: Any) -> Any:
        if (
            type(x) is kind
            and x.shape == shape
            and x.dtype == dtype
            and x.flags.c_contiguous
            and not address(x) % ALIGNED
            and is_on(x)
        ):
            return x
        return None

    return take if take(example) is not None else None


def _overlap(on: Any, placed: Sequence[Any], written: Collection[int]) -> bool:
    """Whether an array that is written shares memory with another one."""
    spans = [(start := on.address(x), start + x.nbytes) for x in placed]
    return any(
        spans[n][0] < spans[m][1] and spans[m][0] < spans[n][1]
        for n in written
        for m in range(len(spans))
        if m != n
    )
