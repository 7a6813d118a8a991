"""What the lowering decided and why, as data: `explain` puts it into words.

The code that decides writes a `Note` where it does. Notes are only taken where a program is lowered for `explain`:
everywhere else there is no `Notes`, and nothing is kept. A note's rule is a name; what the rules mean, and what a user
can do about them, is said in `api/explaining/words.py`.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import Any

from tracejit.ir.avals import Aval
from tracejit.ir.jaxpr import Eqn
from tracejit.ir.source import Source
from tracejit.records import record


@record(frozen=True)
class Note:
    """One decision. `rule`: its name; `what`: the operation, value or loop that it is about, as `exp f64[100]`;
    `source`: the user's line; `facts`: numbers and names that the rule's words speak of."""

    rule: str
    what: str
    source: Source | None = None
    facts: dict[str, Any] = field(default_factory=dict)


class Notes:
    """The notes of one lowering, in the order in which they were taken; and what it made, for `outline`: `bodies`, that
    of the program first, the equations of comments, and the first and last statement of each buffer."""

    def __init__(self) -> None:
        self.found: list[Note] = []
        self.bodies: list[Any] = []
        self.comments: dict[Any, Eqn] = {}
        self.spans: dict[Any, tuple[int, int]] = {}

    def add(self, rule: str, what: str, source: Source | None = None, **facts: Any) -> None:
        """Take a note."""
        self.found.append(Note(rule, what, source, facts))

    def about(self, rule: str, eqn: Eqn, **facts: Any) -> None:
        """Take a note about an equation and its first result."""
        self.add(rule, named(eqn), eqn.source, **facts)


def named(eqn: Eqn) -> str:
    """An equation in short: its operation, and the type of what it gives first."""
    return f"{eqn.op.name} {type_of(eqn.outvars[0].aval)}" if eqn.outvars else eqn.op.name


def type_of(aval: Aval | str) -> str:
    """A type, or words with one, as it is told: an extent that only a run knows has no name there, only its bound:
    `f64[?]`, `f64[<=9]`."""
    return re.sub(r"\w+<=", "<=", str(aval)).replace("<=?", "?")


def value_of(made: Eqn | None, aval: Aval) -> str:
    """A value in short, by the equation that makes it. What none makes comes from outside of the program or loop."""
    return named(made) if made else f"argument or constant {type_of(aval)}"


def place(eqn: Eqn | None) -> str:
    """An equation in short, with its line: how notes refer to others."""
    if eqn is None:
        return "another operation"
    return f"{eqn.op.name} ({eqn.source})" if eqn.source else eqn.op.name


def room(aval: Aval) -> int:
    """The bytes of a value."""
    return aval.size * aval.dtype.itemsize
