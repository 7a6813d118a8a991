"""Arrays on devices among the arguments of a function, and functions that Python runs on copies of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.api.device import changes
from tracejit.api.fallback import Python, Refusal
from tracejit.api.introspect import ShapeDtypeStruct
from tracejit.interpreters.jit_cuda import device as jit_device
from tracejit.interpreters.jit_cuda import foreign


class Held(ShapeDtypeStruct):
    """An array on a device as an argument: what is known of it without reading it is its type. `given` is the user's
    object, `array` the device's array of its memory, which must not be written if it is `fixed`."""

    __slots__ = ("array", "fixed", "given")

    def __init__(self, given: Any, where: Any) -> None:
        array = foreign.seen(given, where)
        super().__init__(array.shape, array.dtype)
        self.given, self.array, self.fixed = given, array, foreign.is_fixed(given)


def device_among(x: Any) -> Any:
    """The device of the first array among the leaves of `x` that is on one; None if none is, or `x` holds itself."""
    try:
        leaves = tree.flatten(x)[0]
    except RecursionError:
        return None
    for leaf in leaves:
        if (found := jit_device.device_of(leaf)) is not None:
            return found
    return None


def held(x: Any) -> Any:
    """`x` with arrays on devices as `Held`."""
    return mapped(_held, x)


def _held(a: Any) -> Any:
    where = jit_device.device_of(a)
    return a if where is None else Held(a, where)


def each(
    change: Callable[[Any], Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, each changed. Those without an array on a device stay the objects that they are."""
    new, named = tuple(map(change, args)), {k: change(v) for k, v in kwargs.items()}
    same = all(a is b for a, b in zip((*args, *kwargs.values()), (*new, *named.values()), strict=True))
    return (args, kwargs) if same else (new, named)


def on_host(x: Any) -> Any:
    """`x` with arrays on devices, held or not, as copies on the host."""
    return mapped(_to_host, x)


def _to_host(a: Any) -> Any:
    if isinstance(a, Held):
        return a.array.get()
    where = jit_device.device_of(a)
    return a if where is None else foreign.seen(a, where).get()


def on_device(x: Any, where: Any) -> Any:
    """`x` with NumPy's arrays as copies on a device."""
    return mapped(lambda a: where.array(a) if jit_device.is_plain_array(a) else a, x)


def mapped(change: Callable[[Any], Any], x: Any) -> Any:
    """`x` with its leaves changed; the same object if none was."""
    leaves, structure = tree.flatten(x)
    new = [change(a) for a in leaves]
    return x if all(a is b for a, b in zip(leaves, new, strict=True)) else tree.unflatten(structure, new)


class PythonOnHost(Python):
    """A function that Python runs on copies of a device's arrays; its results go to the device, and what it has written
    into arguments goes back there."""

    def __init__(self, fun: Callable[..., Any], wanted: bool | None, where: Any) -> None:
        super().__init__(fun, wanted)
        self.where = where

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        leaves = tree.leaves((args, kwargs))
        arrays = [x.array if isinstance(x, Held) else x for x in leaves]
        blocks = _blocks([s for x in arrays if (s := span(x)) is not None])
        device = next((jit_device.device_of(x) for x in arrays if span(x) is not None), self.where)
        copies = {low: device.read(low, np.empty(high - low, np.uint8)) for low, high in blocks}
        before = {low: copy.tobytes() for low, copy in copies.items()}

        def seen(x: Any) -> Any:
            array, fixed = (x.array, x.fixed) if isinstance(x, Held) else (x, False)
            return x if span(array) is None else _view(array, copies, fixed)

        new = each(functools.partial(mapped, seen), args, kwargs)
        with changes.handed_back((args, kwargs), new):
            out = self.fun(*new[0], **new[1])
        for low, copy in copies.items():
            if copy.tobytes() != before[low]:
                device.write(low, copy)
        return on_device(out, self.where)

    def partly(self, refusal: Refusal) -> Callable[..., Any]:
        return self._run

    def plain(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self._run(*args, **kwargs)

    def again(self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.check_again(error)
        return self._run(*args, **kwargs)


def span(x: Any) -> tuple[int, int] | None:
    """The addresses where an array on a device begins and ends; None for others."""
    if not foreign.is_ours(x):
        return None
    has = x.__cuda_array_interface__
    low = high = has["data"][0]
    for n, step in zip(has["shape"], _steps(has), strict=True):
        low, high = low + min(step * (n - 1), 0), high + max(step * (n - 1), 0)
    return (low, low) if 0 in has["shape"] else (low, high + np.dtype(has["typestr"]).itemsize)


def _steps(has: dict[str, Any]) -> tuple[int, ...]:
    """The strides of an array in bytes."""
    if has.get("strides") is not None:
        return tuple(has["strides"])
    return tuple(np.empty(0, has["typestr"]).itemsize * s for s in jit_device.c_strides(has["shape"]))


def _blocks(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans of memory, those that overlap as one."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if found and low < found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return found


def _view(x: Any, copies: dict[int, np.ndarray], fixed: bool) -> np.ndarray:
    """The part of the copies on the host that is an array: arrays that share memory share it there, and those that are
    `fixed` can't be written there."""
    has, where = x.__cuda_array_interface__, span(x)
    low = max(n for n in copies if n <= where[0])  # type: ignore[index]
    dtype = np.dtype(has["typestr"])
    view = np.ndarray(has["shape"], dtype, copies[low].data, has["data"][0] - low, _steps(has))
    view.flags.writeable = not fixed
    return view
