"""`for` and `while` of users' functions: native loops, or Python's."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tracejit import control, ops
from tracejit.config import config
from tracejit.control.regions.rules import Typed
from tracejit.errors import refusals
from tracejit.errors.refusals import attempt
from tracejit.frontend.rewrite.blocks import decisions
from tracejit.frontend.rewrite.blocks.cells import cells_of, get, put
from tracejit.frontend.rewrite.blocks.decisions import (
    MOST_COUNTED,
    capturing,
    decide,
    perhaps_never,
    reason_of,
    refusal,
    times,
)  # fmt: skip
from tracejit.frontend.rewrite.blocks.grown import Lists
from tracejit.frontend.rewrite.blocks.results import Result
from tracejit.frontend.rewrite.blocks.staged import Stager
from tracejit.frontend.rewrite.blocks.terms import NotNative, Permuted, Spec
from tracejit.frontend.rewrite.hooks import branches, conditions
from tracejit.frontend.rewrite.hooks.iterables import steps_of
from tracejit.frontend.rewrite.hooks.lazies import Asked, Lazy, spend, taken, walked
from tracejit.frontend.rewrite.hooks.nests import Nest
from tracejit.frontend.rewrite.hooks.predicates import asked, raw_truth, truth
from tracejit.frontend.rewrite.hooks.steps import Steps
from tracejit.frontend.rewrite.hooks.taken import is_step_taken
from tracejit.interpreters import budget
from tracejit.interpreters.core import rename_dims
from tracejit.interpreters.stage import bounds_of
from tracejit.ir.avals import Aval, Dim, aval_of
from tracejit.ir.jaxpr import Jaxpr, Var
from tracejit.numpy.boxes import extents
from tracejit.tracing import bind

_I64 = np.dtype(np.int64)
#: Steps that run in Python before a loop, until the types of its variables are those of later steps.
MAX_PEELED = 3
#: Short loops with more loops than this in each other in their bodies are not unrolled: programs would be too large.
MOST_UNROLLED = 2
_OTHERS = "others may take from this `itertools.count`, but not from one that is made in the line of the loop"
_END = object()  # after the last item: `for` would ask an iterator for its `__iter__` once more
Block = Callable[..., None]


class _PurePython(NotNative):
    """Nothing in the loop is traced: Python computes it once."""

    def __init__(self) -> None:
        super().__init__("it computes with Python's own numbers only")


def loop(iterable: Any, body: Block, spec: tuple[Any, ...]) -> None:
    """`for item in iterable: body(item)`."""
    references = sys.getrefcount(iterable)
    s = Spec(*spec)
    session = capturing()
    if session is None:
        _python_for(iter(iterable), body, s)
        return
    steps = steps_of(iterable)
    if steps is None or (steps.endless and not s.stops):
        what = f"the rest of {iterable.what}" if type(iterable) is Lazy else f"a {type(iterable).__name__}"
        decide(session, body, s, f"unrolled: it runs over {what}")
        endless = steps is not None or type(iterable) is itertools.count
        run = Asked(iterable, references)
        least = run.why_not_more() if s.stops and not endless else None
        spend(iterable, _python_for(run.items, body, s, _OTHERS if endless else None, least))
        if s.stops:
            run.leave()
    else:
        with walked(iterable):
            native = _for(session, iterable, steps, body, s)
        steps.end()
        if native and type(iterable) is Lazy:
            iterable.spend(wholly=not s.stops)


def _for(session: Any, iterable: Any, steps: Steps, body: Block, s: Spec) -> bool:
    """A loop over `steps`, which are those of `iterable`. Whether Python's position in that is another."""
    if isinstance(steps, Nest):
        with taken(iterable):
            _nested_for(session, steps, body, s)
    elif type(steps.count) is not int:
        fills_lists = not s.stops and bool(Lists(s, cells_of(body), session.growing).lists)
        if fills_lists and session.by_count and extents.decided_outside([steps.count]):
            raise decisions.asks_for_count(body, s, steps.count)
        try:
            with taken(iterable), perhaps_never(body, s):
                _native_for(steps, body, s)
        except NotNative as e:
            error = refusal(e, body, s)
            error.fills_lists = fills_lists
            raise error from e
        decide(session, body, s, "native loop of a traced number of steps")
    elif steps.count <= config.unroll and decisions.loops_inside(body.__code__) <= MOST_UNROLLED:
        decide(session, body, s, f"unrolled: {times(steps.count)}, which is short")
        spend(iterable, _python_for(iter(iterable), body, s))
        return False
    else:
        return _long_for(session, iterable, steps, body, s)
    return True


class _Around:
    """A block that calls the user's, and to the hooks is the user's."""

    def __init__(self, body: Block, call: Callable[[Any], None]) -> None:
        self.of = getattr(body, "of", body)
        self.__code__, self.__closure__ = body.__code__, body.__closure__
        self._call = call

    def __call__(self, item: Any) -> None:
        self._call(item)


def _nested_for(session: Any, nest: Nest, body: Block, s: Spec) -> None:
    """A loop over what is outside, and in it one over the rest."""

    def outer(item: Any) -> None:
        rest = nest.rest(item)
        if rest is None:
            body(nest.whole(item, ()))
        else:
            inner = _Around(body, lambda others: body(nest.whole(item, others)))
            _for(session, rest, rest, inner, s)

    _for(session, nest.outermost, nest.outermost, _Around(body, outer), s)


def _long_for(session: Any, iterable: Any, steps: Steps, body: Block, s: Spec) -> bool:
    """A loop of a known number of steps: native if it can be, else unrolled. Whether it is native."""
    items = iter(iterable)
    count = steps.count
    lists = None if s.stops else Lists(s, cells_of(body), session.growing)
    reason, numbers = "", False
    for peeled in range(MAX_PEELED):
        try:
            with attempt(Exception), taken(iterable):
                _native_for(steps.after(peeled), body, s, pure=True, lists=lists, mixes=peeled > 0)
            rest = f", {peeled} of them before it" if peeled else ""
            length = f" of {count} steps" if count < MOST_COUNTED else ""
            decide(session, body, s, f"native loop{length}{rest}")
            if steps.endless and len(s.stops) == 1:  # nothing else ends it
                put(cells_of(body)[s.stops[0]], True)
            return True
        except Exception as e:
            reason = e.reason if isinstance(e, NotNative) else reason_of(e)
            numbers = numbers or getattr(e, "numbers_tuples", False)
            left = peeled > 0 and s.stops and truth(_stopped(body, s)) is None  # by the steps before, perhaps
            if left or not _may_settle(e, s) or peeled + 1 == MAX_PEELED:
                break
        body(next(items))
        if s.stops and truth(_stopped(body, s)):
            break
    decide(session, body, s, f"unrolled: {times(count)}, because {reason}")
    endless = reason if steps.endless else None
    more = False
    with decisions.perhaps_numbered(numbers):
        if not s.stops or truth(_stopped(body, s)) is False:
            more = _python_for(items, body, s, endless)
        elif truth(_stopped(body, s)) is None:
            _guarded(items, body, s, endless)
            more = True
    spend(iterable, more)
    return False


def _may_settle(e: BaseException, s: Spec) -> bool:
    """Whether it may be native after one more step in Python."""
    return (isinstance(e, NotNative) and e.peel) or (isinstance(e, NameError) and e.name in s.keep)


def _python_for(
    items: Iterator[Any], body: Block, s: Spec, endless: str | None = None, least: str | None = None
) -> bool:
    """The loop, step by step. `endless`: why it is not native, if it ends by nothing but its flags; `least`: why no
    item may be taken after them. Whether more may have been taken than the program's loop does."""
    while (item := next(items, _END)) is not _END:
        budget.step()
        body(item)
        if s.stops:
            stopped = truth(_stopped(body, s))
            if stopped is None and least is not None:
                stopped = _is_left(body, s, least)
            if stopped is None:  # it is decided when the program runs
                _guarded(items, body, s, endless)
                return True
            if stopped:
                break
    return False


def _is_left(body: Block, s: Spec, reason: str) -> bool:
    """Whether this call leaves the loop here, which the program checks."""
    met = len(refusals.met())
    go_on = raw_truth(conditions.not_(_stopped(body, s)))
    if not is_step_taken(go_on, refusal(NotNative(reason), body, s), met):
        return True
    for name in s.stops:
        put(cells_of(body)[name], False)
    return False


def _guarded(items: Iterator[Any], body: Block, s: Spec, endless: str | None = None) -> None:
    """The rest of an unrolled loop that a traced condition may have ended."""
    if endless is not None:
        raise refusal(NotNative(f"it has no last step, and can't be native: {endless}"), body, s)
    while (item := next(items, _END)) is not _END:
        go_on = conditions.not_(_stopped(body, s))
        branches.run_if(go_on, lambda item=item: body(item), None, s, body)


def _stopped(body: Block, s: Spec) -> Any:
    """Whether one of the loop's flags is set."""
    cells = cells_of(body)
    return conditions.or_(False, *(lambda n=n: get(cells[n]) for n in s.stops))


def _native_for(
    steps: Steps, body: Block, s: Spec, pure: bool = False, lists: Lists | None = None, mixes: bool = True
) -> None:
    """The loop as a scan, or as a while loop if a flag can stop it. Raises NotNative."""
    count = steps.count
    most = extents.greatest(count)
    fold = 1

    def step(k: Any) -> None:
        for j in range(fold):
            body(steps.item(extents.add(extents.mul(k, fold), j)))

    def finish(k: Any) -> list[Any]:
        if not s.stops:
            return []
        more = ops.compare.lt(extents.add(k, 1), np.int64(count) if type(count) is int else count)
        return [ops.compare.and_(more, raw_truth(conditions.not_(_stopped(body, s))))]

    stager = Stager(s, (body,), step, finish, _choices(), lists)
    stager.turns.mixes = mixes
    stager.lengths.known_too = type(count) is not int
    position = Typed(Aval((), _I64), None if most is None else (0, max(most - 1, 0)))
    with _growing(lists):
        try:
            result = stager.run(position, exact=pure)
        except Permuted as e:
            if s.stops or type(count) is not int:
                stager.permuted = True
            else:
                fold = e.fold
                stager.keep_arrays(e)
            result = stager.run(position, exact=pure)
    if pure and result.pure_python:
        raise _PurePython
    if s.stops:
        _bind_stopped(result, count, _stopped(body, s), body, s)
        return
    _bind_scan(result, steps.every(fold).count, body)
    if fold > 1:
        for n in range(count // fold * fold, count):
            body(steps.item(n))


@contextlib.contextmanager
def _growing(lists: Lists | None) -> Iterator[None]:
    """While a loop is staged, loops inside of it may fill its lists too."""
    session: Any = capturing()
    before = session.growing
    session.growing = before | (lists.owners if lists is not None else set())
    try:
        yield
    finally:
        session.growing = before


def _choices() -> Any:
    session: Any = capturing()
    return session.choices


def _bind_scan(result: Result, count: Any, body: Block) -> None:
    k = result.args[0]
    jaxpr, consts, inits = result.jaxpr([k], [], [])
    lead = [] if type(count) is int else [count]
    length = count if type(count) is int else None
    bound = None if length is not None else extents.room(count)
    params = {"length": length, "bound": bound, "reverse": False, "jaxpr": jaxpr}
    outs = list(
        bind(control.scan.op.scan_op, *lead, *consts, *inits, **params, consts=len(consts), carry=len(inits))
    )
    some = np.bool_(length > 0) if length is not None else ops.compare.gt(count, np.int64(0))
    result.check_start(outs, some, count)
    result.write_back(outs, length)


def _bind_stopped(result: Result, count: Any, stopped: Any, body: Block, s: Spec) -> None:
    """A `for` that flags may end: its position is part of the carry."""
    k = result.args[0]
    go = Var(None, Aval((), np.dtype(bool)))
    with_k = result.record(lambda: extents.add(k, 1))
    jaxpr, consts, inits = result.jaxpr([], [go, k], [result.extra[0], with_k])
    some = np.bool_(count > 0) if type(count) is int else ops.compare.gt(count, np.int64(0))
    start = ops.compare.and_(some, raw_truth(conditions.not_(stopped)))
    _, steps, *outs = _bind_while(jaxpr, consts, [start, np.int64(0), *inits])
    result.check_start(outs, start, steps)
    result.write_back(outs)


def _bind_while(body: Jaxpr, consts: list[Any], carry: list[Any]) -> list[Any]:
    """A while loop that goes on as long as the first of its carry is true. The condition is given the sizes of what is
    carried, which its types refer to."""
    dims = [d for x in carry for d in aval_of(x).shape if isinstance(d, Dim)]
    sizes = list({id(d.var): d.var for d in dims}.values())
    known = {x: Var(None, aval_of(x), bounds_of(x)) for x in sizes}
    seen = [Var(None, rename_dims(aval_of(x), known)) for x in carry]
    cond = Jaxpr((*known.values(), *seen), (), (seen[0],), body.name)
    counts = {"cond_consts": len(sizes), "body_consts": len(consts)}
    return list(bind(control.while_loop.op.while_op, *sizes, *consts, *carry, cond=cond, body=body, **counts))


# ---------------------------------------------------------------- while


def while_(test: Callable[[], Any], body: Block, spec: tuple[Any, ...]) -> None:
    """`while test(): body()`."""
    s = Spec(*spec)
    session: Any = capturing()
    tries = MAX_PEELED if session is not None else 0
    reason, done = "", 0
    while True:
        stopped = _stopped(body, s)
        known = truth(stopped)
        if known:
            break
        go_on = _question(stopped, test)
        known = truth(go_on)
        if known is False:
            break
        # and not a list that has items, which may have to be another
        go_on = go_on if known is None else known
        if known is None or tries:
            met = len(refusals.met())
            try:
                with perhaps_never(body, s) if known is None else attempt(Exception):
                    _native_while(go_on, test, body, s, known is None, mixes=done > 0)
                after = f", after {times(done)} in Python" if done else ""
                decide(session, body, s, f"native loop{after}")
                return
            except BaseException as e:
                if known is None and not is_step_taken(raw_truth(go_on), refusal(e, body, s), met):
                    break
                if known is not None and not isinstance(e, Exception):
                    raise
                tries = tries - 1 if _may_settle(e, s) else 0
                reason = e.reason if isinstance(e, NotNative) else reason_of(e)
        budget.step()
        body()
        done += 1
    if session is not None:
        decide(session, body, s, f"unrolled: {times(done)}" + (f", because {reason}" if done else ""))


def _question(stopped: Any, test: Callable[[], Any]) -> Any:
    """Whether a loop goes on that was left if `stopped`."""
    if truth(stopped) is False:
        return asked(test())
    return conditions.and_(conditions.not_(stopped), lambda: asked(test()))


def _native_while(go_on: Any, test: Callable[[], Any], body: Block, s: Spec, must: bool, mixes: bool) -> None:
    """The rest of the loop as a while loop, after its condition gave `go_on`. Raises NotNative."""

    def finish(_: Any) -> list[Any]:
        stopped = _stopped(body, s)
        return [raw_truth(_question(stopped, test))]

    stager = Stager(s, (test, body), lambda _: body(), finish, _choices())
    stager.permuted, stager.lengths.known_too, stager.turns.mixes = True, must, mixes or must
    result = stager.run(Typed(Aval((), _I64)), exact=not must)
    if not isinstance(result.extra[0], Var):
        raise NotNative("its condition does not depend on traced values")
    if not must and result.pure_python:
        raise _PurePython
    go, k = Var(None, Aval((), np.dtype(bool))), result.args[0]
    extra = [*result.extra, result.record(lambda: extents.add(k, 1))]
    jaxpr, consts, inits = result.jaxpr([], [go, k], extra)
    _, steps, *outs = _bind_while(jaxpr, consts, [raw_truth(go_on), np.int64(0), *inits])
    result.check_start(outs, raw_truth(go_on), steps)
    result.write_back(outs)
