"""Guards: is everything the traced function read still as it was?

Checks are recorded while tracing and compiled into one straight-line function:

    def arrays():
        try:
            v0 = c0['scale']
            if v0 is not e0 and not same_value(v0, e0): return None
            v1 = c0['W']
            if type(v1) is not ndarray or v1.shape != e1 or v1.dtype != e2: return None
        except Exception: return None
        return (v1,)

It returns the captured arrays as they are at this moment, or None to retrace.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from tracejit.frontend.paths import ATTR, CELL, CONST, ITEM, Node
from tracejit.tracing import Box

Arrays = Callable[[], "tuple[Any, ...] | None"]
_serial = count()


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


def _same_items(new: Any, old: Any) -> bool:
    if isinstance(old, frozenset):
        return new == old and set(map(_typed, new)) == set(map(_typed, old))
    return all(map(same_value, new, old))


def _typed(x: Any) -> tuple[type, Any]:
    return type(x), x


def same_scalars(new: Any, old: tuple[Any, ...]) -> bool:
    """Whether the list or tuple `new` has the scalars `old`."""
    return len(new) == len(old) and all(map(same_value, new, old))


def same_set(new: Any, old: frozenset[Any]) -> bool:
    """Whether the set has these elements, types included."""
    return new == old and (set(map(_typed, new)) == set(map(_typed, old)))


def same_type_of_array(new: Any, old: tuple[Any, ...]) -> bool:
    return array_type(new) == old


def array_type(value: Any) -> tuple[Any, ...]:
    """What a captured array is guarded by: its class, shape and dtype (a box's aval)."""
    return (Box, value.aval) if type(value) is Box else (type(value), value.shape, value.dtype)


# {v} the value, {e} the expected value, {e0}.. its parts; the text is the failing condition.
_TEMPLATES = {
    "is": "{v} is not {e}",
    "type": "type({v}) is not {e}",
    "value": "{v} is not {e} and not same_value({v}, {e})",
    "scalars": "not same_scalars({v}, {e})",
    "set": "not same_set({v}, {e})",
    "len": "len({v}) != {e}",
    "keys": "tuple({v}) != {e}",
    "absent": "{e} in {v}",
    "missing": "hasattr({v}, {e})",
    "empty": "not is_empty({v})",
    "function": "{v} is not {e0} or {v}.__code__ is not {e1} or {v}.__defaults__ is not {e2} "
    "or {v}.__kwdefaults__ is not {e3}",
    "array": "type({v}) is not {e0} or {v}.shape != {e1} or {v}.dtype is not {e2} and {v}.dtype != {e2}",
    "box": "type({v}) is not {e0} or {v}.aval != {e1}",
    "alias": "{v} is not {o}",
}
_LITERAL = ("len", "absent", "missing")


def is_empty(cell: Any) -> bool:
    """Whether the closure cell is unset."""
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


class _Writer:
    """Writes the generated function; `names` holds the objects it refers to."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {f.__name__: f for f in (same_value, same_scalars, same_set, is_empty)}
        self.vars: dict[int, str] = {}
        self.known: dict[int, str] = {}

    def const(self, obj: Any) -> str:
        """The name of a global that holds `obj`."""
        if id(obj) not in self.known:
            self.known[id(obj)] = name = f"c{len(self.known)}"
            self.names[name] = obj
        return self.known[id(obj)]

    def literal(self, key: Any) -> str:
        """A key or length as it is written in source where it is short."""
        return repr(key) if type(key) in (str, int) and len(repr(key)) < 80 else self.const(key)

    def var(self, node: Node) -> str:
        """The local variable with the value at `node`; reads it where it is first needed."""
        if node.kind == CONST:
            return self.const(node.key)
        if id(node) not in self.vars:
            owner = self.var(node.parent)  # type: ignore[arg-type]
            self.vars[id(node)] = name = f"v{len(self.vars)}"
            self.lines.append(f"{name} = {self._access(owner, node)}")
        return self.vars[id(node)]

    def _access(self, owner: str, node: Node) -> str:
        if node.kind == ITEM:
            return f"{owner}[{self.literal(node.key)}]"
        if node.kind == CELL:
            return f"{owner}.cell_contents"
        if node.kind == ATTR and node.key.isidentifier():
            return f"{owner}.{node.key}"
        return f"getattr({owner}, {self.const(node.key)})"

    def check(self, check: Check) -> None:
        template, e = _TEMPLATES[check.kind], check.expected
        fields = {"v": self.var(check.node)}
        if check.kind == "alias":
            fields["o"] = self.var(e)
        elif check.kind in ("array", "box", "function"):
            fields.update((f"e{i}", self.const(part)) for i, part in enumerate(e))
        else:
            fields["e"] = self.literal(e) if check.kind in _LITERAL else self.const(e)
        self.lines.append(f"if {template.format(**fields)}: return None")


def generate(checks: list[Check], arrays: list[Node]) -> tuple[str, dict[str, Any]]:
    """The source of the guard function and the names it uses."""
    w = _Writer()
    for check in checks:
        w.check(check)
    out = [w.var(node) for node in arrays]
    if len(out) > 1:
        ids = ", ".join(f"id({v})" for v in out)
        w.lines.append(f"if len({{{ids}}}) != {len(out)}: return None")
    body = "\n".join(f"        {line}" for line in w.lines)
    result = "(" + "".join(f"{v}, " for v in out) + ")"
    head, tail = "def arrays():\n    try:\n", "\n    except Exception: return None\n    return "
    return f"{head}{body or '        pass'}{tail}{result}\n", w.names


class GuardSet:
    """The guards of one traced run. `arrays()` gives the captured arrays, or None to retrace."""

    def __init__(self, checks: list[Check], arrays: list[Node]) -> None:
        self.checks = checks
        self.nodes = arrays
        self.arrays: Arrays = self._first

    def __len__(self) -> int:
        return len(self.checks)

    def _first(self) -> tuple[Any, ...] | None:
        """Compiles on the first use: a function that is called once never pays for it."""
        self.arrays = self._compile()
        return self.arrays()

    def _compile(self) -> Arrays:
        source, names = generate(self.checks, self.nodes)
        filename = f"<tracejit guards {next(_serial)}>"
        exec(compile(source, filename, "exec"), names)
        self.source = source
        return names["arrays"]

    def check(self) -> bool:
        """Whether everything read while tracing is as it was."""
        return self.arrays() is not None

    def why(self) -> str | None:
        """The first guard that fails, in words; None if all hold."""
        for check in self.checks:
            message = explain(check)
            if message:
                return message
        if self.arrays() is None:
            return "two captured arrays that were different objects are now the same one"
        return None


def explain(check: Check) -> str | None:
    """What changed at `check.node`, or None."""
    node, kind, old = check
    try:
        new = node.read()
    except Exception:
        return f"{node} no longer exists (it was {_show(kind, old)})"
    if _holds(kind, new, old):
        return None
    if kind == "function":
        return f"{node} was redefined"
    if kind == "alias":
        return f"{node} is no longer the same object as {old}"
    if kind == "absent":
        return f"{node.item(old, _member(node, old))} was defined; it was not when the function was traced"
    if kind == "missing":
        return f"{node} now has an attribute {old!r}"
    if kind == "empty":
        return f"{node} was assigned"
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
    "type": lambda v, e: type(v) is e,
    "value": same_value,
    "scalars": same_scalars,
    "set": same_set,
    "len": lambda v, e: len(v) == e,
    "keys": lambda v, e: tuple(v) == e,
    "absent": lambda v, e: e not in v,
    "missing": lambda v, e: not hasattr(v, e),
    "empty": lambda v, e: is_empty(v),
    "function": lambda v, e: v is e[0] and (v.__code__, v.__defaults__, v.__kwdefaults__) == tuple(e[1:]),
    "array": same_type_of_array,
    "box": same_type_of_array,
    "alias": lambda v, e: v is e.read(),
}


def _show(kind: str, old: Any) -> str:
    if kind == "array":
        return f"{old[2]}{list(old[1])}"
    if kind == "box":
        return str(old[1])
    if kind == "function":
        return repr(old.function)
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
