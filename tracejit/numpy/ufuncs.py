"""NumPy's ufuncs: callable, with their options and methods; dtypes by NumPy's own rules."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.errors import ArgumentTypeError
from tracejit.ir.seen import asked
from tracejit.numpy import elementwise as ew
from tracejit.numpy import ufunc_methods as methods
from tracejit.numpy.boxes import extents, numbers, unsure
from tracejit.numpy.boxes.layouts import as_numpys
from tracejit.numpy.boxes.masking import selected
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT, plain, publish
from tracejit.numpy.eager import by_recipe
from tracejit.numpy.operands import (
    SUBCLASSES,
    arrays_of,
    broadcast_operands,
    caller_of,
    cast,
    convert,
    dtype_of,
    filled,
    has_box,
    kind_of,
    select_where,
    shape_of,
    store,
)
from tracejit.numpy.options import NO_OUTPUT, order_of
from tracejit.numpy.times import arithmetic
from tracejit.tracing import NUMPYS, ROOTS, STATE, Box, caller, is_tracing, wrap

#: What NumPy may be given at once where nothing is traced.
_PLAIN = frozenset((np.ndarray, np.float64, np.float32, np.int64, np.bool_, float, int, complex, bool))
#: Integer arithmetic on 0-d values that extents are made of; equal sums are one value (numpy.extents).
_EXTENT_OPS = {"add", "subtract", "multiply", "floor_divide", "minimum", "maximum"}


@functools.lru_cache(maxsize=8192)
def loop_dtypes(
    ufunc: np.ufunc, kinds: tuple[Any, ...], dtype: Any = None, casting: Any = None
) -> tuple[np.dtype, ...]:
    """The dtypes of the loop NumPy would run, operands then results; `dtype` may be a whole signature."""
    kinds = tuple(dtypes.bool_ if k is bool else k for k in kinds)
    if all(isinstance(k, type) for k in kinds):  # Python scalars only; NumPy would compare such as objects
        kinds = tuple(dtypes.canonical(k) for k in kinds)
    options: dict[str, Any] = {} if casting is None else {"casting": casting}
    if dtype is not None:
        whole = type(dtype) in (tuple, str)
        options["signature"] = dtype if whole else (None,) * ufunc.nin + (dtype,) * ufunc.nout
    return ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout), **options)  # type: ignore[arg-type]


class Ufunc:
    """A traced ufunc. `np` is NumPy's; `fn` takes raw operands of the loop's dtypes, of one shape or 0-d."""

    __slots__ = ("__dict__", "fn", "nin", "nout", "np", "smooth")

    def __init__(self, np_ufunc: np.ufunc, fn: Callable[..., Any]) -> None:
        self.np = np_ufunc
        self.fn = fn
        self.nin = np_ufunc.nin
        self.nout = np_ufunc.nout
        #: Whether it may have recipes: its results may have derivatives, and it looks at no value.
        self.smooth = self.nout == 1 and "d->d" in " ".join(np_ufunc.types) and fn is not ew.power
        self.__name__: str = np_ufunc.__name__
        self.__doc__ = f"`numpy.{np_ufunc.__name__}`, for traced values too."

    def __repr__(self) -> str:
        told = is_tracing() and asked.is_told(sys._getframe(1))
        return repr(self.np) if told else f"<tracejit ufunc {self.__name__!r}>"

    @property
    def identity(self) -> Any:
        return self.np.identity

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            if STATE.trace is ROOTS[0]:
                for a in args:
                    if type(a) not in _PLAIN:
                        break
                else:
                    return self.np(*args)
            if STATE.numbers is not None:
                STATE.numbers.check(self, args)
            if self.smooth and len(args) == self.nin:
                result = by_recipe(self, args, False)
                if result is not None:
                    return result
        if not (has_box(args) or (kwargs and has_box(kwargs.values()))):
            return plain(self.np, args, kwargs)
        if SUBCLASSES and (caller := caller_of((*args, *kwargs.values()))) is not None:
            return caller(self.np, self, args, kwargs)
        args = arrays_of(args)
        if any(map(unsure.is_unsure, args)):
            args = unsure.alike(self.np, args)
        if not kwargs and len(args) == self.nin:
            kept = selected.elementwise(self, args)
            if kept is not None:
                return kept
        if kwargs or len(args) != self.nin:
            return self.traced(*args, **kwargs)
        return as_numpys(self.np, args, {}, self._wrap(self.apply(args)))

    def traced(
        self,
        *args: Any,
        out: Any = np._NoValue,  # type: ignore[attr-defined]
        where: Any = True,
        dtype: Any = None,
        casting: str = "same_kind",
        signature: Any = None,
        order: Any = "K",
        subok: bool = True,
    ) -> Any:
        """The call with options, as NumPy's ufuncs take them (`subok` changes nothing here)."""
        order_of(order)
        named = out is not np._NoValue
        if len(args) > self.nin:
            if named or len(args) > self.nin + self.nout:
                raise ArgumentTypeError(name=self.__name__, problem="got `out` twice, or too many operands")
            args, out = args[: self.nin], args[self.nin :]
        if len(args) < self.nin:
            raise ArgumentTypeError(name=self.__name__, problem=f"takes {self.nin} operands, not {len(args)}")
        out = out if named or type(out) is tuple else None
        if where is not True and not named and (out is None or not any(x is not None for x in out)):
            for message in NO_OUTPUT:
                caller.warn(message, UserWarning)
        results = self.apply(args, dtype if signature is None else signature, casting)
        results = results if self.nout > 1 else (results,)
        outs = (None,) * self.nout if out is None else out if type(out) is tuple else (out,)
        if len(outs) < self.nout:
            outs = (*outs, *(None,) * (self.nout - len(outs)))
        mask = None if where is True else where
        written = [self._finish(r, o, mask, casting) for r, o in zip(results, outs, strict=True)]
        done = tuple(written) if self.nout > 1 else written[0]
        named = {} if mask is None else {"where": mask}
        made = tuple(r if o is None else None for r, o in zip(written, outs, strict=True))
        as_numpys(self.np, args, {**named, "order": order}, made, order not in ("K", "C"))
        return done

    def _finish(self, result: Any, out: Any, mask: Any, casting: str) -> Any:
        if out is not None:
            return store(out, result, self.__name__, casting, mask)
        if mask is None:
            return wrap(result)
        old = filled(0, dtype_of(result), shape_of(result))  # NumPy leaves garbage there
        return wrap(select_where(mask, result, old))

    def _wrap(self, result: Any, weak: int = False) -> Any:
        return tuple(wrap(r, weak) for r in result) if self.nout > 1 else wrap(result, weak)

    def loop(self, *kinds: Any) -> tuple[np.dtype, ...]:
        """The dtypes of operands and results on operands of these kinds."""
        return loop_dtypes(self.np, kinds)

    def result_dtype(self, *kinds: Any) -> np.dtype:
        """The dtype of the (last) result on operands of these kinds."""
        return loop_dtypes(self.np, kinds)[-1]

    def apply(self, args: tuple[Any, ...], dtype: Any = None, casting: Any = None) -> Any:
        """The raw result(s) on operands of any kind. `dtype`: of the results, or a signature."""
        if dtype is not None and type(dtype) is not tuple and not (type(dtype) is str and "->" in dtype):
            dtype = dtypes.canonical(dtype)
        kinds = tuple(map(kind_of, args))
        if dtype is None and int in kinds and self.__name__ in _COMPARISONS:
            kinds = _compared(args, kinds)
        loop = loop_dtypes(self.np, kinds, dtype, casting)
        beyond = self._beyond(args, loop) if int in map(type, args) else None
        if beyond is not None:
            return beyond
        raws = [convert(a, d) for a, d in zip(args, loop, strict=False)]
        fn = ew.power_of_one if self.fn is ew.power and ew.is_one(*raws) else self.fn
        if len(raws) > 1:
            raws = broadcast_operands(self.__name__, raws)
            if loop[0].kind == "i" and self.__name__ in _EXTENT_OPS and not any(map(shape_of, raws)):
                return extents.memo(self.__name__, self.fn, *raws)
        if dtypes.TIMES and any(d.kind in "mM" for d in loop):
            return arithmetic.applied(self.__name__, loop, raws)
        result = fn(*raws)
        if self.nout > 1:
            return tuple(cast(r, d) for r, d in zip(result, loop[self.nin :], strict=True))
        return cast(result, loop[-1])

    def _beyond(self, args: tuple[Any, ...], loop: tuple[np.dtype, ...]) -> Any:
        """A comparison with a Python integer that the operand's dtype does not hold: the same everywhere."""
        d = loop[0]
        if self.__name__ not in _COMPARISONS or d.kind not in "iu" or loop[-1].kind != "b":
            return None
        info = np.iinfo(d)
        if all(type(a) is not int or info.min <= a <= info.max for a in args):
            return None
        answer = self.np(*(a if type(a) is int else d.type(0) for a in args))
        return filled(answer, dtypes.bool_, next(shape_of(a) for a in args if type(a) is not int))

    def operator(self, *args: Any) -> Any:
        """The result of a Python operator: weak if all operands are."""
        if STATE.numbers is not None:
            STATE.numbers.check(self, args)
        if any(map(unsure.is_unsure, args)):
            known = unsure.operands(self.__name__, args)
            if known is not None:
                return unsure.mark(self.operator(*known[0]), *known[1:])
        free = self.smooth and self.__name__ in _FREE
        if free and (result := by_recipe(self, args, True)) is not None:
            return result
        python = all(map(numbers.is_python, args))
        if python:
            args = tuple(map(int_like, args)) if self.__name__ not in _BOOLEAN else args
            given = numbers.raws(self.__name__, args)
            numbers.before(self.__name__, given)
        if self.smooth and not free and (result := by_recipe(self, args, True)) is not None:
            return result
        if python:
            with np.errstate(all="ignore"):
                result = self.apply(args)
            numbers.after(self.__name__, given, result)  # type: ignore[possibly-undefined]
            return self._wrap(result, weak=True)
        kept = selected.elementwise(self.operator, args)
        if kept is not None:
            return kept
        weak = all(x.weak if type(x) is Box else type(x) in _NUMBERS for x in args)
        return as_numpys(self.np, args, {}, self._wrap(self.apply(args), NUMPYS if weak else False))

    # ------------------------------------------------------------ methods

    def reduce(self, array: Any, *args: Any, **kwargs: Any) -> Any:
        """`ufunc.reduce` along one axis, several (a tuple) or all (None)."""
        return self._method("reduce", methods.reduce, (array, *args), kwargs)

    def accumulate(self, array: Any, *args: Any, **kwargs: Any) -> Any:
        """`ufunc.accumulate` along an axis."""
        return self._method("accumulate", methods.accumulate, (array, *args), kwargs)

    def reduceat(self, array: Any, indices: Any, *args: Any, **kwargs: Any) -> Any:
        """`ufunc.reduceat`: reductions of parts of an axis."""
        return self._method("reduceat", methods.reduceat, (array, indices, *args), kwargs)

    def outer(self, a: Any, b: Any, **kwargs: Any) -> Any:
        """`ufunc.outer`: all pairs of elements."""
        return self._method("outer", methods.outer, (a, b), kwargs)

    def at(self, a: Any, indices: Any, b: Any = None) -> None:
        """`ufunc.at`: unbuffered in-place application; repeated indices accumulate."""
        if not has_box((a, indices, b)):
            return self.np.at(a, indices, b) if self.nin > 1 else self.np.at(a, indices)
        return methods.at(self, a, indices, b)

    def _method(self, name: str, traced: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if has_box((*args, *kwargs.values())):
            return as_numpys(getattr(self.np, name), args, kwargs, traced(self, *args, **kwargs))
        return getattr(self.np, name)(*args, **kwargs)


_NUMBERS = (bool, int, float, complex)
#: Operators that Python refuses no floats and complex numbers: recipes, which these have, need no checks.
_FREE = frozenset(("add", "subtract", "multiply", "negative", "positive", "absolute"))
_BOOLEAN = {"bitwise_and", "bitwise_or", "bitwise_xor", "equal", "not_equal", "logical_not"}


def int_like(x: Any) -> Any:
    """A weak boolean as a weak integer, which is what Python's operators make of it."""
    if type(x) is bool:
        return int(x)
    if type(x) is Box and x.aval.dtype.kind == "b":
        return wrap(cast(x.read(), dtypes.int64), weak=True)
    return x


def _compared(args: tuple[Any, ...], kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a comparison takes its operands for: a traced integer of Python compares with integers of any dtype, and
    need not fit in theirs."""
    if not all(k is int or (isinstance(k, np.dtype) and k.kind in "iu") for k in kinds):
        return kinds
    return tuple(x.aval.dtype if type(x) is Box and k is int else k for x, k in zip(args, kinds, strict=True))


_COMPARISONS = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}

#: name -> our ufunc.
TABLE: dict[str, Ufunc] = {}

for _name, _fn in ew.TABLE.items():
    _np = getattr(np, _name, None)
    if isinstance(_np, np.ufunc):
        TABLE[_name] = publish(_np, NUMPY_TO_TRACEJIT.get(_np) or Ufunc(_np, _fn), _name)  # type: ignore[assignment]
