"""Values that interpreters pass around besides arrays.

`Value` is the root of every trace's tracers and of the jaxpr's variables;
`Zero` is a known-zero tangent or cotangent; `Linear` stands for an operand
whose value does not exist while a linear program is transposed; `AddInto` is a
cotangent given as "add this into a part of the accumulator", `Overwrite` one
given as "the result's cotangent with a part changed", `Total` one that has what
was accumulated before in it.
"""

from __future__ import annotations

from typing import Any

from tracejit.errors import ConcreteValueError
from tracejit.ir.avals import Aval


class Value:
    """An immutable (SSA) value of one trace. `trace` owns it; `aval` is its type."""

    __slots__ = ("aval", "trace")

    trace: Any
    aval: Aval

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.aval}>"

    def concrete(self) -> Any:
        """The array that the value stands for. Raises ConcreteValueError where it is not known."""
        unknown = ConcreteValueError(aval=str(self.aval))
        unknown.traced = (self,)
        try:
            raise unknown
        finally:
            del (
                unknown
            )  # else it would hold its own frame, and those that called: generators in them would not end


def made_at(value: Any) -> Any:
    """The user's line (a Source) that a tracer comes from; None where its trace has no record of it."""
    var = getattr(value, "tangent", value)
    for eqn in getattr(var.trace, "eqns", ()):
        if any(v is var for v in eqn.outvars):
            return eqn.source
    return None


def origin(value: Any) -> str:
    """A tracer for messages: its type, and where it was made if that is known."""
    source = made_at(value)
    return f"{value.aval} (made at {source.full()})" if source else str(value.aval)


class Zero:
    """A tangent or cotangent known to be zero, never materialised. `aval` is the tangent type."""

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


class Linear:
    """Placeholder for a linear operand in a transpose rule: only its type is known.

    `start`: for rules `with_starts`, the cotangent that the operand has from later equations; None if it has none.
    """

    __slots__ = ("aval", "start")

    def __init__(self, aval: Aval, start: Any = None) -> None:
        self.aval = aval
        self.start = start

    def __repr__(self) -> str:
        return f"Linear({self.aval})"


class AddInto:
    """A cotangent that touches a part of the operand only.

    Stands for `op(zeros, *rest, **params)` where `op` (scatter_add and its like)
    adds into its first operand. The transposer applies it to the accumulator
    that is already there, in place when it owns it, so that n reads of an
    n-array cost O(n) in reverse, not O(n²).
    """

    __slots__ = ("aval", "op", "params", "rest")

    def __init__(self, op: Any, aval: Aval, rest: tuple, params: dict[str, Any]) -> None:
        self.op = op
        self.aval = aval
        self.rest = rest
        self.params = params


class Overwrite:
    """A cotangent that is the result's with a part changed: `op(ct, *rest, **params)`.

    The transposer applies it in place when nothing else refers to `ct`, so that n
    writes into an n-array cost O(n) in reverse too. `op` None gives `ct` itself.
    `adds`: where `op` writes zeros, the op that adds into the same part. What is added there next is then
    written instead.
    """

    __slots__ = ("adds", "op", "params", "rest")

    def __init__(
        self, op: Any = None, rest: tuple = (), params: dict[str, Any] | None = None, adds: Any = None
    ) -> None:
        self.op = op
        self.rest = rest
        self.params = params or {}
        self.adds = adds


class Total:
    """A cotangent with the operand's `start` in it, in whose place it is put.

    A loop in a loop adds what its steps give to the accumulator of the outer one, so that reading one element in
    each of n² steps costs O(n²) in reverse, not n arrays of zeros more.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def is_zero(x: Any) -> bool:
    return type(x) is Zero


def is_linear(x: Any) -> bool:
    return type(x) is Linear
