"""Boxes as arrays: attributes, views, NumPy's protocols.

Importing this file gives `tracing.Box` its members. Methods that are NumPy
functions of the array (sum, reshape, sort …) are looked up in the table.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import (
    ArgumentTypeError,
    ChosenArrayError,
    ShapeError,
    TracedIterationError,
    TracerArrayError,
    TracerIntegerError,
    UnknownMemberError,
    UnsupportedFunctionError,
    refusals,
)
from tracejit.ir.values import Value
from tracejit.numpy import lengths
from tracejit.numpy.boxes import extents, indexing, memory, placed, views
from tracejit.numpy.boxes.sharing import either
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.numpy.operands import raw, shape_of
from tracejit.numpy.ufuncs import int_like
from tracejit.tracing import Box, box, wrap


def member(name: str) -> Any:
    """Decorator: the function becomes `Box.<name>`."""

    def add(fn: Any) -> Any:
        setattr(Box, name, fn)
        return fn

    return add


def attribute(name: str) -> Any:
    """Decorator: the function becomes the property `Box.<name>`."""

    def add(fn: Any) -> Any:
        setattr(Box, name, property(fn))
        return fn

    return add


# ---------------------------------------------------------------- attributes


@attribute("shape")
def shape(x: Box) -> tuple[Any, ...]:
    """The shape: ints, and boxes of traced integers for dynamic dimensions."""
    s = x.aval.shape
    return s if all(type(d) is int for d in s) else tuple(map(extents.user_size, s))


def _set_shape(x: Box, new: Any) -> None:
    """`x.shape = new`: the box becomes a reshaped view of itself."""
    if type(new) is tuple and new == x.aval.shape:
        return
    if any(
        s.origin is not None for s, _ in either.memories(x)
    ):  # the caller's array would have to change too
        error = ShapeError(
            op="shape", problem="the shape of an argument cannot be set; use x = x.reshape(...)"
        )
        refusals.add(error)  # NumPy can
        raise error
    out = reshaped(x, new)
    if out.storage is not x.storage:
        raise ShapeError(op="shape", problem="the array's memory cannot take another shape without a copy")
    x.chain, x.aval = out.chain, out.aval


Box.shape = Box.shape.setter(_set_shape)  # type: ignore[attr-defined]


@attribute("size")
def size(x: Box) -> Any:
    sizes = [d for d in shape(x) if type(d) is not int or d != 1]
    return functools.reduce(operator.mul, sizes, 1) if len(sizes) != 1 else sizes[0]


attribute("dtype")(lambda x: x.aval.dtype)
attribute("ndim")(lambda x: len(x.aval.shape))
attribute("itemsize")(lambda x: x.aval.dtype.itemsize)
attribute("nbytes")(lambda x: size(x) * x.aval.dtype.itemsize)
attribute("T")(lambda x: transposed(x, tuple(reversed(range(len(x.aval.shape))))))


@attribute("strides")
def strides(x: Box) -> tuple[int, ...]:
    """The steps in bytes, as NumPy's array of this shape has them."""
    size = x.aval.dtype.itemsize
    known = all(type(d) is int for d in shape_of(x.storage.held)[1:])
    found = _of_memory(x, memory.strides_of) if known else None
    if found is None or type(x.storage.layout) is memory.Uneven:
        raise UnknownMemberError(name="strides", aval=str(x.aval))
    return tuple(s * size for s in found)


@attribute("mT")
def matrix_transpose(x: Box) -> Box:
    """The last two axes swapped."""
    n = len(x.aval.shape)
    if n < 2:
        raise ShapeError(op="mT", problem="matrix transpose needs at least two dimensions")
    return transposed(x, (*range(n - 2), n - 1, n - 2))


@attribute("real")
def real_part(x: Box) -> Any:
    return _part(x, views.RealPart()) if x.aval.dtype.kind == "c" else int_like(x) if x.weak else x


def frozen(array: np.ndarray) -> np.ndarray:
    """A view that can't be written."""
    view = array[...]
    view.flags.writeable = False
    return view


@attribute("imag")
def imag_part(x: Box) -> Any:
    if x.aval.dtype.kind == "c":
        return _part(x, views.ImagPart())
    zeros = NUMPY_TO_TRACEJIT[np.zeros_like](int_like(x) if x.weak else x)
    if x.scalar or x.weak:
        return box(zeros.read(), x.weak)
    return indexing.view_of(zeros, (placed.ReadOnly(lambda value: value, frozen),), x.aval.shape)


def _set_part(part: Any) -> Any:
    def write(x: Box, value: Any) -> None:
        part(x)[...] = value

    return write


Box.real = Box.real.setter(_set_part(real_part))  # type: ignore[attr-defined]
Box.imag = Box.imag.setter(_set_part(imag_part))  # type: ignore[attr-defined]


def _part(x: Box, view: Any) -> Box:
    """A view of the real or imaginary parts; a value of its own for scalars."""
    out = Box(x.storage, (*x.chain, view), x.aval.with_dtype(dtypes.real_part_dtype(x.aval.dtype)), x.weak)
    return wrap(out.read(), x.weak) if x.scalar else out


class Flat:
    """`x.flat`: reading and writing by flat position, iteration."""

    __slots__ = ("_x",)

    def __init__(self, x: Box) -> None:
        self._x = x

    def __getitem__(self, index: Any) -> Any:
        return self.vector()[index].copy()

    def __setitem__(self, index: Any, value: Any) -> None:
        x = self._x
        flat = box(raw(self.vector()))
        flat[index] = value
        x[...] = reshaped(flat, x.aval.shape)

    def copy(self) -> Box:
        """All elements, in an array of their own."""
        return self.vector().copy()

    def vector(self) -> Box:
        """All elements side by side."""
        return reshaped(self._x, (-1,))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.vector())

    def __len__(self) -> int:
        return size(self._x)


def _compared(compare: Callable[[Any, Any], Any]) -> Callable[[Flat, Any], Any]:
    """A comparison of `x.flat`, as one of the vector of its elements."""
    return lambda self, other: compare(self.vector(), other.vector() if type(other) is Flat else other)


for _compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
    setattr(Flat, f"__{_compare.__name__}__", _compared(_compare))
attribute("flat")(Flat)


def _set_flat(x: Box, value: Any) -> None:
    """`x.flat = value`: the values in C order, from the first again where they end."""
    Flat(x)[:] = NUMPY_TO_TRACEJIT[np.resize](value, (size(x),))


Box.flat = Box.flat.setter(_set_flat)  # type: ignore[attr-defined]


# ---------------------------------------------------------------- views


def transposed(x: Box, order: tuple[int, ...]) -> Box:
    """A view with the axes in another order."""
    if order == tuple(range(len(order))):
        return x if x.scalar or x.weak else indexing.view_of_all(x)
    region = x.chain[-1] if x.chain and type(x.chain[-1]) is views.Region else None
    head = x.chain[:-1] if region else x.chain
    region = (region or views.Region.whole(x.aval.shape)).permuted(order)
    return indexing.view_of(x, (*head, region), tuple(x.aval.shape[n] for n in order))


def reshaped(x: Box, new: Any) -> Box:
    """A view in another shape where NumPy gives one, else a copy. One size may be -1."""
    old = x.aval.shape
    target = reshape_target(old, new)
    if target == old:
        return Box(x.storage, x.chain, x.aval, scalar=True) if x.scalar else indexing.view_of_all(x)
    if not all(type(d) is int for d in (*old, *target)):
        return _with_dims(x, target)
    is_view = _of_memory(x, lambda base, layout, chain: memory.reshape_is_view(base, layout, chain, target))
    if is_view:
        view = views.Reshaped(old, target)
        return indexing.view_of(x, (*x.chain, view), target)
    flat = ops.shape.reshape(x.read(), shape=target)
    return indexed_copy(flat) if is_view is not None else either.copied(x, flat)


def _of_memory(x: Box, question: Callable[..., Any]) -> Any:
    """What `question(shape of the base, layout, chain)` says of each array that `x` may be; None if not the same."""
    answers = []
    for storage, chain in either.memories(x):
        storage.layout_read = True
        answers.append(question(shape_of(storage.value), storage.layout, chain))
    return answers[0] if all(a == answers[0] for a in answers) else None


def _known(answer: Any) -> Any:
    if answer is None:
        raise ChosenArrayError()
    return answer


def is_contiguous(x: Box, order: str) -> bool:
    """Whether NumPy's array would lie in memory without gaps in order 'C' or 'F'."""
    return _known(_of_memory(x, functools.partial(_is_contiguous, order)))


def _is_contiguous(order: str, *place: Any) -> bool:
    return memory.is_contiguous(*place, order=order)


def memory_order(x: Box) -> tuple[int, ...]:
    """The axes as NumPy's order 'K' goes through them."""
    plain = tuple(range(x.aval.ndim))
    return _known(_of_memory(x, lambda *place: memory.memory_order(*place) or plain))


def in_fortran_order(x: Box) -> bool:
    """Whether NumPy's array would lie in memory in Fortran's order and not in C's."""
    return _known(_of_memory(x, memory.in_fortran_order))


def indexed_copy(value: Any) -> Box:
    """A new array (never a NumPy-like scalar) with a raw value."""
    out = box(value)
    out.scalar = False
    return out


def _with_dims(x: Box, target: tuple[Any, ...]) -> Box:
    """Reshape with dynamic dimensions. Sizes 1 may come and go in any view; other changes are views of whole arrays."""
    old = x.aval.shape
    if [d for d in old if d != 1] != [d for d in target if d != 1]:
        if x.chain or x.storage.layout is not None or isinstance(x.storage, either.Either):
            whole = indexed_copy(x.read())  # where the extents are 0 or 1, NumPy may give a view
            return either.copied(x, indexing.view_of(whole, (views.Reshaped(old, target),), target).read())
        x.storage.layout_read = True
        return indexing.view_of(x, (views.Reshaped(old, target),), target)
    items: list[Any] = [("at", 0) if d == 1 and type(d) is int else ("all",) for d in old]
    chain = indexing.views_of(x.chain, old, items)
    kept = indexing.view_of(x, chain)
    items = [("new",) if type(d) is int and d == 1 else ("all",) for d in target]
    return indexing.view_of(kept, indexing.views_of(chain, kept.aval.shape, items))


def reshape_target(old: Any, new: Any) -> tuple[Any, ...]:
    """The new shape with -1 replaced. Raises ShapeError if the sizes differ."""
    dims = extents.sequence(new)
    numbers = [extents.number(d) for d in dims]
    by_var = {id(d.var): d for d in old if type(d) is not int}
    out = [n if type(n) is int else by_var.get(id(n), n) for n in numbers]
    if by_var or not all(type(n) is int for n in out):
        return lengths.reshape_target(
            tuple(old), [extents.to_dim(d, None) if isinstance(d, Value) else d for d in out]
        )
    else:
        total = int(np.prod(old, dtype=int))
        known = int(np.prod([n for n in out if n != -1], dtype=int))
        if -1 in out and known and total % known == 0 and out.count(-1) == 1:
            out[out.index(-1)] = total // known
        if int(np.prod(out, dtype=int)) != total or any(n < 0 for n in out):
            raise ShapeError(
                op="reshape", problem=f"cannot reshape array of size {total} into shape {tuple(dims)}"
            )
    return tuple(out)


Box.__getitem__ = indexing.getitem  # type: ignore[attr-defined]
Box.__setitem__ = indexing.setitem  # type: ignore[attr-defined]


@member("__iter__")
def iterate(x: Box) -> Iterator[Any]:
    n = len_of(x, lambda: TracedIterationError(what="an array whose length is traced"))
    return (indexing.getitem(x, i) for i in range(n))


@member("__len__")
def len_of(x: Box, refusal: Callable[[], Exception] | None = None) -> int:
    if not x.aval.shape:
        raise ArgumentTypeError(name="len()", problem="of unsized object: the array is 0-d")
    n = x.aval.shape[0]
    if type(n) is int:
        return n
    var: Any = n.var  # type: ignore[union-attr]
    return extents.settled(var, refusal or (lambda: TracerIntegerError(aval=str(var.aval))))


# ---------------------------------------------------------------- NumPy's protocols


@member("__array__")
def _array(x: Box, dtype: Any = None, copy: Any = None) -> np.ndarray:
    value = x.read()
    if isinstance(value, Value):
        error = TracerArrayError(aval=str(x.aval))
        error.traced = (value,) if not x.aval.shape and x.aval.dtype.kind in "bi" else ()
        raise error
    return np.array(value, dtype)


@member("__array_ufunc__")
def _array_ufunc(x: Box, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    fn = NUMPY_TO_TRACEJIT.get(ufunc)
    if fn is None:
        raise UnsupportedFunctionError(name=f"{ufunc.__name__}")
    return fn(*inputs, **kwargs) if method == "__call__" else getattr(fn, method)(*inputs, **kwargs)


@member("__array_function__")
def _array_function(x: Box, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    fn = NUMPY_TO_TRACEJIT.get(func)
    if fn is None:
        raise UnsupportedFunctionError(name=f"{func.__module__}.{func.__name__}".replace("._core", ""))
    return fn(*args, **kwargs)


Box.__array_priority__ = 100
