"""What a guard compares: checks, and when values count as the same."""

from __future__ import annotations

import builtins
import ctypes
import functools
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.errors import UnfollowedError
from tracejit.frontend.paths import ATTR, CONST, Node
from tracejit.tracing import Box

#: So many are copied faster than they are found by `ctypes`.
_FEW_BYTES = 16384
IMMUTABLE = (int, float, complex, bool, str, bytes)


class Check(NamedTuple):
    """One condition on the value at `node`; `kind` is a key of `_TEMPLATES`."""

    node: Node
    kind: str
    expected: Any


class FunctionState(NamedTuple):
    """What of a Python function must stay: itself, its code and its default arguments."""

    function: Any
    code: Any
    defaults: Any
    kwdefaults: Any


def same_value(new: Any, old: Any) -> bool:
    """Equal in type and value; NaN equals NaN, 0.0 differs from -0.0."""
    if new is old:
        return True
    if type(new) is not type(old):
        return False
    if isinstance(old, (float, complex)):
        return repr(new) == repr(old)
    if isinstance(old, np.generic):
        return new.dtype == old.dtype and new.tobytes() == old.tobytes()
    if isinstance(old, (tuple, frozenset)):
        return len(new) == len(old) and _same_items(new, old)
    return bool(new == old)


def is_plain(x: Any) -> bool:
    """Whether a value is compared, not its identity: numbers and texts, None, and tuples of such."""
    return x is None or type(x) in IMMUTABLE or (type(x) is tuple and all(map(is_plain, x)))


def unchanged(before: Any, now: Any) -> bool:
    """Whether it makes no difference that `now` was stored where `before` was."""
    return now is before or (type(now) in IMMUTABLE and same_value(now, before))


def _same_items(new: Any, old: Any) -> bool:
    if isinstance(old, frozenset):
        return new == old and set(map(_typed, new)) == set(map(_typed, old))
    return all(map(same_value, new, old))


def _typed(x: Any) -> tuple[type, Any]:
    return type(x), x


def same_scalars(new: Any, old: tuple[Any, ...]) -> bool:
    """Whether the list or tuple `new` has the scalars `old`."""
    if len(new) != len(old):
        return False
    return all(map(operator.is_, new, old)) or all(map(same_value, new, old))


def same_set(new: Any, old: frozenset[Any]) -> bool:
    """Whether the set has these elements, types included."""
    return new == old and (set(map(_typed, new)) == set(map(_typed, old)))


def same_content(new: Any, old: np.ndarray) -> bool:
    """Whether the array `new` has the type, the shape and the elements of `old`, which are integers in C order."""
    if type(new) is not np.ndarray or new.shape != old.shape or new.dtype != old.dtype:
        return False
    if new.nbytes <= _FEW_BYTES:
        return new.tobytes() == old.tobytes()
    if new.flags.c_contiguous:
        return not _compare()(new.ctypes.data, old.ctypes.data, old.nbytes)
    return bool((new == old).all())


@functools.cache
def _compare() -> Callable[[int, int, int], int]:
    """C's `memcmp`, which makes no array of truth values as NumPy's comparisons do."""
    library = ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)
    function = library.memcmp
    function.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    function.restype = ctypes.c_int
    return function


def same_type_of_array(new: Any, old: tuple[Any, ...]) -> bool:
    return array_type(new) == old


def array_type(value: Any) -> tuple[Any, ...]:
    """What a captured array is guarded by: its class, shape and dtype (a box's aval)."""
    return (Box, value.aval) if type(value) is Box else (type(value), value.shape, value.dtype)


def leave_swapped(x: Any) -> None:
    """Raises UnfollowedError for an array in the other byte order, which NumPy's results have too."""
    if isinstance(x, np.ndarray) and not x.dtype.isnative:
        raise UnfollowedError(
            what=f"an array of {x.dtype.str}",
            reason="what NumPy makes of it is in this byte order, what a program makes in the machine's; "
            "x.astype(x.dtype.newbyteorder('=')) is in the machine's from the start",
        )


def is_empty(cell: Any) -> bool:
    """Whether the closure cell is unset."""
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


def subject(check: Check) -> str:
    """What a check is about, as the user calls it."""
    node, kind, old = check
    if kind == "absent":
        if node.kind == CONST and node.word == "global" and hasattr(builtins, old):
            return f"builtin `{old}`, which no global name hides"
        return f"{node.item(old, _member(node, old))}, which is not defined"
    if kind == "missing":
        return f"{node.attr(old)}, which is not defined"
    return str(node.parent if kind == "bare" else node)


def explain(check: Check, given: Sequence[Any] = ()) -> str | None:
    """What changed at `check.node`, or None."""
    node, kind, old = check
    try:
        new = node.read(given)
    except Exception:
        return f"{node} no longer exists (it was {_show(kind, old)})"
    if _holds(kind, new, old.read(given) if kind == "alias" else old):
        return None
    if kind in ("function", "code"):
        return f"{node} was redefined"
    if kind == "same":
        return f"{node} is another object"
    if kind == "alias":
        return f"{node} is no longer the same object as {old}"
    if kind == "absent":
        return f"{node.item(old, _member(node, old))} was defined; it was not when the function was traced"
    if kind == "missing":
        return f"{node} now has an attribute {old!r}"
    if kind == "present":
        return f"{node} has no {old!r} any more"
    if kind == "empty":
        return f"{node} was assigned"
    if kind == "content":
        return f"{node} has other elements"
    if kind == "bare":
        return f"{node.parent} was given the attribute {next(iter(new))!r}"
    if kind == "near":
        return f"{node} is a large integer now"
    if kind == "len":
        return f"{node} changed its length from {old} to {len(new)}"
    return f"{node} changed from {_show(kind, old)} to {_show_value(kind, new)}"


def _member(node: Node, name: str) -> str:
    """How a name that was absent from a namespace is called."""
    if node.kind == ATTR and node.key == "__dict__" and node.parent is not None:
        return f"{node.parent.text}.{name}"
    return name if node.text == "globals" else f"{node.text}.{name}"


def _holds(kind: str, new: Any, old: Any) -> bool:
    try:
        return _TESTS[kind](new, old)
    except Exception:
        return False


_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "is": lambda v, e: v is e,
    "same": lambda v, e: v is e(),
    "type": lambda v, e: type(v) is e,
    "value": same_value,
    "scalars": same_scalars,
    "set": same_set,
    "near": lambda v, e: abs(v) <= e,
    "len": lambda v, e: len(v) == e,
    "keys": lambda v, e: tuple(v) == e,
    "bare": lambda v, e: not v,
    "absent": lambda v, e: e not in v,
    "present": lambda v, e: e in v,
    "missing": lambda v, e: not hasattr(v, e),
    "empty": lambda v, e: is_empty(v),
    "function": lambda v, e: v is e[0] and (v.__code__, v.__defaults__, v.__kwdefaults__) == tuple(e[1:]),
    "code": lambda v, e: v.__code__ is e[0] and v.__globals__ is e[1],
    "array": same_type_of_array,
    "box": same_type_of_array,
    "content": same_content,
    "alias": lambda v, e: v is e,
}


def _show(kind: str, old: Any) -> str:
    if kind == "array":
        return f"{old[2]}{list(old[1])}"
    if kind == "box":
        return str(old[1])
    if kind == "function":
        return repr(old.function)
    if kind in ("code", "same"):
        return repr(old[0] if kind == "code" else old())
    return old.__name__ if kind == "type" else _short(old)


def _show_value(kind: str, new: Any) -> str:
    if kind in ("array", "box") and isinstance(new, (np.ndarray, Box)):
        return _show(("array", "box")[type(new) is Box], array_type(new))
    if kind == "keys":
        return _short(tuple(new))
    return type(new).__name__ if kind == "type" else _short(new)


def _short(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 60 else text[:57] + "..."
