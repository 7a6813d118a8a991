"""The op record: everything about a primitive, stated once, with no slot left open.

Every slot is keyword-only and has no default. Absence is a named sentinel, so a
forgotten rule is an error at import and "not differentiable" never looks like
"forgotten".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, ParamSpec, Protocol

from tracejit.ir.kernel import Kernel
from tracejit.records import record

P = ParamSpec("P")


class Sentinel:
    """A named absence in a record slot."""

    __slots__ = ("name", "reason")

    def __init__(self, name: str, reason: str = "") -> None:
        self.name = name
        self.reason = reason

    def __repr__(self) -> str:
        return f"{self.name}({self.reason})" if self.reason else self.name


#: jvp slot: the op is linear in all its operands jointly; its jvp is itself on the tangents.
LINEAR = Sentinel("LINEAR")
#: jvp slot: the outputs do not vary (integers, comparisons, floor): the tangent is a known zero.
ZERO_TANGENT = Sentinel("ZERO_TANGENT")
#: linearize slot: derived from the jvp rule (primal part evaluated, tangent part recorded).
FROM_JVP = Sentinel("FROM_JVP")
#: with_series: the op is a product, linear in each of its two operands.
BILINEAR = Sentinel("BILINEAR")
#: transpose slot: the op never appears in a linear program with a linear operand.
NONLINEAR = Sentinel("NONLINEAR")
#: simplify slot: no identities.
NO_IDENTITIES = Sentinel("NO_IDENTITIES")
#: effects slot: pure.
NO_EFFECTS = Sentinel("NO_EFFECTS")
#: inplace slot: the op has no in-place form.
NO_INPLACE = Sentinel("NO_INPLACE")
#: bounds slot: nothing is known about the range of the result.
NO_BOUNDS = Sentinel("NO_BOUNDS")


def not_differentiable(reason: str) -> Sentinel:
    """jvp slot: differentiating raises NotDifferentiableError with `reason`."""
    return Sentinel("NOT_DIFFERENTIABLE", reason)


Rule = Callable[..., Any]


def with_series(jvp: Rule, series: Rule | Sentinel) -> Rule:
    """A jvp rule that says how Taylor mode computes the op, where solving from the rule would be slow:
    LINEAR (coefficient by coefficient), BILINEAR, or `(k, out, *operands, **params) -> coefficient k of the
    result`, the arguments being functions of the order that give coefficients (or Zeros)."""
    jvp.series = series  # type: ignore[attr-defined]
    return jvp


def with_linear(transpose: Rule, operands: tuple[int, ...]) -> Rule:
    """A transpose rule that says in which operands the op is linear."""
    transpose.linear = operands  # type: ignore[attr-defined]
    return transpose


def with_starts(transpose: Rule) -> Rule:
    """A transpose rule that adds to what the cotangents of its operands are so far: a `Linear` operand comes with its
    `start`, and a cotangent that has it in it is given as a `Total`."""
    transpose.starts = True  # type: ignore[attr-defined]
    return transpose


@record(frozen=True, kw_only=True, eq=False, repr=False)
class Op:
    """A primitive.

    Slots (raw values are tracers, ndarrays or NumPy scalars; params are static):

    name: unique, as printed.
    doc: one line for `python -m tracejit ops`.
    multi: False: one output; True: rules and bind give a list/tuple of outputs.
    type: `(*avals, **params) -> Aval` (a list if multi); raises ShapeError and the like.
    eval: `(*arrays, **params) -> array`, through NumPy; never mutates.
    inplace: `(x, *rest, **params) -> x`, like eval but overwriting operand 0, or NO_INPLACE.
    jvp: `(primals, tangents, **params) -> (out, tangent_out)`; tangents may be `Zero`;
        or LINEAR, ZERO_TANGENT, not_differentiable(reason).
    linearize: FROM_JVP, or `(trace, primals, tangents, params) -> (out, tangent_out)`, where
        `trace` is the TangentTrace whose `bind_linear` records tangent equations.
    transpose: `(ct, *args, **params) -> list` with one entry an operand: a cotangent, Zero,
        AddInto, Overwrite, Total, or None for operands that are not `Linear`. NONLINEAR if never transposed.
        `ct` is a list (entries may be Zero) if multi.
    batch: `(size, args, dims, **params) -> (out, out_dim)` (lists if multi); dims are ints or
        None for unbatched operands.
    simplify: tuple of functions `(eqn_view) -> replacement or None` (see passes.simplify).
    effects: NO_EFFECTS or `(params) -> frozenset of effect names`.
    bounds: `(lo_hi_of_operands, **params) -> (lo, hi)` for 0-d integer results, or NO_BOUNDS. `implied`, an attribute
        of it: `(result, lo_hi_of_operands) -> lo_hi_of_operands` where a 0-d boolean result is known.
    kernel: a kernel form (ir.kernel).
    """

    name: str
    doc: str
    multi: bool
    type: Rule
    eval: Rule
    inplace: Rule | Sentinel
    jvp: Rule | Sentinel
    linearize: Rule | Sentinel
    transpose: Rule | Sentinel
    batch: Rule
    simplify: tuple[Rule, ...] | Sentinel
    effects: Rule | Sentinel
    bounds: Rule | Sentinel
    kernel: Kernel

    def __post_init__(self) -> None:
        if self.name in REGISTRY.met:
            raise TypeError(f"op {self.name!r} is already registered")
        REGISTRY[self.name] = self

    @property
    def series(self) -> Rule | Sentinel:
        """How Taylor mode computes the op: what `with_series` says of the jvp rule. FROM_JVP: order by order."""
        return LINEAR if self.jvp is LINEAR else getattr(self.jvp, "series", FROM_JVP)

    @property
    def linear(self) -> tuple[int, ...]:
        """The operands in each of which the op is linear, the others given, as far as its transpose rule says
        so; jointly in all if `series` is LINEAR."""
        return getattr(self.transpose, "linear", ())

    @property
    def starts(self) -> bool:
        """Whether the transpose rule adds to the cotangents that there are (`with_starts`)."""
        return getattr(self.transpose, "starts", False)

    @property
    def implied(self) -> Rule | None:
        """What a boolean result says of the operands: the rule that the bounds rule carries, if it does."""
        return getattr(self.bounds, "implied", None)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        return _lookup, (self.name,)


class OpFunction(Protocol[P]):
    """A function that binds an op, the record of which is its attribute `op`."""

    __name__: str
    op: Op

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...


def binds(op: Op) -> Callable[[Callable[P, Any]], OpFunction[P]]:
    """Decorator of the function that binds `op`: it gets its attribute `op`."""

    def decorate(function: Any) -> Any:
        function.op = op
        return function

    return decorate


class Registry(MutableMapping[str, Op]):
    """Op by its name.

    Modules of ops are imported when they are first used. Who asks for what is not `met` yet, or for the names of
    all ops, imports the rest.
    """

    def __init__(self) -> None:
        self.met: dict[str, Op] = {}
        self.rest: Callable[[], object] = tuple  # imports everything that has ops; set by the package

    def __getitem__(self, name: str) -> Op:
        if name not in self.met:
            self.rest()
        return self.met[name]

    def __setitem__(self, name: str, op: Op) -> None:
        self.met[name] = op

    def __delitem__(self, name: str) -> None:
        del self.met[name]

    def __iter__(self) -> Iterator[str]:
        self.rest()
        return iter(self.met)

    def __len__(self) -> int:
        self.rest()
        return len(self.met)


REGISTRY = Registry()


def _lookup(name: str) -> Op:
    return REGISTRY[name]


def all_ops() -> Iterator[Op]:
    """Every registered primitive, by name."""
    for name in sorted(REGISTRY):
        yield REGISTRY[name]
