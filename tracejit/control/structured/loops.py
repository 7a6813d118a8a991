"""`scan`, `fori_loop`, `while_loop` and `map` for users."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit.control.cond.op  # noqa: F401  (batched loops use the op)
from tracejit import dtypes, ops, tree
from tracejit.bars.bar import END, Bar
from tracejit.control.regions.concrete import ConcreteInt
from tracejit.control.regions.intern import intern_jaxpr
from tracejit.control.regions.rules import Typed, permute
from tracejit.control.regions.staging import (
    Leaves,
    Staged,
    check_functions,
    convert,
    flatten,
    is_weak,
    stage_user,
    unaliased,
)
from tracejit.control.scan.op import scan_op
from tracejit.control.structured import python_loops, ticks
from tracejit.control.structured.blocks import STATES, batched_map, checkpointed_scan
from tracejit.control.structured.carry import Carry, stable
from tracejit.control.while_loop.op import while_op
from tracejit.errors import LoopLengthError, PredicateError, ScanResultError
from tracejit.interpreters.stage import ROOM, arg_avals, bounds_of
from tracejit.ir.avals import Aval, Dim, aval_of
from tracejit.ir.values import Value
from tracejit.records import record
from tracejit.tracing import NUMPYS, bind, box, call_user, to_raw, unbox, wrap

_I64 = dtypes.int64
_LEAF = tree.structure(0)


@record(frozen=True)
class _Trips:
    """How often a loop runs: a static number, or a traced integer with a bound (or None)."""

    static: int | None
    value: Any = None
    bound: int | None = None
    most: int | None = None  # what is known of it, where that is too much for a bound

    def index(self) -> Typed:
        """The body's index."""
        known = self.most if self.bound is None else self.bound
        most = known if self.static is None else self.static
        return Typed(Aval((), _I64), None if most is None else (0, max(most - 1, 0)))


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
    *,
    checkpoint: int | str | None = None,
    progress: str | Bar | None = None,
) -> tuple[Any, Any]:
    """A loop `carry, y = f(carry, x)` over the leading axis of `xs`: the last carry and all y stacked.

    `length` is needed only without `xs`; `reverse` runs from the last to the
    first. `unroll` is a hint: the compiler decides. (`_split_transpose` is JAX's and means nothing here.)

    `checkpoint` is for long loops in reverse mode. Without it the derivative keeps what it needs of
    every step. With 'log' it keeps some 16 states for every factor of 16 in the length, and computes the
    steps between them again, once for every such factor; an int takes the place of 16.

    `progress` is the title of a bar on the terminal, or in a notebook, that shows how far the loop is.

    Raises:
        LoopLengthError: the leaves of `xs` differ in length, or there is none and no `length`.
        CarryTypeError: the carry that `f` gives has another type than `init`.
        CarryStructureError: it has another structure.
    """
    _check_unroll(unroll)
    check_functions("scan", f=f)
    rows = flatten(xs, "xs")
    trips = _scan_trips(rows, length)
    if progress is not None:
        return _shown_scan(f, init, xs, trips, bool(reverse), checkpoint, _bar(progress))
    if checkpoint is not None and trips.static is not None:
        return checkpointed_scan(scan, f, init, xs, trips.static, bool(reverse), _states(checkpoint))

    if trips.static and python_loops.applies():
        return python_loops.scan(f, Carry.of(init), rows, trips.static, reverse, _pair)

    def body(_i: Any, c: Any, x: Any) -> Any:
        return _pair(call_user(f, c, x))

    carry, ys = _run(body, Carry.of(init), rows, trips, reverse, "scan")
    return carry, ys


def _bar(progress: str | Bar) -> Bar:
    return progress if isinstance(progress, Bar) else Bar(str(progress))


def _shown_scan(
    f: Callable[..., Any], init: Any, xs: Any, trips: _Trips, reverse: bool, checkpoint: Any, bar: Bar
) -> tuple[Any, Any]:
    """A scan that tells its position, which it counts in its carry."""
    total = trips.value if trips.static is None else trips.static

    def step(c: Any, x: Any) -> tuple[Any, Any]:
        k, carry = c
        ticks.tick(bar, to_raw(k), total)
        carry, y = _pair(call_user(f, carry, x))
        return (k + np.int64(1), carry), y

    length = trips.static
    (_, carry), ys = scan(step, (np.int64(0), init), xs, length, reverse, checkpoint=checkpoint)
    ticks.end(bar)
    return carry, ys


def _whole(x: Any, name: str) -> int:
    try:
        return operator.index(x)
    except TypeError:
        raise LoopLengthError(problem=f"{name} is {x!r}, not an integer") from None


def _check_unroll(unroll: int | bool | None) -> None:
    """`unroll` says nothing that the compiler would heed, but nonsense is refused as in JAX."""
    if unroll is not None and _whole(unroll, "unroll") < (0 if isinstance(unroll, bool) else 1):
        raise LoopLengthError(problem=f"unroll is {unroll}, not a positive number or a boolean")


def _states(checkpoint: int | str) -> int:
    """How many states a level of checkpoints keeps."""
    if checkpoint == "log":
        return STATES
    if not isinstance(checkpoint, int) or checkpoint < 2:
        raise LoopLengthError(problem=f"checkpoint is 'log' or a number from 2 on, not {checkpoint!r}")
    return checkpoint


def _pair(out: Any) -> tuple[Any, Any]:
    """What the function of a scan returned."""
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        raise ScanResultError(found=type(out).__name__)
    return out[0], out[1]


def _run(
    body: Callable[..., Any], init: Carry, rows: Leaves, trips: _Trips, reverse: bool, op: str
) -> tuple[Any, Any]:
    """A scan of `body(i, carry, x) -> (carry, y)`."""
    index = trips.index()
    slices = [Typed(_slice_aval(x)) for x in rows.raw]

    def run(carry: Carry) -> Staged:
        inputs = [index, *carry.raw, *slices]
        weak = [True, *carry.weak, *[False] * len(slices)]
        bounds = [index.bounds, *[None] * (len(inputs) - 1)]
        return stage_user(
            body, [_LEAF, init.tree, rows.tree], arg_avals(inputs), weak, op, bounds, arrays=True
        )

    carry, staged = stable(init, run, op, lambda s: s.out_tree.children()[0])
    num = len(carry.raw)
    jaxpr = _index_first(staged)
    lead = [] if trips.static is not None else [trips.value]
    params = {"length": trips.static, "bound": trips.bound, "reverse": bool(reverse)}
    counts = {"consts": len(staged.consts), "carry": num}
    outs = bind(scan_op, *lead, *staged.consts, *carry.raw, *rows.raw, jaxpr=jaxpr, **params, **counts)
    outs = unaliased(outs, (*staged.consts, *carry.raw, *rows.raw))
    final, ys = staged.out_tree.children()
    values = [wrap(x, w and NUMPYS) for x, w in zip(outs[:num], carry.weak, strict=True)]
    return tree.unflatten(final, values), tree.unflatten(ys, [wrap(y) for y in outs[num:]])


def _index_first(staged: Staged) -> Any:
    """The body over (i, *consts, …)."""
    k = len(staged.consts)
    return intern_jaxpr(permute(staged.jaxpr, [k, *range(k), *range(k + 1, len(staged.jaxpr.invars))]))


def _slice_aval(x: Any) -> Aval:
    aval = aval_of(x)
    if not aval.shape:
        raise LoopLengthError(problem="a leaf of xs has no axis to loop over")
    return aval.with_shape(aval.shape[1:])


def _scan_trips(rows: Leaves, length: Any) -> _Trips:
    """The trip count that the leaves of xs and `length` agree on."""
    if length is not None:
        if isinstance(unbox(length), Value):
            raise LoopLengthError(problem="length is traced; fori_loop takes a traced number of steps")
        length = _whole(unbox(length), "length")
        if length < 0:
            raise LoopLengthError(problem=f"length is {length}")
    found: Any = length
    for x, path in zip(rows.raw, tree.paths(rows.tree, "xs"), strict=True):
        if not aval_of(x).shape:
            raise LoopLengthError(problem=f"{path} has no axis to loop over")
        n = aval_of(x).shape[0]
        if found is not None and n != found:
            raise LoopLengthError(problem=f"{path} has length {n} where {found} was expected")
        found = n
    if found is None:
        raise LoopLengthError(problem="there is neither xs nor length")
    if isinstance(found, Dim):
        return _Trips(None, found.var, found.bound)
    return _Trips(found)


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
    progress: str | Bar | None = None,
) -> Any:
    """`for i in range(lower, upper): val = body_fun(i, val)` as one loop; the bounds may be traced.

    `progress` is the title of a bar on the terminal, or in a notebook, that shows how far the loop is.

    Raises:
        LoopLengthError: the bounds are not integers.
        CarryTypeError: `body_fun` gives another type than it takes.
        CarryStructureError: it gives another structure.
    """
    _check_unroll(unroll)
    check_functions("fori_loop", body_fun=body_fun)
    lo, hi = (_loop_bound(x, name) for x, name in ((lower, "lower"), (upper, "upper")))
    weak = is_weak(lower) and is_weak(upper)
    strong = [aval_of(x).dtype for x, given in ((lo, lower), (hi, upper)) if not is_weak(given)]
    dtype = np.result_type(*strong) if strong else _I64
    lo, hi = convert(lo, _I64), convert(hi, _I64)

    trips = _fori_trips(lo, hi)
    if progress is not None:
        bar, first, total = _bar(progress), lo, trips.value if trips.static is None else trips.static

        def step(i: Any, val: Any) -> Any:
            ticks.tick(bar, ops.arithmetic.sub(convert(to_raw(i), _I64), first), total)
            return call_user(body_fun, i, val)

        out = fori_loop(lower, upper, step, init_val)
        ticks.end(bar)
        return out
    if trips.static and python_loops.applies():
        index = ConcreteInt if weak else dtype.type
        return python_loops.fori_loop(body_fun, Carry.of(init_val), range(int(lo), int(hi)), index)

    def body(i: Any, c: Any, _x: Any) -> Any:
        raw = i.read()
        if isinstance(lo, Value) or int(lo):
            raw = ops.arithmetic.add(raw, lo)
        return call_user(body_fun, box(convert(raw, dtype), weak), c), None

    return _run(body, Carry.of(init_val), flatten(None), trips, False, "fori_loop")[0]


def _loop_bound(x: Any, name: str) -> Any:
    raw = to_raw(x, f"{name} of fori_loop")
    aval = aval_of(raw)
    if aval.shape != () or not dtypes.is_integer(aval.dtype):
        raise LoopLengthError(problem=f"{name} is {aval}, not an integer")
    return raw


def _fori_trips(lo: Any, hi: Any) -> _Trips:
    if not isinstance(lo, Value) and not isinstance(hi, Value):
        return _Trips(max(int(hi) - int(lo), 0))
    known_zero = not isinstance(lo, Value) and int(lo) == 0
    n = hi if known_zero else ops.arithmetic.sub(hi, lo)
    n = ops.arithmetic.maximum(n, np.int64(0))
    known = bounds_of(n)
    most = None if known is None else max(known[1], 0)
    return _Trips(None, n, None if most is None or most > ROOM else most, most)


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """`f` applied to each slice along the leading axis of `xs`, results stacked.

    With `batch_size` it is applied to that many slices at once, as `vmap` does.

    Raises:
        LoopLengthError: as `scan`, or `batch_size` is not positive.
    """
    check_functions("map", f=f)
    if batch_size is not None:
        trips = _scan_trips(flatten(xs), None)
        if batch_size < 1:
            raise LoopLengthError(problem=f"batch_size is {batch_size}")
        if trips.static is not None:
            return batched_map(scan, f, xs, trips.static, int(batch_size))
    return scan(lambda c, x: (c, call_user(f, x)), None, xs)[1]


def while_loop(
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    init_val: Any,
    *,
    progress: str | Bar | None = None,
) -> Any:
    """`while cond_fun(val): val = body_fun(val)` as one loop.

    `progress` is the title of a bar on the terminal, or in a notebook, that counts the steps.

    In reverse mode the loop runs once and pushes what the derivative needs of each step on a tape, whose size
    doubles where it is full; a second loop walks it back. In a loop around it that is differentiated too, the
    inner loops run again on the way back, one at a time, so that one tape serves them all.

    Raises:
        PredicateError: `cond_fun` does not give a boolean of no dimensions.
        CarryTypeError: `body_fun` gives another type than it takes.
        CarryStructureError: it gives another structure.
        MemoryError: there is none for the tape.
    """
    check_functions("while_loop", cond_fun=cond_fun, body_fun=body_fun)
    if progress is not None:
        return _shown_while(cond_fun, body_fun, init_val, _bar(progress))
    init = Carry.of(init_val)
    if python_loops.applies():
        init, result, done = python_loops.while_loop(
            lambda c: _predicate(call_user(cond_fun, c)), body_fun, init
        )
        if done:
            return result

    def staged(fn: Callable[..., Any], carry: Carry) -> Staged:
        return stage_user(fn, [init.tree], arg_avals(carry.raw), carry.weak, "while_loop", arrays=True)

    carry, body = stable(init, lambda c: staged(body_fun, c), "while_loop", lambda s: s.out_tree)
    cond = staged(lambda c: _predicate(call_user(cond_fun, c)), carry)
    outs = bind(
        while_op,
        *cond.consts,
        *body.consts,
        *carry.raw,
        cond=intern_jaxpr(cond.jaxpr),
        body=intern_jaxpr(body.jaxpr),
        cond_consts=len(cond.consts),
        body_consts=len(body.consts),
    )
    outs = unaliased(outs, (*cond.consts, *body.consts, *carry.raw))
    return tree.unflatten(init.tree, [wrap(x, w and NUMPYS) for x, w in zip(outs, carry.weak, strict=True)])


def _shown_while(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any, bar: Bar) -> Any:
    """A while loop that tells its position, which it counts in its carry."""

    def step(c: Any) -> Any:
        k, val = c
        ticks.tick(bar, to_raw(k), END)
        return k + np.int64(1), call_user(body_fun, val)

    _, out = while_loop(lambda c: call_user(cond_fun, c[1]), step, (np.int64(0), init))
    ticks.end(bar)
    return out


def _predicate(x: Any) -> Any:
    """What `cond_fun` returned, as a boolean."""
    if not tree.structure(x).is_leaf():
        raise PredicateError(
            op="while_loop", aval=tree.show(tree.structure(x)), wanted="a boolean of no dimensions"
        )
    raw = to_raw(x, "the condition of while_loop")
    aval = aval_of(raw)
    if aval.shape != () or dtypes.is_complex(aval.dtype):
        raise PredicateError(op="while_loop", aval=str(aval), wanted="a boolean of no dimensions")
    return raw if aval.dtype == dtypes.bool_ else box(ops.compare.ne(raw, aval.dtype.type(0)))
