"""Builtins that the functions' source calls by name, for traced values."""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import control, dtypes, ops
from tracejit.control.regions.staging import convert
from tracejit.frontend.lists import lookups, seen, tables, wholes
from tracejit.frontend.lists.buffers import Buffer
from tracejit.frontend.lists.columns import Columns
from tracejit.frontend.lists.seen import View
from tracejit.frontend.raw import made
from tracejit.frontend.rewrite.blocks.decisions import capturing
from tracejit.frontend.rewrite.hooks import keys
from tracejit.frontend.rewrite.hooks.folds import all_, any_, over
from tracejit.frontend.rewrite.hooks.iterables import enumerate_, is_unknown, range_, reversed_, zip_
from tracejit.frontend.rewrite.hooks.predicates import asked, length_of, need_select, raw_truth, truth
from tracejit.frontend.shadows.growing import Growing
from tracejit.frontend.text import shown
from tracejit.frontend.text.deferred import Text, is_text, known, length
from tracejit.frontend.text.deferred import contains as contained
from tracejit.numpy.boxes import extents, numbers
from tracejit.numpy.boxes.conversions import class_name, class_of
from tracejit.numpy.boxes.operators import rounded
from tracejit.numpy.boxes.rows import run
from tracejit.numpy.boxes.unsure import is_unsure, unsure
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.numpy.fitting import judge_shape
from tracejit.numpy.operands import dtype_of, raw
from tracejit.tracing import Box, box


def builtin(f: Any) -> Any:
    """What traced code calls where its source says `f(…)`."""
    return f if capturing() is None else FORMS.get(f, f) if isinstance(f, _HASHED) else f


def _is_number(x: Any) -> bool:
    """Whether `x` is a traced number, which Python's conversions don't know."""
    return type(x) is Box and x.aval.is_static and x.aval.size == 1 and extents.known(x.read()) is None


def _scalar(x: Box, take: Any) -> Any:
    """The raw number that `take` makes of an array. Raises what it raises for one of this shape."""
    judge_shape(take, x)
    raw = x.read()
    return ops.shape.squeeze(raw, dimensions=tuple(range(x.aval.ndim))) if x.aval.shape else raw


def int_(*args: Any, **kwargs: Any) -> Any:
    """`int`, which cuts the fraction off."""
    if len(args) != 1 or kwargs or not _is_number(args[0]) or dtypes.is_complex(args[0].aval.dtype):
        return int(*(known(x, "`int`") for x in args), **kwargs)  # of a text in a base
    number = _scalar(args[0], int)
    return box(numbers.to_int(number), weak=True)


def float_(*args: Any) -> Any:
    """`float`."""
    if len(args) != 1 or not _is_number(args[0]) or dtypes.is_complex(args[0].aval.dtype):
        return float(*args)
    return box(convert(_scalar(args[0], float), dtypes.float64), weak=True)


def complex_(*args: Any, **kwargs: Any) -> Any:
    """`complex`, of one or two numbers."""
    if kwargs or not any(map(_is_number, args)):
        return complex(*args, **kwargs)
    parts = [
        convert(_scalar(x, complex) if type(x) is Box else np.asarray(x)[()], np.dtype(complex)) for x in args
    ]
    out = (
        parts[0]
        if len(parts) == 1
        else ops.arithmetic.add(parts[0], ops.arithmetic.mul(parts[1], np.complex128(1j)))
    )
    return box(out, weak=True)


def bool_(*args: Any) -> Any:
    """`bool`."""
    args = tuple(map(asked, args))
    if len(args) != 1 or not _is_number(args[0]):
        return bool(*args)
    return box(raw_truth(args[0]), weak=True)


def len_(x: Any) -> Any:
    """`len`, which may be traced."""
    if type(x) is Text:
        return length(x)
    if type(x) is Box and x.aval.shape and type(x.aval.shape[0]) is not int:
        return x.shape[0]
    if isinstance(x, (Growing, Columns)):
        return x.tj_count()
    out = length_of(x)
    return len(x) if out is None else out


def list_(*args: Any) -> Any:
    """`list`."""
    xs = seen.as_list(args[0]) if len(args) == 1 else None
    return xs.tj_part(0, xs.tj_number()) if type(xs) is Buffer else list(*args)


def round_(x: Any, ndigits: Any = None) -> Any:
    """`round`: to a Python integer, or to digits."""
    if not _is_number(x) or class_of(x) is np.ndarray:
        return round(x) if ndigits is None else round(x, ndigits)
    return rounded(x, ndigits)


def is_long(x: Any) -> bool:
    """Whether `x` has too many numbers to take them one by one."""
    return type(x) is Box and x.aval.ndim == 1 and (type(x.aval.shape[0]) is not int or x.aval.shape[0] > 8)


def sum_(xs: Any, /, start: Any = 0) -> Any:
    """`sum`: one after the other, in the order of the items."""
    xs = seen.as_list(xs, ordered=False)
    if type(xs) is Buffer:
        return wholes.total(xs, start)
    if (whole := run(xs)) is not None:
        return over_rows(lambda c, v: c + v, xs[0] + start, whole)
    if type(xs) is Box and xs.aval.ndim == 1 and not xs.aval.is_static:
        first = NUMPY_TO_TRACEJIT[np.zeros_like](xs, shape=()) + start
        total = control.structured.loops.scan(lambda c, v: (c + v, None), first, xs)[0]
        if not numbers.is_python(start):
            return total
        none = ops.compare.eq(xs.shape[0].read(), 0)  # then it is `start`
        return unsure(total.read(), none, first.aval.dtype != dtype_of(raw(start)))
    if not is_long(xs):
        return sum(xs, start)
    return control.structured.loops.scan(lambda c, v: (c + v, None), xs[0] + start, xs[1:])[0]


def over_rows(step: Callable[[Any, Any], Any], first: Any, whole: Box) -> Any:
    """`first`, combined by `step` with all rows of `whole` but its first; a Python number stays one."""
    total = control.structured.loops.scan(lambda c, v: (step(c, v), None), first, whole[1:])[0]
    return box(total.read(), weak=True) if first.weak else total


def sorted_(xs: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
    """`sorted`, of numbers of one kind: which kind an item of the result has would depend on values otherwise. The
    order that Python gives NaN has no rule."""
    xs = seen.as_list(xs, ordered=False)
    if type(xs) is Buffer:
        return xs.tj_ordered(key, reverse)
    items = list(xs)
    of_python = {numbers.is_python(x) for x in items}
    arrays = any(map(is_array_of_none, items))  # whose order is one of the objects themselves
    if (
        key is not None
        or not need_select(items)
        or len(of_python) != 1
        or arrays
        or any(map(is_unsure, items))
    ):
        return sorted(items, key=key, reverse=reverse)
    step = -1 if reverse else 1  # equal items keep their order, backwards too
    whole = NUMPY_TO_TRACEJIT[np.stack](items)
    if of_python == {True} and dtypes.is_complex(whole.dtype):
        return sorted(items, reverse=reverse)  # raises
    if dtypes.is_inexact(whole.dtype):
        numbers.leave_if(
            NUMPY_TO_TRACEJIT[np.isnan](whole).any().read(), "the order of NaN and other numbers"
        )
    ordered = list(NUMPY_TO_TRACEJIT[np.sort](whole[::step], kind="stable")[::step])
    return [box(x.read(), weak=True) for x in ordered] if of_python == {True} else ordered


def contains(item: Any, held: Any) -> Any:
    """`item in container`, a traced truth value where it depends on traced values."""
    container: Any = held
    if type(held) is Box and not hasattr(class_of(held), "__contains__"):
        raise TypeError(f"argument of type {class_name(held)!r} is not iterable")
    held = held.tj_holder() if type(held) is View else held
    if type(held) is Buffer:
        return any_(held.tj_equal(item))
    if type(held) is tables.Table:
        return held.tj_has(item)
    if type(held) is Text and is_text(item):
        return contained(item, held)
    if (type(container) is Box and is_unknown(container)) or (is_unknown(item) and _is_array(container)):
        return any_((container == item).reshape(-1))
    if type(container) is range and is_unknown(item) and not item.aval.shape:
        if not container:
            return False
        inside = (item >= min(container[0], container[-1])) & (item <= max(container[0], container[-1]))
        return inside & ((item - container.start) % container.step == 0)
    if type(container) in _COLLECTIONS and (is_unknown(item) or any(map(is_unknown, container))):
        equal = lambda x: True if x is item else x == item  # noqa: E731
        if all(map(_acts_not, (item, *container))):
            return any_([equal(x) for x in container])
        return over(any, container, equal)  # a comparison of the user's, which may not be made
    if (found := lookups.has(item, container)) is not None:
        return any_(found)
    method = getattr(type(container), "__contains__", None)
    if isinstance(method, types.FunctionType):
        # The user's method may give a traced value; Python's operator would need to know it.
        found = asked(method(container, item))
        is_known = type(found) is not Box or truth(found) is not None
        return bool(found) if is_known else box(raw_truth(found), weak=True)
    return (keys.key(item) if id(type(container)) in keys.HASHED else item) in container


def map_(f: Any, /, *iterables: Any) -> Any:
    """`map`, by a builtin such as `float` or by another function."""
    return map(builtin(f), *iterables)


def is_array_of_none(x: Any) -> bool:
    """Whether it is a traced array without dimensions, and no number."""
    return type(x) is Box and not (x.scalar or x.aval.shape)


def _acts_not(x: Any) -> bool:
    """Whether nobody can tell whether a number or text, or several of them, was compared."""
    if type(x) in (list, tuple):
        return all(map(_acts_not, x))
    return type(x) in _COMPARED or isinstance(x, (np.generic, np.ndarray))


_COMPARED = frozenset((Box, Text, bool, int, float, complex, str, bytes, type(None)))
_COLLECTIONS = (list, tuple, type({}.values()))


def _is_array(x: Any) -> bool:
    return type(x) is Box or isinstance(x, np.ndarray)


_HASHED = (type, type(len))
FORMS: dict[Any, Any] = {
    builtins.int: int_,
    builtins.float: float_,
    builtins.complex: complex_,
    builtins.bool: bool_,
    builtins.len: len_,
    builtins.list: list_,
    builtins.set: keys.set_,
    builtins.frozenset: keys.frozenset_,
    builtins.dict: keys.dict_,
    builtins.round: round_,
    builtins.sum: sum_,
    builtins.any: any_,
    builtins.all: all_,
    builtins.range: range_,
    builtins.zip: zip_,
    builtins.enumerate: enumerate_,
    builtins.reversed: reversed_,
    builtins.str: shown.str_,
    builtins.repr: shown.repr_,
    builtins.format: shown.format_,
    builtins.hex: shown.hex_,
    builtins.oct: shown.oct_,
    builtins.bin: shown.bin_,
    builtins.chr: shown.chr_,
    builtins.ascii: shown.ascii_,
    builtins.map: map_,
    **made.FORMS,
}
