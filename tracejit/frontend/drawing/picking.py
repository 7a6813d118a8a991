"""Choices and shuffles: the program draws positions, exactly as the method would, and takes the elements there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.control.generators.draws import PYTHON
from tracejit.frontend.drawing.arguments import drawn, limits, type_of
from tracejit.frontend.drawing.sources import Source
from tracejit.numpy.boxes.numbers import is_python
from tracejit.numpy.boxes.unsure import is_unsure
from tracejit.tracing import Box, box, new_array

_LONGEST = 10_000  # lists that are shuffled element by element


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) or (type(x) is Box and bool(x.aval.shape))


def _size(source: Source, what: str, x: Any, axis: int = 0) -> int:
    size = x.shape[axis]
    if type(size) is not int:
        raise source.refuse(what, "the number of elements depends on values")
    return size


def _take(x: Any, at: Any, axis: int = 0) -> Any:
    """The elements at positions that are in range for sure."""
    whole = x if type(x) is Box else new_array(x)
    axis = axis % whole.aval.ndim
    index = (slice(None),) * axis + (at if type(at) is Box else box(at),)
    return whole.at[index].get(mode="promise_in_bounds")


def _array(source: Source, what: str, x: Any) -> Any:
    """An array, or a list of numbers as one."""
    if _is_array(x):
        return x
    if type(x) not in (list, tuple, range) or any(_type(e) is None for e in x):
        raise source.refuse(what, f"it is given a {type(x).__name__} of other things than numbers")
    return tnp.asarray(list(x))


# ---------------------------------------------------------------- NumPy's


def _choice(source: Source, a: Any, size: Any = None, replace: Any = True, p: Any = None, **rest: Any) -> Any:
    whole = type(a) is int or (type(a) is Box and not a.aval.shape)
    axis = rest.get("axis", 0)
    count = a if whole else _size(source, "choice", a := _array(source, "choice", a), axis)
    given = {"a": count, "size": size, "replace": replace, "p": p, **({} if whole else rest)}
    given.pop("axis", None)
    given = {k: x for k, x in given.items() if x is not None}
    at = _position(source, given, limits(count))
    if whole:
        return at
    return _element(a, False, at) if size is None and axis == 0 else _take(a, at, axis=axis)


def _position(source: Source, given: dict[str, Any], within: Any) -> Any:
    """The positions that `choice` draws. With replacement and without weights they are integers as any."""
    inside = (0, within[1] - 1) if within and "size" not in given else None
    plain = given["replace"] is True and "p" not in given and type(given["a"]) is int and given["a"] > 0
    if not plain:
        return drawn(source, "choice", given, range=inside)
    result = type_of(source, "choice", given)
    name = "integers" if source.classes.generator is np.random.Generator else "randint"
    size = {"size": given["size"]} if "size" in given else {}
    at = drawn(source, name, {"low": 0, "high": given["a"], **size}, range=inside)
    return box(at.read(), weak=True) if result.kind == PYTHON else at


def _permutation(source: Source, x: Any, axis: Any = 0) -> Any:
    if type(x) is int:
        return drawn(source, "permutation", {"x": x})
    if type(x) is Box and not x.aval.shape:
        return drawn(source, "permutation", {"x": x.__index__()})
    x = _array(source, "permutation", x)
    whole = x if type(x) is Box else new_array(x)
    order = _order(source, "permutation", x, axis)
    return whole[(slice(None),) * (axis % whole.aval.ndim) + (order,)]  # which lies in memory as NumPy's


def _order(source: Source, what: str, x: Any, axis: int) -> Any:
    """The order in which a shuffle leaves the elements."""
    size = _size(source, what, x, axis)
    return drawn(source, "permutation", {"x": size}, range=(0, size - 1) if size else None)


def _shuffle(source: Source, x: Any, axis: Any = 0) -> None:
    if type(x) is list:
        _refill(source, x, drawn(source, "permutation", {"x": len(x)}))
    elif type(x) is Box:
        x[...] = _take(x, _order(source, "shuffle", x, axis), axis=axis)
    else:
        raise source.refuse("shuffle", f"it is given a {type(x).__name__}")


# ---------------------------------------------------------------- lists


def _stack(source: Source, what: str, xs: Any) -> tuple[Any, bool]:
    """The elements of a list or tuple, which are of one type, as an array; whether they are Python's numbers."""
    if type(xs) is range:
        return np.arange(xs.start, xs.stop, xs.step), True
    if any(map(is_unsure, xs)) or len({_type(x) for x in xs}) != 1 or _type(xs[0]) is None:
        raise source.refuse(what, "the elements are not all numbers, or arrays, of one type")
    return tnp.asarray(list(xs)) if not _is_array(xs[0]) else tnp.stack(list(xs)), is_python(xs[0])


def _type(x: Any) -> Any:
    if type(x) in (bool, int, float, complex) and (type(x) is not int or abs(x) < 2**63):
        return np.dtype(type(x)), (), True
    if type(x) is Box:
        return x.aval.dtype, x.aval.shape, is_python(x)
    return (x.dtype, x.shape, False) if isinstance(x, (np.ndarray, np.generic)) else None


def _element(whole: Any, python: bool, at: Any) -> Any:
    """One element: a Python number, one of NumPy's, or a row as an array of its own."""
    out = _take(whole, at, axis=0)
    return out if out.aval.shape else box(out.read(), weak=python)


def _refill(source: Source, xs: list[Any], order: Any) -> None:
    if len(xs) > 1:
        whole, python = _stack(source, "shuffle", xs)
        xs[:] = [_element(whole, python, order[n]) for n in range(len(xs))]


# ---------------------------------------------------------------- Python's


def _python_choice(source: Source, seq: Any) -> Any:
    count = _length(source, "choice", seq)
    at = drawn(source, "choice", {"seq": range(count)}, range=(0, count - 1))
    if type(seq) is range:
        return seq.start + seq.step * at
    if _is_array(seq):
        return _element(seq, False, at)
    return _element(*_stack(source, "choice", seq), at)


def _length(source: Source, what: str, xs: Any) -> int:
    if _is_array(xs):
        return _size(source, what, xs)
    if type(xs) not in (list, tuple, range) or not len(xs):
        raise source.refuse(what, f"it is given a {type(xs).__name__}, or nothing to choose from")
    return len(xs)


def _picks(name: str) -> Callable[..., Any]:
    """`choices` and `sample`, which give lists."""

    def method(source: Source, population: Any, **rest: Any) -> Any:
        count = _length(source, name, population)
        if rest.get("counts") is not None or _is_array(population):
            raise source.refuse(name, "it takes lists, tuples and ranges here, without counts")
        ats = drawn(source, name, {"population": range(count), **rest})
        whole, python = _stack(source, name, population)
        return [_element(whole, python, at) for at in ats]

    return method


def _python_shuffle(source: Source, x: Any) -> None:
    if type(x) is not list or len(x) > _LONGEST:
        raise source.refuse("shuffle", f"it is given a {type(x).__name__}, or too long a list")
    if len(x) > 1:
        _refill(source, x, drawn(source, "shuffle", {"x": list(range(len(x)))}, returns="x"))


METHODS: dict[tuple[str, str], Callable[..., Any]] = {
    **{(cls, "choice"): _choice for cls in ("Generator", "RandomState")},
    **{(cls, "permutation"): _permutation for cls in ("Generator", "RandomState")},
    **{(cls, "shuffle"): _shuffle for cls in ("Generator", "RandomState")},
    ("Random", "choice"): _python_choice,
    ("Random", "choices"): _picks("choices"),
    ("Random", "sample"): _picks("sample"),
    ("Random", "shuffle"): _python_shuffle,
}
