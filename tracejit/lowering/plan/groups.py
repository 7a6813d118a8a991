"""The plan of one jaxpr: which values are stored where, and which are computed in one nest."""

from __future__ import annotations

from dataclasses import field

from tracejit.ir.avals import Shape
from tracejit.ir.jaxpr import Eqn, Var
from tracejit.lowering.plan.access import Index, Stored
from tracejit.lowering.plan.chains import Chain
from tracejit.records import record

#: Instead of an index: every element is needed in a buffer (WHOLE), or through an affine view of one
#: (VIEW); the element at the nest's own position in C order (FLAT).
WHOLE, VIEW, FLAT = "whole", "view", "flat"
Site = Index | str

MAX_MEMBERS = 16  # stored values of one nest


@record(eq=False)
class Storage:
    """A place for one value at a time. `stored` is known before the emission for targets, which are
    given from outside; `owner` is the argument whose value a target holds at the start. `plain`: in
    C order, so that a reshaped value can use it."""

    stored: Stored | None = None
    owner: Var | None = None
    plain: bool = True


@record(eq=False)
class Group:
    """Equations that are computed together. `position` counts from the end of the program.

    kind: 'scalars' straight-line code; 'map' a nest over `domain`; 'rows' one outer nest over the
    first `rows` axes of `domain` with reductions over the others inside; 'columns' reductions over
    `axes` that accumulate into rows; 'boxes' a nest over `domain` with a chain of updates in it; 'single'
    one equation of its own; 'end' the outputs.
    """

    kind: str
    position: int
    domain: Shape = ()
    rows: int = 0
    axes: tuple[int, ...] = ()
    members: list[Eqn] = field(default_factory=list)
    #: Arguments and values that are copied away before the group overwrites their storage.
    preserve: list[Var] = field(default_factory=list)
    #: Where the group writes, if it overwrites a value that it may read at the same index; 'any' if
    #: everything is read before anything is written.
    writes: Index | str | None = None
    #: Whether it is an update in one piece, whose iterations can run in order.
    is_update: bool = False
    #: Values whose storage the group overwrites while it reads them.
    overwritten: list[Var] = field(default_factory=list)


@record(eq=False)
class Plan:
    """Groups in the order of execution, and where values are.

    opaque: equations that run as callbacks. cost: of inlined equations, an element. constant: Pull
    equations whose value does not depend on the index. storage: of stored values (0-d ones have none).
    relabelled: stored values -> the result of a reshape that is the same storage in another shape.
    copies: updates and regions -> {operand: output} to copy into the output's storage first.
    in_order: updates that read elements before they overwrite them in a later iteration.
    read_back: updates -> what is read where they have written it.
    starts: conditionals -> {operand: output} for outputs that start as that operand.
    chains: updates that are computed in one nest, by the last of them.
    moves: numbers of the outputs that must be moved to their target at the end.
    """

    groups: list[Group]
    opaque: set[Eqn]
    cost: dict[Eqn, float]
    constant: set[Eqn]
    storage: dict[Var, Storage] = field(default_factory=dict)
    relabelled: dict[Var, Var] = field(default_factory=dict)
    copies: dict[Eqn, dict[int, int]] = field(default_factory=dict)
    in_order: set[Eqn] = field(default_factory=set)
    read_back: dict[Eqn, Var] = field(default_factory=dict)
    starts: dict[Eqn, dict[int, int]] = field(default_factory=dict)
    chains: dict[Eqn, Chain] = field(default_factory=dict)
    moves: list[int] = field(default_factory=list)
