"""`str`, `repr` and `format` of whatever traced code shows: the real text if all of it is known, else a `Text`.

An object of a user's class is asked by its own methods, which are followed. Containers are shown as they are now; what
is in them later is not seen.
"""

from __future__ import annotations

import collections
import dataclasses
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.errors import TracedTextError, TracerIntegerError
from tracejit.frontend import active
from tracejit.frontend.origins import is_library_function
from tracejit.frontend.shadows import behind
from tracejit.frontend.text.deferred import Text, concatenated, has_text, join, text_of
from tracejit.frontend.text.recipes import (
    ARRAY,
    PYTHON,
    SCALAR,
    Known,
    Made,
    Recipe,
    Shown,
    Slot,
    filled,
    listed,
    mapped,
    named,
)
from tracejit.frontend.variants.node import Variant, use
from tracejit.ir.values import Value
from tracejit.numpy.boxes.conversions import known_value
from tracejit.numpy.boxes.unsure import may_have_begun
from tracejit.numpy.operands import is_subclassed
from tracejit.tracing import Box, box

_CONSTANTS = (str, int, float, complex, bool, bytes, type(None), type(...), type(NotImplemented))
_IMMUTABLE = (np.dtype, range, slice)
_FILLED = (list, tuple, set, frozenset, collections.deque)
_MAPPED = (dict, collections.OrderedDict, collections.defaultdict)
#: Containers in containers are looked into so deep.
_DEEPEST = 20


def is_unknown(x: Any) -> bool:
    """Whether `x` is an array or number of which only the program knows the value."""
    return type(x) is Box and isinstance(x.read(), Value)


def str_(x: Any = "", *more: Any) -> Any:
    """`str`."""
    if type(x) is Variant:
        return use.each(x, str_)
    if more or type(x) in _CONSTANTS or type(x) is Box:
        return _shown(str, x, *more)
    if type(x) is Text:
        return x
    found = _special(x, "__str__")
    if found is None:
        return repr_(x)
    if _is_followed(x, found):
        return _checked(found.__get__(x, type(x))(), "__str__")
    if found is BaseException.__str__:
        return str_(x.args[0]) if len(x.args) == 1 else str_(x.args) if x.args else ""
    return _shown(str, x)


def repr_(x: Any) -> Any:
    """`repr`."""
    if type(x) is Variant:
        return use.each(x, repr_)
    if type(x) is Text:
        return text_of(Made(repr, (x.recipe,)), x.values)
    if type(x) in _CONSTANTS or type(x) is Box:
        return _shown(repr, x)
    if _is_plain_dataclass(x):
        return _of_dataclass(x)
    if isinstance(x, BaseException) and type(x).__repr__ is BaseException.__repr__:
        return concatenated([f"{type(x).__name__}(", join(", ", [repr_(a) for a in x.args]), ")"])
    found = _special(x, "__repr__")
    return _checked(found.__get__(x, type(x))(), "__repr__") if _is_followed(x, found) else _shown(repr, x)


def format_(x: Any, spec: Any = "") -> Any:
    """`format`."""
    if type(x) is Variant:
        return use.each(x, lambda v: format_(v, spec))
    if type(x) in (Box, Text) or type(x) in _CONSTANTS:
        return x if type(x) is Text and spec == "" else _shown(format, x, spec)
    found = _special(x, "__format__")
    if found is None:
        return str_(x) if spec == "" else format(x, spec)
    return (
        _checked(found.__get__(x, type(x))(spec), "__format__")
        if _is_followed(x, found)
        else _shown(format, x, spec)
    )


def hex_(x: Any) -> Any:
    """`hex`."""
    return _shown(hex, x) if is_unknown(x) else hex(x)


def oct_(x: Any) -> Any:
    """`oct`."""
    return _shown(oct, x) if is_unknown(x) else oct(x)


def bin_(x: Any) -> Any:
    """`bin`."""
    return _shown(bin, x) if is_unknown(x) else bin(x)


def chr_(x: Any) -> Any:
    """`chr`."""
    return _shown(chr, x) if is_unknown(x) else chr(x)


def ascii_(x: Any) -> Any:
    """`ascii`."""
    return text_of(Made(ascii, (x.recipe,)), x.values) if type(x) is Text else _shown(ascii, x)


def _shown(fn: Callable[..., Any], x: Any, *more: Any) -> Any:
    """`fn(x, *more)`, where the first argument may have unknown values."""
    if type(x) in _CONSTANTS and not any(type(m) is Text for m in more):
        return fn(x, *more)
    parts = [parts_of(y) for y in (x, *more)]
    values = [v for _, found in parts for v in found]
    if not values:
        return _users(fn(x, *more), x, fn, *more)
    return text_of(Made(fn, tuple([r for r, _ in parts])), values)


def _users(text: str, x: Any, fn: Callable[..., str] = repr, *more: Any) -> str:
    """`text` of an object, which is `fn(x, *more)`. What may be that of a stand-in, since it has its address, or names
    it, is that of the object behind it, which the program is for then. Raises TracedTextError where there is none."""
    if type(x) in _CONSTANTS or not (
        " at 0x" in text or "tracejit" in text or isinstance(x, types.ModuleType)
    ):
        return text
    real = _behind(x)
    if real is x:
        raise TracedTextError(aval=type(x).__name__, use="its address or name")
    return fn(real, *more)


def _behind(x: Any) -> Any:
    """The object behind a stand-in, of which Python itself makes the text; the stand-in where that is not so."""
    session = active.session()
    if session is None:
        return x
    if (real := behind.of_library(x)) is not x:
        return real
    if behind.is_shadow(x) and _special(behind.original(x), "__repr__") is None:
        state = behind.state_of(x)
        session.same(state.node, state.original)
        return state.original
    node = session.where_is(x) if type(x) is types.FunctionType else None
    if node is None:
        return x
    real = session.original_of(x)
    session.same(node, real)
    return real


def _special(x: Any, name: str) -> Any:
    """What the class of `x` has as a special method; None for that of `object`."""
    for base in type(x).__mro__[:-1]:
        if name in vars(base):
            return vars(base)[name]
    return None


def _is_followed(x: Any, method: Any) -> bool:
    """Whether a special method is a function of the user's, or a stand-in's that calls such a one."""
    if "_tj_class" in vars(type(x)) and hasattr(
        method, "cls"
    ):  # a member of an object's class made in traced code
        method = vars(method.cls)[method.name]
    if not isinstance(method, types.FunctionType):
        return False
    code = method.__code__
    if code.co_filename.startswith(("<string>", "<namedtuple")) or hasattr(method, "__wrapped__"):
        return False
    return "_tj_state" in vars(type(x)) or not is_library_function(method)


def has_own_text(x: Any) -> bool:
    """Whether an object's class makes its text by functions of the user's."""
    return any(_is_followed(x, _special(x, name)) for name in ("__str__", "__repr__", "__format__"))


def _checked(text: Any, name: str) -> Any:
    if type(text) is Text or isinstance(text, str):
        return text
    raise TypeError(f"{name} returned non-string (type {type(text).__name__})")


# ---------------------------------------------------------------- dataclasses


def _is_plain_dataclass(x: Any) -> bool:
    """Whether the text of a dataclass is that which Python writes for it."""
    if not dataclasses.is_dataclass(type(x)):
        return False
    for base in type(x).__mro__[:-1]:
        if "_tj_state" not in vars(base) and "_tj_class" not in vars(base) and "__repr__" in vars(base):
            return hasattr(vars(base)["__repr__"], "__wrapped__") and "__dataclass_params__" in vars(base)
    return False


def _of_dataclass(x: Any) -> Any:
    parts: list[Any] = []
    for f in dataclasses.fields(type(x)):  # type: ignore[arg-type]
        if f.repr:
            parts += [", " if parts else "", f"{f.name}=", repr_(getattr(x, f.name))]
    return concatenated([f"{type(x).__qualname__}(", *parts, ")"])


# ---------------------------------------------------------------- values


def parts_of(x: Any, depth: int = 0) -> tuple[Recipe, tuple[Any, ...]]:
    """How a value is made again when the program runs, and the traced values that it needs: as they are now.

    Raises TracedTextError for objects that can't be made again."""
    if type(x) is Box:
        return _of_box(x)
    if type(x) is Text:
        return x.recipe, x.values
    if type(x) in _CONSTANTS:
        return Known(x), ()
    if depth < _DEEPEST:
        if type(x) in _FILLED and not (type(x) is collections.deque and x.maxlen is not None):
            return _of_items(filled, (type(x),), x, depth)
        if isinstance(x, tuple) and hasattr(type(x), "_fields") and not has_own_text(x):
            return _of_items(named, (type(x),), x, depth)
        if isinstance(x, dict) and _is_plain_dict(x):
            return _of_items(mapped, (type(x), tuple(x)), x.values(), depth)
    if isinstance(x, (np.ndarray, np.generic)):
        return _of_box(box(np.array(x))) if isinstance(x, np.ndarray) else (Known(x), ())
    return _of_node(x, depth) if is_subclassed(x) else _of_object(x)


def _of_node(x: Any, depth: int) -> tuple[Recipe, tuple[Any, ...]]:
    """A structured or masked array, of its parts."""
    leaves, structure = tree.flatten(x)
    recipe, values = _of_items(listed, (), leaves, depth)
    return Made(tree.unflatten, (Known(structure), recipe)), values


def _of_box(x: Box) -> tuple[Recipe, tuple[Any, ...]]:
    weak = x.weak  # numbers that are Python's or NumPy's leave the program here, if they are Python's
    raw = x.read()
    if not has_text(x) or may_have_begun(x):
        raise TracedTextError(aval=str(x.aval), use="its characters")
    kind = PYTHON if weak is True and not x.aval.shape else SCALAR if x.scalar or weak else ARRAY
    if kind != ARRAY and not isinstance(raw, Value):
        return Known(np.asarray(raw)[()].item() if kind == PYTHON else np.asarray(raw)[()]), ()
    held = box(raw, weak)
    held.scalar = x.scalar
    return Slot(kind, x.aval.dtype, len(x.aval.shape)), (held,)


def _of_items(
    fn: Callable[..., Any], given: tuple[Any, ...], items: Iterable[Any], depth: int
) -> tuple[Recipe, tuple[Any, ...]]:
    made = [parts_of(x, depth + 1) for x in items]
    recipe = Made(fn, (*map(Known, given), *(r for r, _ in made)))
    return recipe, tuple(v for _, values in made for v in values)


def _is_plain_dict(x: dict[Any, Any]) -> bool:
    return type(x) in _MAPPED and getattr(x, "default_factory", None) is None and _are_known(x)


def _are_known(keys: Iterable[Any]) -> bool:
    return all(type(k) in _CONSTANTS or (type(k) is tuple and _are_known(k)) for k in keys)


def _of_object(x: Any) -> tuple[Recipe, tuple[Any, ...]]:
    """An object of another kind, of which only the text is known."""
    if isinstance(x, _IMMUTABLE):
        return Known(x), ()
    text = repr_(x) if _is_plain_dataclass(x) or has_own_text(x) else None
    if type(text) is Text:
        return Made(Shown, (text.recipe, text.recipe)), (*text.values, *text.values)
    if text is None:
        return Made(Shown, (Known(_users(repr(x), x)), Known(_users(str(x), x, str)))), ()
    return Made(Shown, (Known(_users(text, x)), Known(text))), ()


def known_spec(x: Any) -> Any:
    """What stands in a format specification, as in `f"{x:{width}}"`: an integer becomes part of the signature."""
    return known_value(x, TracerIntegerError).item() if is_unknown(x) and x.aval.dtype.kind in "bi" else x
