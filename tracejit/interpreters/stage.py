"""Staging: run a function on variables and record the equations as a jaxpr."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, tree
from tracejit.config import config
from tracejit.errors import LeakedTracerError, TracejitError, refusals
from tracejit.interpreters import budget, messages
from tracejit.ir.avals import Aval, Dim, aval_of
from tracejit.ir.check import apply_type_rule, check_jaxpr, with_outputs
from tracejit.ir.elsewhere import is_elsewhere
from tracejit.ir.jaxpr import Eqn, Jaxpr, Literal, Var, effects_of
from tracejit.ir.kernel import Permute, Pointwise, Pull, Repeat
from tracejit.ir.lent import Lent
from tracejit.ir.primitive import NO_EFFECTS, Op, Sentinel
from tracejit.ir.source import user_source
from tracejit.ir.values import Value, origin
from tracejit.ops.creation import times
from tracejit.ops.creation.constant import constant_op
from tracejit.ops.shapes.broadcast import broadcast_in_dim_op
from tracejit.tracing import Trace, box, check_live, current_trace, new_trace, to_raw

# Constants up to this many elements are computed while tracing, so that Python may branch on
# them and index with them; larger ones are computed by the compiled program.
SMALL_CONSTANT = 4096
_BOOL = np.dtype(bool)
#: Numbers up to this bound sizes. What is computed from arguments is known to be small, but may be much smaller.
ROOM = 1 << 20


class StageTrace(Trace):
    """Records equations. Values that are not its own become constants: leading invars."""

    def __init__(self, parent: Trace | None, name: str = "", eager_constants: bool = False) -> None:
        super().__init__(parent)
        self.staged = True
        self.name = name
        self.eager_constants = eager_constants
        self.eqns: list[Eqn] = []
        self.const_vars: list[Var] = []
        self.consts: list[Any] = []
        #: Whether whatever is computed of known integers is known, however large: where elements of sparse arrays are.
        self.structures = isinstance(parent, StageTrace) and parent.structures
        self.arrays = False  # numbers are arrays to the user's code, as in JAX: in functions given to `lax`
        #: A number that may be Python's was taken for NumPy's, which raises other exceptions.
        self.settled = False
        self.lent: Lent = parent.lent if isinstance(parent, StageTrace) else Lent()
        #: Whether arguments could be known while tracing that decide these values: of the trace of a jitted function.
        self.decides: Callable[[Sequence[Any]], bool] | None = None
        #: Takes a variable to have a value, which the program checks; of such a trace too (`api.assumed`).
        self.assume: Callable[[Var, Callable[[], Exception]], Any] | None = None
        #: The value of a variable in the call for which is traced, None where it is not known; likewise.
        self.now: Callable[[Var], Any] | None = None
        self.mixed = False  # in the step of a loop that it stages, a number may be of one of two types
        #: Of its carry: what begins as a number of Python's of another type.
        self.begun: frozenset[Var] = frozenset()
        #: Of each loop in it: its steps, and how many of them it takes to turn a type (`frontend.rewrite`).
        self.loops: list[tuple[Any, int]] = []
        self.first: Any = None  # whether it is the first, where numbers may be Python's, later NumPy's
        self.first_asked = False  # whether anybody has asked for their class
        #: The number of such a step, if it is known how many there are: what can't be native is unrolled then.
        self.step_number: Var | None = None
        #: Is told of each operation: where floating-point errors are seen (`frontend.outside.floating`).
        self.watch: Callable[..., None] | None = parent.watch if isinstance(parent, StageTrace) else None
        self._const_of: dict[int, Var] = {}
        self._value_of: dict[int, Any] = {}  # of each constant's variable
        self._repeated: list[np.ndarray] = []  # kept, since `_const_of` and `_computed` know them by id
        self._computed: set[int] = set()  # small arrays of one repeated number, computed while tracing

    def arg(self, aval: Aval, bounds: tuple[int, int] | None = None) -> Var:
        """A new input. The Dims of `aval` must be this trace's variables already."""
        return Var(self, aval, bounds)

    def lend(self, x: np.ndarray) -> np.ndarray:
        return self.lent.of(x)

    def process(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if self.watch is not None and not _is_of_integers(op, args, params):  # numbers are the program's then
            outs = self.record(op, args, params)
            self.watch(self, op, args, outs, params)
            return outs
        if self.eager_constants and op is not constant_op and self._is_computed(op, args, params):
            out = op.eval(*args, **params) if op.effects is NO_EFFECTS else _checked(op, args, params)
            if out is None:
                return self.record(op, args, params)
            alike = np.size(out) == 1 or (_keeps_alike(op) and all(map(self._is_repeated, args)))
            if alike and type(out) is np.ndarray:
                self._computed.add(id(out))
                self._repeated.append(out)
            return out
        return self.record(op, args, params)

    def _is_computed(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> bool:
        """Whether a result is computed while tracing."""
        return _is_small_constant(op, args, params) or (self.structures and _is_of_integers(op, args, params))

    def record(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Append an equation; gives its variables. A constant of another program is one of this."""
        if op is constant_op:
            return self.lift(params["value"].array)
        atoms = tuple([a if type(a) is Var and a.trace is self else self._operand(a) for a in args])
        types = apply_type_rule(op, atoms, params)
        if dtypes.TIMES:
            times.judge(op, [a.aval for a in atoms], types)
        outs: list[Var] = []
        for t in types:
            outs.append(Var(self, with_outputs(t, outs), _result_bounds(op, atoms, params, t)))
        eqn = Eqn(op, atoms, tuple(outs), params, user_source(), effects_of(op, params))
        eqn.checked = op.effects is NO_EFFECTS  # has no bodies, and its types are those of the rule
        self.eqns.append(eqn)
        budget.record()
        if not len(self.eqns) % 256:
            self._look_at_time()
        return outs if op.multi else outs[0]

    def _look_at_time(self) -> None:
        budget.check("tracing it")
        if not budget.is_long():
            return
        counts = Counter(e.source and e.source.full() for e in self.eqns)
        place, most = counts.most_common(1)[0]
        messages.tell(
            f"tracing takes long: {len(self.eqns)} operations so far, {most} of them at {place or 'no known place'}"
        )

    def _operand(self, x: Any) -> Var | Literal:
        """A constant as an operand. One number that was repeated while tracing is repeated by the program: then
        the program holds no array, and is the same one for other sizes."""
        if type(x) is not np.ndarray or id(x) in self._const_of or not x.size or not self._is_repeated(x):
            return self.lift(x)
        if x.ndim == 0:
            return Literal(x.dtype.type(x[()]))
        params = {"shape": x.shape, "broadcast_dimensions": (), "bounds": ()}
        self._const_of[id(x)] = var = self.record(broadcast_in_dim_op, (x.flat[0],), params)
        self._repeated.append(x)
        return var

    def _is_repeated(self, x: Any) -> bool:
        """Whether all elements of a constant are one number, because it was made so while tracing."""
        if type(x) is not np.ndarray or not any(x.strides):
            return True
        # Python may have written into it since.
        return id(x) in self._computed and x.size > 0 and x.tobytes() == x.flat[0].tobytes() * x.size

    def lift(self, x: Any) -> Var | Literal:
        """A constant as an atom: NumPy scalars as literals, arrays and outer tracers as constant inputs."""
        if type(x) is Var and x.trace is self:
            return x
        if isinstance(x, np.generic):
            return Literal(x)
        if isinstance(x, (bool, int, float, complex)):
            return Literal(np.asarray(x).dtype.type(x))
        var = self._const_of.get(id(x))
        if var is None:
            var = self._new_const(x)
        return var

    def _new_const(self, x: Any) -> Var:
        if isinstance(x, Value):
            check_live(x)
            if x.trace.level >= self.level:
                return self.lift(captured(x))  # type: ignore[return-value]
        aval = aval_of(x)
        if not aval.is_static:
            aval = aval.with_shape(tuple(self._lift_dim(d) for d in aval.shape))
        var = Var(self, aval, bounds_of(x))
        self._const_of[id(x)] = var
        self.const_vars.append(var)
        self.consts.append(x)
        self._value_of[id(var)] = x
        return var

    def position(self, x: Any) -> int:
        """The number of the constant `x`."""
        var = self.lift(x)
        return next(n for n, v in enumerate(self.const_vars) if v is var)

    def constant_of(self, var: Var) -> Any:
        """The value of a constant input; None if `var` is another variable."""
        value = self._value_of.get(id(var))
        return value() if type(value) is weakref.ref else value

    def _lift_dim(self, d: Any) -> Any:
        return Dim(self.lift(d.var), d.bound) if isinstance(d, Dim) else d

    def freeze(self, invars: Sequence[Var], outs: Sequence[Any]) -> tuple[Jaxpr, list[Any]]:
        """(jaxpr, consts): the constants' variables come first among the jaxpr's invars."""
        atoms = tuple([self._operand(x) for x in outs])
        jaxpr = Jaxpr((*self.const_vars, *invars), tuple(self.eqns), atoms, self.name)
        if config.check_types:
            check_jaxpr(jaxpr)
        return jaxpr, list(self.consts)

    def let_go(self) -> None:
        """Hold constants weakly, in the end: variables of the program hold their trace."""
        self.consts.clear()
        self.decides = self.assume = self.now = None  # they know the arguments
        self._const_of.clear()
        self.lent = Lent()
        self._value_of = {
            k: weakref.ref(x) if type(x) is np.ndarray else x for k, x in self._value_of.items()
        }


def captured(x: Any) -> Any:
    """The array that `x`, a variable of a program that is still recorded, is the constant for.

    Jaxprs are transformed apart from the program that is recorded meanwhile; users' rules run there, and
    what they capture by name are constants of that program.

    Raises:
        LeakedTracerError: it is no constant.
    """
    known = x
    while type(known) is Var and isinstance(known.trace, StageTrace):
        known = known.trace.constant_of(known)
    if known is None or isinstance(known, Value):
        raise LeakedTracerError(value=origin(x))
    return known


def _is_small_constant(op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> bool:
    if op.effects is not NO_EFFECTS or op.multi or any(isinstance(a, Value) for a in args):
        return False
    if "axis_name" in params:  # what is constant here differs between the lanes of a vmap outside
        return False
    if not isinstance(op.kernel, (Pointwise, Pull)) and any(np.size(a) > SMALL_CONSTANT for a in args):
        return False
    out = op.type(*(aval_of(a) for a in args), **params)
    return out.is_static and out.size <= SMALL_CONSTANT


def _is_of_integers(op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> bool:
    """Whether an operation makes integers or truth values of known ones."""
    if not args or "axis_name" in params or not effects_of(op, params) <= {"error"}:
        return False
    if any(isinstance(a, Value) or aval_of(a).dtype.kind not in "iub" for a in args):
        return False
    outs = op.type(*(aval_of(a) for a in args), **params)
    return all(out.is_static and out.dtype.kind in "iub" for out in (outs if op.multi else (outs,)))


def _checked(op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """What a check gives; None where it fails, which is when the program runs."""
    try:
        with refusals.attempt(TracejitError):
            return op.eval(*args, **params)
    except TracejitError:
        return None


def _keeps_alike(op: Op) -> bool:
    """Whether a result is one repeated number if all operands are."""
    kernel = op.kernel
    return isinstance(kernel, (Pointwise, Repeat, Permute)) or (isinstance(kernel, Pull) and kernel.alias)


def _result_bounds(op: Op, atoms: Any, params: dict[str, Any], t: Aval) -> tuple[int, int] | None:
    if t.shape != () or t.dtype.kind not in "iu" or isinstance(op.bounds, Sentinel):
        return None
    found = op.bounds([(0, 1) if a.aval.dtype == _BOOL else bounds_of(a) for a in atoms], **params)
    info = np.iinfo(t.dtype)
    # The rules compute with unbounded integers; where the result may wrap around, nothing is known.
    return found if found is not None and info.min <= found[0] and found[1] <= info.max else None


def bounds_of(x: Any) -> tuple[int, int] | None:
    """(lo, hi) of a 0-d integer raw value when its range is known, else None."""
    if type(x) is Var:
        return x.bounds
    if type(x) is Literal:
        x = x.value
    if isinstance(x, Value):
        inner = getattr(x, "primal", None)
        return None if inner is None else bounds_of(inner)
    if np.ndim(x) == 0 and not is_elsewhere(x) and np.asarray(x).dtype.kind in "iu":
        return int(x), int(x)
    return None  # to read a number of a device is to wait for it


def stage(
    fn: Callable[..., Sequence[Any]],
    avals: Sequence[Aval],
    name: str = "",
    bounds: Sequence[tuple[int, int] | None] | None = None,
    eager_constants: bool = False,
    arrays: bool = False,
) -> tuple[Jaxpr, list[Any]]:
    """Trace `fn(*raw) -> list of raw` at `avals` into (jaxpr, consts).

    jaxpr.invars = constants' variables + arguments. Static avals only, or avals whose Dims
    are given as `Dim(ArgRef(n), bound)`: the value of argument n. With `eager_constants`
    small computations on constants happen while tracing (user code may branch on them). With `arrays`
    numbers have the attributes of arrays.
    """
    trace = StageTrace(current_trace(), name, eager_constants)
    trace.arrays = arrays
    args = make_args(trace, avals, bounds)
    with new_trace(trace):
        outs = fn(*args)
        return trace.freeze(args, outs)


def make_args(trace: StageTrace, avals: Sequence[Aval], bounds: Any = None) -> list[Var]:
    """Fresh inputs of `trace`, one an aval; Dims that refer to arguments (`ArgRef`) are resolved."""
    args: list[Any] = [None] * len(avals)
    order = sorted(range(len(avals)), key=lambda n: not avals[n].is_static)
    for n in order:
        aval = avals[n]
        if not aval.is_static:
            aval = aval.with_shape(tuple(_arg_dim(d, args, trace) for d in aval.shape))
        args[n] = trace.arg(aval, bounds[n] if bounds else None)
    return args


class ArgRef:
    """In an input aval given to `stage`: the value of argument `index` as an extent."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArgRef) and other.index == self.index

    def __hash__(self) -> int:
        return hash(("ArgRef", self.index))


def _arg_dim(d: Any, args: list[Any], trace: StageTrace) -> Any:
    if not isinstance(d, Dim):
        return d
    if isinstance(d.var, ArgRef):
        return Dim(args[d.var.index], d.bound)
    return Dim(trace.lift(d.var), d.bound)


def arg_avals(values: Sequence[Any]) -> list[Aval]:
    """The avals of raw values as inputs for `stage`: extents that are among the values become ArgRefs."""
    position = {id(v): n for n, v in enumerate(values)}
    return [_with_arg_refs(aval_of(v), position) for v in values]


def _with_arg_refs(aval: Aval, position: dict[int, int]) -> Aval:
    if aval.is_static:
        return aval
    return aval.with_shape(
        tuple(
            Dim(ArgRef(position[id(d.var)]), d.bound) if isinstance(d, Dim) and id(d.var) in position else d
            for d in aval.shape
        )
    )


def jaxpr_arg_avals(jaxpr: Jaxpr) -> list[Aval]:
    """The input avals of `jaxpr` in the form `stage` takes."""
    return arg_avals(jaxpr.invars)


def stage_fun(
    fn: Callable[..., Any],
    in_tree: Any,
    avals: Sequence[Aval],
    name: str = "",
    bounds: Sequence[tuple[int, int] | None] | None = None,
    weak: Sequence[bool] | None = None,
) -> tuple[Jaxpr, list[Any], Any, list[Any]]:
    """Trace a user's function of boxes: (jaxpr, consts, out_tree, argument boxes).

    `fn(*args)` is called with the unflattened tuple `in_tree` of fresh boxes (its own copies).
    """
    out_tree: list[Any] = []
    boxes: list[Any] = []

    def flat(*raw: Any) -> list[Any]:
        flags = weak or [False] * len(raw)
        boxes.extend(box(r, w) for r, w in zip(raw, flags, strict=True))
        out = fn(*tree.unflatten(in_tree, boxes))
        leaves, structure = tree.flatten(out)
        out_tree.append(structure)
        return [to_raw(x) for x in leaves]

    jaxpr, consts = stage(flat, avals, name, bounds, eager_constants=True)
    return jaxpr, consts, out_tree[0], boxes


def is_staging() -> bool:
    """Whether a program is being recorded, by the current trace or one around it."""
    trace = current_trace()
    while trace is not None and not isinstance(trace, StageTrace):
        trace = trace.parent
    return trace is not None
