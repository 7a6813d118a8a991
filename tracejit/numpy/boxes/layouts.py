"""In which order of memory new arrays lie: in that of the arrays that NumPy would have made.

Most arrays lie in C order, and nothing is done for them. Where an operand does not (a transposed array, one in
Fortran's order), NumPy's own function is asked: it is given stand-ins with axes in the same order, and the order of its
result is that of ours (`Storage.layout`). It decides what later functions give, what reshapes without a copy, and how a
result is handed to the caller. The values that programs compute are in C order all the same.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.errors import ChosenArrayError
from tracejit.numpy.boxes.memory import in_fortran_order, length, order_of_strides, strides_in, strides_of
from tracejit.numpy.boxes.sharing.either import Either, memories
from tracejit.numpy.boxes.views import Region
from tracejit.numpy.operands import shape_of
from tracejit.tracing import Box, Storage, View

Order = tuple[int, ...]
#: Elements of the largest operand up to which stand-ins have the operands' own shapes, and the sizes of others' axes.
_MOST, _SHORT = 1 << 16, 3
_STRAIGHT: list[Order | None] = [None]


def order_of(x: Box) -> Order | None:
    """The axes of `x` from the largest step in memory to the smallest; None for C order. Of a chosen array, where it is
    none of those that others know."""
    return _order_at(x.storage, x.chain) if len(x.aval.shape) > 1 else None


def orders_of(x: Box) -> list[Order | None]:
    """Those that `x` may have."""
    if type(x.storage) is Storage:
        return [order_of(x)]
    return list({_order_at(storage, chain): None for storage, chain in memories(x)})


def _order_at(storage: Storage, chain: tuple[View, ...]) -> Order | None:
    storage.order_read = True
    if storage.layout is None and all(type(v) is Region and _is_straight(v) for v in chain):
        return None
    shape = shape_of(storage.held)
    strides = strides_of(shape, storage.layout, chain)
    return order_of_strides(strides, shape_of(storage.read(chain)) if chain else shape)


def _is_straight(region: Region) -> bool:
    kept = [a for a in region.axes if a is not None]
    return all(a < b for a, b in itertools.pairwise(kept))


def lies_in(x: Box, order: Order | None) -> None:
    """Let the new array `x` lie in memory in this order of its axes, from the largest step to the smallest."""
    x.storage.layout = None if order is None else strides_in(x.aval.shape, order)


# ---------------------------------------------------------------- asking NumPy


def as_numpys(
    function: Any,
    args: Iterable[Any],
    kwargs: dict[str, Any],
    result: Any,
    ordered: bool = False,
    regular: bool = False,
) -> Any:
    """`result` of NumPy's `function`, the new arrays in it in the order of memory in which NumPy's lie. `ordered`: the
    function gives another order than C's to arrays that are in C order. `regular`: it takes
    positive definite matrices."""
    several = type(result) is not Box and isinstance(result, (tuple, list))
    laid = any(map(_is_laid, result if several else (result,)))
    if not (ordered or kwargs or laid) and all(map(_is_plain, args)):
        return result
    ordered = ordered or any(map(_is_unlike_c, args))
    given = list(_boxes((*args, *kwargs.values())) if kwargs else _boxes(args))
    choices = [orders_of(x) for x in given]
    ordered = ordered or any(x.chain and any(_still(x)) for x in given)
    if not (ordered or laid) and all(c == _STRAIGHT for c in choices):
        return result
    made = result if isinstance(result, (tuple, list)) else (result,)
    held = {id(x.storage) for x in given}
    new = [x if _is_new(x) and id(x.storage) not in held else None for x in made]
    if all(x is None for x in new) or not _can_be_asked(args, kwargs):
        return result
    if ordered and given:
        args, kwargs = _decided(args, kwargs, given[0])
    answers = [_answer(function, args, kwargs, given, o, regular) for o in itertools.product(*choices)]
    for n, x in enumerate(new):
        if x is not None:
            found = {a[n] for a in answers if len(a) > n and len(a[n]) == len(x.aval.shape)}
            if len(found) > 1:
                raise ChosenArrayError()
            order = found.pop() if found else None
            lies_in(x, None if order == tuple(range(len(order or ()))) else order)
    return result


def _decided(args: Iterable[Any], kwargs: dict[str, Any], x: Box) -> tuple[list[Any], dict[str, Any]]:
    """The arguments with "F" or "C" for the order "A", which looks for gaps in memory that stand-ins have not."""
    named = [a for a in (*args, *kwargs.values()) if type(a) is str and a in "Aa"]
    if not named:
        return list(args), kwargs
    x.storage.layout_read = True
    order = "F" if in_fortran_order(shape_of(x.storage.held), x.storage.layout, x.chain) else "C"
    return [order if a is named[0] else a for a in args], {
        k: order if a is named[0] else a for k, a in kwargs.items()
    }


def _is_laid(x: Any) -> bool:
    """Whether what a function gives lies in another order than C's, as something that it was made of did."""
    return type(x) is Box and not x.chain and x.storage.layout is not None


def _is_plain(x: Any) -> bool:
    """Whether an argument is in C order, as far as that is seen at once."""
    if type(x) is not Box:
        return type(x) is not tuple and type(x) is not list and not _is_unlike_c(x)
    if len(x.aval.shape) < 2:
        return True
    storage = x.storage
    if x.chain or type(storage) is not Storage or storage.layout is not None:
        return False
    storage.order_read = True
    return True


def _is_unlike_c(x: Any) -> bool:
    """Whether an array that is known while tracing is in another order than C's."""
    return isinstance(x, np.ndarray) and x.ndim > 1 and not x.flags.c_contiguous


def _boxes(xs: Iterable[Any]) -> Iterator[Box]:
    for x in xs:
        if type(x) is Box:
            if len(x.aval.shape) > 1:
                yield x
        elif type(x) is tuple or type(x) is list:
            yield from _boxes(x)


def _is_new(x: Any) -> bool:
    if type(x) is not Box or len(x.aval.shape) < 2 or x.chain or isinstance(x.storage, Either):
        return False
    return x.storage.origin is None


def _can_be_asked(args: Iterable[Any], kwargs: dict[str, Any]) -> bool:
    return not any(map(_is_users, (*args, *kwargs.values())))


def _still(x: Box) -> list[bool]:
    """For each axis whether it has no step in memory, as those along which an array is broadcast."""
    found = [False] * len(x.aval.shape)
    for storage, chain in memories(x):
        steps = strides_of(shape_of(storage.held), storage.layout, chain) if chain else None
        found = found if steps is None else [f or not s for f, s in zip(found, steps, strict=True)]
    return found


def _answer(
    function: Any,
    args: Iterable[Any],
    kwargs: dict[str, Any],
    given: list[Box],
    orders: Iterable[Any],
    regular: bool,
) -> list[Order]:
    """The orders of what NumPy's function gives for stand-ins of its arguments; none if it can't be asked."""
    short = any(math.prod(map(length, x.aval.shape)) > _MOST for x in given)
    stand_in = _StandIns(dict(zip(map(id, given), orders, strict=True)), short, regular).of
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = function(*map(stand_in, args), **{k: stand_in(x) for k, x in kwargs.items()})
        except Exception:  # of such values, or such sizes: the order is not known
            return []
    theirs = found if isinstance(found, (tuple, list)) else (found,)
    return [
        (order_of_strides(y.strides, y.shape) or tuple(range(y.ndim))) if isinstance(y, np.ndarray) else ()
        for y in theirs
    ]


def _is_users(x: Any) -> bool:
    """Whether NumPy would call a function of the user's."""
    return callable(x) and not isinstance(x, (type, np.ufunc, Box))


class _StandIns:
    """NumPy's arrays in the place of boxes, with axes in given orders; `short`: of a few elements. Integers may be
    indices, also where C does not look whether they are in range, and are zero; of `regular` matrices, the diagonal is
    large, and that of integers, if they are square, one."""

    def __init__(self, orders: dict[int, Any], short: bool, regular: bool = False) -> None:
        self.orders = orders
        self.short = short
        self.regular = regular

    def of(self, x: Any) -> Any:
        if type(x) is tuple or type(x) is list:
            return type(x)(map(self.of, x))
        if isinstance(x, np.ndarray):
            return x[tuple(slice(0, min(d, _SHORT)) for d in x.shape)] if self.short else x
        if type(x) is not Box:
            return x
        zero = x.aval.dtype.kind in "iu"
        if not x.aval.shape:
            number = dtypes.element(x.aval.dtype, not zero)
            return number.item() if x.weak else number
        shape = [min(length(d), _SHORT) if self.short else length(d) for d in x.aval.shape]
        order = self.orders.get(id(x)) or tuple(range(len(shape)))
        back = tuple(sorted(range(len(order)), key=order.__getitem__))
        make: Callable[..., np.ndarray] = np.zeros if zero else np.ones
        made = make([shape[n] for n in order], x.aval.dtype).transpose(back)
        if self.regular and zero and made.ndim > 1 and made.shape[-1] == made.shape[-2] > 1:
            made += np.eye(made.shape[-1], dtype=made.dtype)
        elif self.regular and not zero and made.ndim > 1:
            made += np.eye(*made.shape[-2:], dtype=made.dtype) * max(made.shape)
        still = _still(x)
        if not any(still):
            return made
        return np.broadcast_to(made[tuple(slice(1 if s else None) for s in still)], made.shape)
