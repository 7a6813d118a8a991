"""What may be done with a variant: the same as with each of its forms, in branches on which one it is.

A form with which Python can't do it (`None + 1`) is left to Python: the program checks that the value is none of these.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import TracejitError, user_location
from tracejit.errors.refusals import attempt, may_number
from tracejit.frontend import active
from tracejit.frontend.rewrite.hooks.branches import ifexp
from tracejit.frontend.rewrite.hooks.predicates import raw_truth
from tracejit.frontend.variants import node
from tracejit.frontend.variants.node import Variant, option, refusal
from tracejit.frontend.variants.which import is_numbered
from tracejit.interpreters.stage import StageTrace
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.tracing import Box, box, current_trace, new_trace

Function = Callable[[Any], Any]


def each(x: Variant, fn: Function, probe: Function | None = None) -> Any:
    """`fn` of the form that `x` has, a function that changes nothing. `probe`: raises what `fn` raises for a form that
    can't do this, without the user's code."""
    index, where = x._tj_index.read(), user_location()
    able, wrong = _able(x, probe or fn)
    for n in wrong:
        leave_if(_is(index, n), "a value of a type with which Python can't do this")
    out = _of_one(x, fn, able, index, where)
    if type(out) is tuple and out:
        raise refusal("a tuple made of it")
    return out


def _of_one(x: Variant, fn: Function, able: list[int], index: Any, where: str | None) -> Any:
    """`fn` of the form that `x` has, which is one of the numbers `able`."""
    if len(able) == 1:
        return fn(option(x, able[0]))
    first, *rest = able
    test = box(_is(index, first), weak=True)
    return ifexp(test, lambda: fn(option(x, first)), lambda: _of_one(x, fn, rest, index, where), where)


def _is(index: Any, n: int) -> Any:
    return ops.compare.eq(index, np.int64(n))


def _able(x: Variant, fn: Function) -> tuple[list[int], list[int]]:
    """The numbers of the forms that Python can do this with, and those of the others. Raises what Python raises where
    there are only these."""
    able: list[int] = []
    wrong: list[int] = []
    for n in range(len(x._tj_forms)):
        try:
            with attempt(Exception), new_trace(StageTrace(current_trace(), "branch", eager_constants=True)):
                fn(option(x, n))
            able.append(n)
        except TracejitError:
            able.append(n)  # which says so when it is done
        except (TypeError, AttributeError, LookupError, ValueError):
            wrong.append(n)
    if not able:
        raise refusal("none of its types can do this")
    return able, wrong


node.use.each = each
node.use.either = lambda test, a, b: ifexp(test, lambda: a, lambda: b, user_location())


def is_one(x: Any, y: Any, is_: Callable[[Any, Any], Any]) -> Any:
    """Whether `x is y`, one of which is a variant."""
    x, y = (x, y) if type(x) is Variant else (y, x)
    both = type(y) is Variant
    known = _tells(x) and _tells(y) if both else type(y) is not tuple or not y or is_numbered(x)
    if not known:
        raise may_number(refusal("whether it is another one"))
    return each(x, (lambda v: is_one(y, v, is_)) if both else lambda v: is_(v, y))


def _tells(x: Variant) -> bool:
    """Whether it is known which object it is: None, or a tuple that has a number."""
    return is_numbered(x) and all(isinstance(f, node.Parts) or f == _NONE for f in x._tj_forms)


_NONE = node.Constant(type(None), None)


def _converted(x: Variant, fn: Function, what: str) -> Any:
    """The same for Python, which takes no traced value there."""
    bools = any(isinstance(f, node.Number) and f.dtype.kind == "b" for f in x._tj_forms)
    if fn is operator.index and bools:  # NumPy asks for integers by it, and takes no truth values
        raise refusal(what)
    out = each(x, fn)
    if type(out) is Variant:
        raise refusal(what)
    return fn(out)


def _items(x: Variant) -> Iterator[Any]:
    """The items of a variant all of whose forms that have items have as many."""
    sizes = {len(f.of) for f in x._tj_forms if isinstance(f, node.Parts)}
    others = [f for f in x._tj_forms if not isinstance(f, node.Parts)]
    if len(sizes) != 1 or any(isinstance(f, node.Constant) and f.kind in (str, bytes) for f in others):
        raise refusal("its items")
    (size,) = sizes
    return iter([each(x, lambda v, k=k: v[k]) for k in range(size)] if size else [])


def _text(x: Variant, fn: Function) -> str:
    if active.session() is None:  # for people, as in an error that has left the function
        return "Traced<a value of one of several types>"
    out = each(x, fn)
    if type(out) is not str:
        raise refusal("its text")
    return out


def _asked(self: Variant) -> Any:
    """Whether it is true, which may be traced (`predicates.asked`)."""
    return each(self, lambda v: box(raw_truth(v), weak=True) if type(v) is Box else bool(v))


_BINARY = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "lshift",
    "rshift",
    "and_",
    "or_",
    "xor",
    "matmul",
)
_COMPARED = ("lt", "le", "gt", "ge", "eq", "ne")
_UNARY = ("neg", "pos", "abs", "invert")
_TAKEN: dict[str, Function] = {"int": int, "float": float, "complex": complex, "index": operator.index}


#: What does nothing else when it is compared or computed with; and what is made of such things.
_PLAIN = frozenset({bool, int, float, complex, str, bytes, type, type(None), range})
_MADE: dict[type, Function] = {tuple: iter, list: iter, set: iter, frozenset: iter}
_MADE |= {dict: lambda d: (*d, *d.values()), slice: lambda s: (s.start, s.stop, s.step)}


def _do(self: Variant, other: Any, fn: Function) -> Any:
    """`fn` of each form and `other`, whose methods are called for each of them, and once more to see whether they can
    be."""
    if not _is_plain(other):
        raise refusal(f"with an object of `{type(other).__name__}`, whose methods may do something")
    return each(self, fn)


def _is_plain(x: Any) -> bool:
    cls = type(x)
    if (
        cls in _PLAIN
        or isinstance(cls, enum.EnumMeta)
        or cls.__module__.split(".")[0] in ("tracejit", "numpy")
    ):
        return True
    return cls in _MADE and all(map(_is_plain, _MADE[cls](x)))


def _beside_tuple(self: Variant, other: Any) -> None:
    """Tuples compare which numbers their items are, too, before their values: a NaN is equal to itself there. That
    is lost where conditions choose, and such programs are left to Python."""
    if type(other) in (tuple, Variant):
        parts = [n for n, f in enumerate(self._tj_forms) if isinstance(f, node.Parts)]
        for number in [v for n in parts for v in option(self, n) if type(v) is Box]:
            raw = number.read()
            if number.aval.dtype.kind in "fc":
                leave_if(ops.compare.ne(raw, raw), "a comparison of tuples that have NaN")


def _beside(self: Variant, other: Any, do: Callable[[Any, Any], Any]) -> Function:
    """`do` of a form and `other`. A variant beside itself has one form: `s + s` would try all pairs of forms."""
    return lambda v: do(v, v if other is self else other)


def _compared(self: Variant, other: Any, do: Callable[[Any, Any], Any]) -> Any:
    _beside_tuple(self, other)
    return _do(self, other, _beside(self, other, do))


def _contains(self: Variant, item: Any) -> Any:
    _beside_tuple(self, self)
    return _do(self, item, lambda v: operator.contains(v, item))


def _attach() -> None:
    made: dict[str, Any] = {}
    for name in _BINARY:
        do, short = getattr(operator, name), name.rstrip("_")
        made[short] = lambda self, other, do=do: _do(self, other, _beside(self, other, do))
        made["r" + short] = lambda self, other, do=do: _do(self, other, lambda v: do(other, v))
    for name in _COMPARED:
        do = getattr(operator, name)
        made[name] = lambda self, other, do=do: _compared(self, other, do)
    made["divmod"] = made["rdivmod"] = lambda self, other: _refuse("`divmod` of it")
    for name in _UNARY:
        do = getattr(operator, name)
        made[name] = lambda self, do=do: each(self, do)
    for name, do in _TAKEN.items():
        made[name] = lambda self, do=do: _converted(self, do, "as a number of Python's")
    made["bool"] = lambda self: bool(_asked(self))
    made["bool"].followed = _asked  # type: ignore[attr-defined]
    made["getitem"] = lambda self, key: _do(self, key, lambda v: v[key])
    made["contains"] = _contains
    made["len"] = lambda self: operator.index(each(self, len))
    made["iter"] = _items
    made["round"] = lambda self, *digits: each(self, lambda v: round(v, *digits))
    made["call"] = lambda self, *_, **__: _refuse("a call of it")
    made["str"] = lambda self: _text(self, str)
    made["repr"] = lambda self: _text(self, repr)
    made["format"] = lambda self, spec: _text(self, lambda v: format(v, spec))
    made["getattr"] = lambda self, name: each(self, lambda v: getattr(v, name))
    made["setitem"] = made["delitem"] = lambda self, *_: _refuse("an item of it")
    made["array_ufunc"] = _ufunc
    made["array_function"] = made["array"] = lambda self, *_, **__: _refuse("as an array")
    for name, method in made.items():
        setattr(Variant, f"__{name}__", method)


def _ufunc(self: Variant, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
    """NumPy's function of a variant."""
    ours = NUMPY_TO_TRACEJIT.get(ufunc)
    known = method == "__call__" and not kwargs and ufunc.nout == 1
    if (
        ours is None
        or not known
        or not all(isinstance(f, (node.Number, node.Unsure)) for f in self._tj_forms)
    ):
        raise refusal(f"`{ufunc.__name__}` of it")
    return each(self, lambda v: ours(*(v if x is self else x for x in args)))


def _refuse(what: str) -> Any:
    raise refusal(what)


_attach()
