"""NumPy's ufuncs: callable, with `reduce`, `accumulate`, `outer` and `at`; dtypes by NumPy's own rules."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ArgumentError, ArgumentTypeError, UnsupportedFunctionError
from tracejit.numpy import elementwise as ew
from tracejit.numpy.boxes import extents
from tracejit.numpy.dispatch import (
    NUMPY_TO_TRACEJIT,
    broadcast_operands,
    cast,
    check_output,
    convert,
    dtype_of,
    filled,
    has_box,
    kind_of,
    plain,
    publish,
    raw,
    select_where,
    shape_of,
    store,
)
from tracejit.tracing import Box, wrap

_WEAK_RESULT = {"b", "i", "f", "c"}
#: Integer arithmetic on 0-d values that extents are made of; equal sums are one value (numpy.extents).
_EXTENT_OPS = {"add", "subtract", "multiply", "floor_divide", "minimum", "maximum"}


@functools.lru_cache(maxsize=8192)
def loop_dtypes(ufunc: np.ufunc, kinds: tuple[Any, ...], dtype: Any = None) -> tuple[np.dtype, ...]:
    """The dtypes of the loop NumPy would run, operands then results."""
    kinds = tuple(dtypes.bool_ if k is bool else k for k in kinds)
    if all(isinstance(k, type) for k in kinds):  # Python scalars only; NumPy would compare such as objects
        kinds = tuple(dtypes.canonical(k) for k in kinds)
    options = {} if dtype is None else {"signature": (None,) * ufunc.nin + (dtype,) * ufunc.nout}
    return ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout), **options)  # type: ignore[arg-type]


class Ufunc:
    """A traced ufunc. `np` is NumPy's; `fn` takes raw operands of the loop's dtypes, of one shape or 0-d."""

    __slots__ = ("__dict__", "fn", "nin", "nout", "np")

    def __init__(self, np_ufunc: np.ufunc, fn: Callable[..., Any]) -> None:
        self.np = np_ufunc
        self.fn = fn
        self.nin = np_ufunc.nin
        self.nout = np_ufunc.nout
        self.__name__ = np_ufunc.__name__
        self.__doc__ = np_ufunc.__doc__

    def __repr__(self) -> str:
        return f"<tracejit ufunc {self.__name__!r}>"

    @property
    def identity(self) -> Any:
        return self.np.identity

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not (has_box(args) or (kwargs and has_box(kwargs.values()))):
            return plain(self.np, args, kwargs)
        return (
            self.traced(*args, **kwargs) if kwargs or len(args) != self.nin else self._wrap(self.apply(args))
        )

    def traced(
        self,
        *args: Any,
        out: Any = None,
        where: Any = True,
        dtype: Any = None,
        casting: str = "same_kind",
        **_: Any,
    ) -> Any:
        """The call with options, as NumPy's ufuncs take them (`order` and `subok` mean nothing here)."""
        if len(args) > self.nin:
            args, out = args[: self.nin], args[self.nin :]
        if len(args) < self.nin:
            raise ArgumentTypeError(name=self.__name__, problem=f"takes {self.nin} operands, not {len(args)}")
        results = self.apply(args, dtype)
        results = results if self.nout > 1 else (results,)
        outs = (None,) * self.nout if out is None else out if type(out) is tuple else (out,)
        mask = None if where is True else where
        written = [self._finish(r, o, mask, casting) for r, o in zip(results, outs, strict=True)]
        return tuple(written) if self.nout > 1 else written[0]

    def _finish(self, result: Any, out: Any, mask: Any, casting: str) -> Any:
        if out is not None:
            return store(out, result, self.__name__, casting, mask)
        if mask is None:
            return wrap(result)
        old = filled(0, dtype_of(result), shape_of(result))  # NumPy leaves garbage there
        return wrap(select_where(mask, result, old))

    def _wrap(self, result: Any, weak: bool = False) -> Any:
        return tuple(wrap(r, weak) for r in result) if self.nout > 1 else wrap(result, weak)

    def apply(self, args: tuple[Any, ...], dtype: Any = None) -> Any:
        """The raw result(s) on operands of any kind."""
        loop = loop_dtypes(
            self.np, tuple(map(kind_of, args)), None if dtype is None else dtypes.canonical(dtype)
        )
        raws = [convert(a, d) for a, d in zip(args, loop, strict=False)]
        if len(raws) > 1:
            raws = broadcast_operands(self.__name__, raws)
            if loop[0].kind == "i" and self.__name__ in _EXTENT_OPS and not any(map(shape_of, raws)):
                return extents.memo(self.__name__, self.fn, *raws)
        result = self.fn(*raws)
        if self.nout > 1:
            return tuple(cast(r, d) for r, d in zip(result, loop[self.nin :], strict=True))
        return cast(result, loop[-1])

    def operator(self, *args: Any) -> Any:
        """The result of a Python operator: weak if all operands are."""
        if all(type(a) is not Box or a.weak for a in args) and not has_arrays(args):
            args = tuple(int_like(a) for a in args) if self.__name__ not in _BOOLEAN else args
            return self._wrap(self.apply(args), weak=True)
        return self._wrap(self.apply(args))

    # ------------------------------------------------------------ methods

    def reduce(
        self, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False, **kw: Any
    ) -> Any:
        """`ufunc.reduce` along one axis, several (a tuple) or all (None)."""
        if not has_box((a, out, *kw.values())):
            return self.np.reduce(a, axis=axis, dtype=dtype, out=out, keepdims=keepdims, **kw)
        fn = NUMPY_TO_TRACEJIT.get(_REDUCTIONS.get(self.__name__))
        options = {
            k: v for k, v in {"dtype": dtype, "out": out, **kw}.items() if v is not None and k != "order"
        }
        if fn is not None:
            return fn(a, axis=axis, keepdims=keepdims, **options)
        return self._fold(a, axis, keepdims)[-1]

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """`ufunc.accumulate` along `axis`."""
        if not has_box((array, out)):
            return self.np.accumulate(array, axis, dtype, out)
        fn = _CUMULATIVE.get(self.__name__)
        if fn is None:
            parts = self._fold(array, axis, True)
            return NUMPY_TO_TRACEJIT[np.concatenate](parts, axis=axis)
        x = raw(array)
        kind = dtypes.canonical(dtype) if dtype is not None else loop_dtypes(self.np, (dtype_of(x),) * 2)[-1]
        if dtype is None and self.__name__ in ("add", "multiply"):
            kind = np.dtype(self.np.reduce(np.zeros(1, kind)).dtype)
        result = fn(cast(x, kind), axis=axis % len(shape_of(x)), reverse=False)
        return wrap(result) if out is None else store(out, result, self.__name__)

    def reduceat(self, a: Any, *args: Any, **kwargs: Any) -> Any:
        """`ufunc.reduceat`; its segments are not implemented for traced values."""
        if not has_box((a, *args)):
            return self.np.reduceat(a, *args, **kwargs)
        raise UnsupportedFunctionError(name=f"numpy.{self.__name__}.reduceat")

    def outer(self, a: Any, b: Any, **kwargs: Any) -> Any:
        """`ufunc.outer`: all pairs of elements."""
        if not has_box((a, b)):
            return self.np.outer(a, b, **kwargs)
        x, y = raw(a), raw(b)
        n = len(shape_of(x))
        wide = (
            ops.shape.expand_dims(x, dimensions=tuple(range(n, n + len(shape_of(y))))) if shape_of(y) else x
        )
        return self(wrap(wide), wrap(y), **kwargs)

    def at(self, a: Any, indices: Any, b: Any = None) -> None:
        """`ufunc.at`: unbuffered in-place application; repeated indices accumulate."""
        if not has_box((a, indices, b)):
            return self.np.at(a, indices, b) if self.nin > 1 else self.np.at(a, indices)
        method = _AT.get(self.__name__)
        if type(a) is not Box:
            store(a, raw(b if b is not None else indices), self.__name__)  # refuses
        if self.nin == 1:
            a[indices] = self(a[indices])
            return None
        if method is None:
            raise ArgumentError(name=f"np.{self.__name__}.at", problem="has no traced form")
        check_output(self.__name__, loop_dtypes(self.np, (kind_of(a), kind_of(b)))[-1], a.aval.dtype)
        a[...] = getattr(a.at[indices], method)(b)
        return None

    def _fold(self, a: Any, axis: Any, keepdims: bool) -> list[Any]:
        """The successive results along an axis, one application a step."""
        x = a if type(a) is Box else wrap(raw(a))
        if type(axis) is not int:
            raise ArgumentError(name=f"np.{self.__name__}.reduce", problem="one axis only")
        (n,) = (extents.number(extents.of_dim(shape_of(x)[axis])),)
        index: list[Any] = [slice(None)] * len(shape_of(x))
        out = []
        for i in range(n):
            index[axis] = slice(i, i + 1) if keepdims else i
            part = x[tuple(index)]
            out.append(self(out[-1], part) if out else part)
        return out


_BOOLEAN = {"bitwise_and", "bitwise_or", "bitwise_xor", "equal", "not_equal", "logical_not"}
_REDUCTIONS: dict[str, Any] = {
    "add": np.sum,
    "multiply": np.prod,
    "maximum": np.max,
    "minimum": np.min,
    "logical_and": np.all,
    "logical_or": np.any,
}
_CUMULATIVE: dict[str, Any] = {
    "add": ops.cumulative.cumsum,
    "multiply": ops.cumulative.cumprod,
    "maximum": ops.cumulative.cummax,
    "minimum": ops.cumulative.cummin,
}
_AT = {"add": "add", "subtract": "subtract", "multiply": "multiply", "maximum": "max", "minimum": "min"}


def has_arrays(args: tuple[Any, ...]) -> bool:
    return any(isinstance(a, (np.ndarray, np.generic, list, tuple)) for a in args)


def int_like(x: Any) -> Any:
    """A weak boolean as a weak integer, which is what Python's operators make of it."""
    if type(x) is bool:
        return int(x)
    if type(x) is Box and x.aval.dtype.kind == "b":
        return wrap(cast(x.read(), dtypes.int64), weak=True)
    return x


#: name -> our ufunc.
TABLE: dict[str, Ufunc] = {}

for _name, _fn in ew.TABLE.items():
    _np = getattr(np, _name, None)
    if isinstance(_np, np.ufunc):
        TABLE[_name] = publish(_np, NUMPY_TO_TRACEJIT.get(_np) or Ufunc(_np, _fn), _name)  # type: ignore[assignment]
