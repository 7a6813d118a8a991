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

It returns the captured arrays as they are at this moment, or None to retrace. Objects among a
call's arguments are its parameters: `arrays(o0, o1)`. Code that is written for one kind of calls has the same checks
as its own lines instead (`GuardSet.inlined`), which saves the call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import count
from typing import Any

from tracejit.frontend.checks import (
    Check,
    FunctionState,
    explain,
    is_empty,
    same_content,
    same_scalars,
    same_set,
    same_value,
    subject,
)
from tracejit.frontend.paths import APPLIED, ATTR, CELL, CONST, GIVEN, ITEM, Node

Arrays = Callable[..., "tuple[Any, ...] | None"]
_serial = count()


# {v} the value, {e} the expected value, {e0}.. its parts; the text is the failing condition.
_TEMPLATES = {
    "is": "{v} is not {e}",
    "same": "{v} is not {e}()",  # a weak reference
    "type": "type({v}) is not {e}",
    "value": "{v} is not {e} and not same_value({v}, {e})",
    "scalars": "{v} is not {e} and not same_scalars({v}, {e})",  # a tuple that is the same one
    "set": "not same_set({v}, {e})",
    "near": "not -{e} <= {v} <= {e}",
    "len": "len({v}) != {e}",
    "keys": "tuple({v}) != {e}",
    "bare": "{v}",  # a dict that holds nothing
    "absent": "{e} in {v}",
    "present": "{e} not in {v}",
    "missing": "hasattr({v}, {e})",
    "empty": "not is_empty({v})",
    "function": "{v} is not {e0} or {v}.__code__ is not {e1}",
    "code": "{v}.__code__ is not {e0} or {v}.__globals__ is not {e1}",
    "array": "type({v}) is not {e0} or {v}.shape != {e1} or {v}.dtype is not {e2} and {v}.dtype != {e2}",
    "box": "type({v}) is not {e0} or {v}.aval != {e1}",
    "alias": "{v} is not {o}",
    "content": "not same_content({v}, {e})",
}
_LITERAL = ("len", "near", "absent", "present", "missing")
_HELPERS = {f.__name__: f for f in (same_value, same_scalars, same_set, same_content, is_empty)}
#: So many checks are written into the code of a call at most: more of them are compiled once, as a function.
MOST_INLINED = 24


class _Writer:
    """Writes the checks; `names` holds the objects they refer to. Constants are named with `prefix`, `given` are the
    variables with the objects that paths begin at, and `fails` is the statement for what is not as it was."""

    def __init__(self, given: Sequence[str], prefix: str = "c", fails: str = "return None") -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = dict(_HELPERS)
        self.vars: dict[int, str] = {}
        self.known: dict[int, str] = {}
        self.given = given
        self.prefix = prefix
        self.fails = fails

    def const(self, obj: Any) -> str:
        """The name of a global that holds `obj`."""
        if id(obj) not in self.known:
            self.known[id(obj)] = name = f"{self.prefix}{len(self.known)}"
            self.names[name] = obj
        return self.known[id(obj)]

    def literal(self, key: Any) -> str:
        """A key or length as it is written in source where it is short."""
        return repr(key) if type(key) in (str, int) and len(repr(key)) < 80 else self.const(key)

    def var(self, node: Node) -> str:
        """The local variable with the value at `node`; reads it where it is first needed."""
        if node.kind == CONST:
            return self.const(node.key)
        if node.kind == GIVEN:
            return self.given[int(node.key)]
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
        if node.kind == APPLIED:
            return f"{self.const(node.key)}({owner})"
        if node.kind == ATTR and node.key.isidentifier():
            return f"{owner}.{node.key}"
        return f"getattr({owner}, {self.const(node.key)})"

    def check(self, check: Check) -> None:
        template, e = _TEMPLATES[check.kind], check.expected
        fields = {"v": self.var(check.node)}
        if check.kind == "alias":
            fields["o"] = self.var(e)
        elif check.kind in ("array", "box", "function", "code"):
            fields.update((f"e{i}", self.const(part)) for i, part in enumerate(e))
        else:
            fields["e"] = self.literal(e) if check.kind in _LITERAL else self.const(e)
        text = template.format(**fields)
        if check.kind == "function":
            text += self._defaults(fields, e)
            itself = f"{fields['e0']} is not {fields['e0']} or "  # the jitted function
            text = text.removeprefix(itself)
        self.lines.append(f"if {text}: {self.fails}")

    def _defaults(self, fields: dict[str, str], state: FunctionState) -> str:
        """The rest of a function's check: its defaults, where it has parameters that take some."""
        text = ""
        if state.code.co_argcount:
            text += f" or {fields['v']}.__defaults__ is not {fields['e2']}"
        if state.code.co_kwonlyargcount:
            text += f" or {fields['v']}.__kwdefaults__ is not {fields['e3']}"
        return text

    def distinct(self, variables: list[str]) -> None:
        """Let no two of the variables hold the same object."""
        if len(variables) > 1:
            ids = ", ".join(f"id({v})" for v in variables)
            self.lines.append(f"if len({{{ids}}}) != {len(variables)}: {self.fails}")


class GuardSet:
    """The guards of one traced run. `arrays()` gives the captured arrays, or None to retrace; its parameters are
    the `given` arguments that paths begin at. `objects`: groups of paths to different objects."""

    def __init__(
        self,
        checks: list[Check],
        arrays: list[Node],
        given: int = 0,
        objects: Sequence[Sequence[Node]] = (),
    ) -> None:
        self.checks = checks
        self.nodes = arrays
        self.given = given
        self.objects = objects
        self.arrays: Arrays = self._first

    def __len__(self) -> int:
        return len(self.checks)

    def _first(self, *given: Any) -> tuple[Any, ...] | None:
        """Compiles on the first use: a function that is called once never pays for it."""
        self.arrays = self._compile()
        return self.arrays(*given)

    def _compile(self) -> Arrays:
        given = [f"o{n}" for n in range(self.given)]
        w = _Writer(given)
        out = self._write(w)
        body = "\n        ".join(w.lines or ["pass"])
        self.source = (
            f"def arrays({', '.join(given)}):\n    try:\n        {body}\n    except Exception: return None\n"
            f"    return ({''.join(f'{v}, ' for v in out)})\n"
        )
        exec(compile(self.source, f"<tracejit guards {next(_serial)}>", "exec"), w.names)
        return w.names["arrays"]

    def _write(self, w: _Writer, known: Collection[int] = ()) -> list[str]:
        """Write the checks, without those of what arrays `known` are. Gives the variables of the arrays."""
        typed = {id(self.nodes[n]) for n in known}
        for check in self.checks:
            if check.kind != "array" or id(check.node) not in typed:
                w.check(check)
        out = [w.var(node) for node in self.nodes]
        scalars = {id(check.node) for check in self.checks if check.kind == "type"}  # read anew, no arrays
        w.distinct([v for v, node in zip(out, self.nodes, strict=True) if id(node) not in scalars])
        for group in self.objects:
            w.distinct([w.var(node) for node in group])
        return out

    def inlined(
        self, given: Sequence[str], known: Collection[int] = ()
    ) -> tuple[list[str], list[str], dict[str, Any]] | None:
        """The checks as lines of another function, in which the variables `given` have the objects. They set `held`,
        and leave the exception behind that a check raised. The variables that have the arrays then, and the names that
        the lines refer to, are given, too. None if the checks are too many. Constants are named g0, g1, ..., variables
        v0, v1, .... What the arrays `known` are is checked by others."""
        if len(self.checks) > MOST_INLINED:
            return None
        w = _Writer(given, "g", "break")
        out = self._write(w, known)
        if not w.lines:
            return [], out, w.names
        once = [f"        {line}" for line in (*w.lines, "held = True", "break")]
        return ["held = False", "try:", "    while True:", *once, "except Exception: pass"], out, w.names

    def check(self, *given: Any) -> bool:
        """Whether everything read while tracing is as it was."""
        return self.arrays(*given) is not None

    def dead(self) -> bool:
        """Whether they can never hold again: they name an object that is gone."""
        return any(check.kind == "same" and check.expected() is None for check in self.checks)

    def failing(self, *given: Any) -> Check | None:
        """The first guard that fails."""
        return next((check for check in self.checks if explain(check, given)), None)

    def subjects(self) -> list[str]:
        """What the guards are about, as the user calls it."""
        return sorted(set(map(subject, self.checks)))

    def why(self, *given: Any) -> str | None:
        """The first guard that fails, in words; None if all hold."""
        for check in self.checks:
            message = explain(check, given)
            if message:
                return message
        if self.arrays(*given) is None:
            what = "objects" if self.objects else "captured arrays"
            return f"two {what} that were different objects are now the same one"
        return None
