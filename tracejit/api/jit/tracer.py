"""Making a program: running the user's function on boxes, and sorting out what it returned and wrote."""

from __future__ import annotations

import collections
import enum
from typing import Any

import numpy as np

from tracejit import control, dtypes, frontend, tree
from tracejit.api import structures
from tracejit.api.assumed import Assumptions
from tracejit.api.common import name_of
from tracejit.api.introspect import ShapeDtypeStruct
from tracejit.api.jit import arguments, handed
from tracejit.api.jit.apart import Apart, distinct
from tracejit.api.jit.listed import check_views, listed
from tracejit.api.jit.parts import Shared
from tracejit.api.jit.placing import needed, placed, places_of
from tracejit.api.jit.programs import Program, const_sources
from tracejit.api.jit.signature import Call
from tracejit.api.jit.sizes import InputsNeeded, TraceAgain, ask_for_more, decided_by_sizes
from tracejit.api.jit.stored import Store
from tracejit.api.jit.varying import JitCapture, Varying
from tracejit.control.regions.staging import raw_result
from tracejit.errors import (
    CapturedWriteError,
    DynamicExtentError,
    InternalTypeError,
    NumberError,
)
from tracejit.frontend.lists.columns import Columns
from tracejit.frontend.lists.numbered import Numbered
from tracejit.frontend.raw.numbers import LENT, Raw
from tracejit.frontend.shadows.host import run_later
from tracejit.frontend.variants.node import Variant
from tracejit.interpreters import leaks
from tracejit.interpreters.jit import lift
from tracejit.interpreters.stage import StageTrace, make_args
from tracejit.ir.avals import Dim, aval_of
from tracejit.ir.jaxpr import Eqn, can_be_done_over
from tracejit.ir.values import Value
from tracejit.lazily import LazyModule
from tracejit.numpy.boxes.memory import layout_of
from tracejit.numpy.boxes.rows import StaleView
from tracejit.numpy.boxes.sharing.references import row_of
from tracejit.numpy.captured.written import current
from tracejit.numpy.operands import SINGLETONS
from tracejit.tracing import Box, bind, box, current_trace, new_trace

_device: Any = LazyModule("tracejit.api.device.programs")

_PYTHON = frozenset(map(np.dtype, (bool, np.int64, float, complex)))  # the dtypes of Python's numbers
_VALUES = (bool, int, float, complex, str, bytes)  # classes of results that are the same at every call
#: How often a function is traced again because another thread changed a name that it reads meanwhile.
_ATTEMPTS = 100


def trace_program(call: Call, varying: Varying) -> tuple[Program, list[Any]]:
    """Run the user's function on boxes and record the program; its constants' present values too.

    Where the program writes numbers that it is guarded by, it is traced again with those as inputs, if it can be.

    Raises MoreNeeded, and what the function raises."""
    copies_views, changed, found = True, None, None
    for _ in range(_ATTEMPTS):
        try:
            done = _trace_once(call, copies_views, varying)
        except StaleView:
            copies_views = False
            continue
        except TraceAgain:
            continue
        except InputsNeeded as e:
            if not varying.fail(e.places):
                raise e.error from None
            if found is not None and not varying.know(found[1]):
                return _checked(call, found[0])
            continue
        if isinstance(done, tuple):
            store = done[0].store
            written, grown = (store.places, store.grown) if store is not None else (set(), set())
            new = varying.learn(done[0].guards.checks, written, grown)
            if not new:
                return _checked(call, done)
            found = done, new
            continue
        changed = done
    why = f"the guards of {name_of(call.fun)} fail right after tracing: {changed}"
    raise InternalTypeError(problem=why)


def _checked(call: Call, done: tuple[Program, list[Any]]) -> tuple[Program, list[Any]]:
    leaks.check_jaxpr(f"jit of {name_of(call.fun)}", done[0].jaxpr)
    return done


def _trace_once(call: Call, copies_views: bool, varying: Varying) -> tuple[Program, list[Any]] | str:
    """In words what of the things that the function read has changed while it was traced, if something has."""
    fun = call.fun
    trace = StageTrace(current_trace(), name_of(fun), eager_constants=True)
    capture = JitCapture(trace, varying, call.options.device is not None)
    session = frontend.Session(capture, call.options.capture)
    session.copies_views, session.over = copies_views, call.over
    session.swaps_bytes = not all(x.dtype.isnative for x in call.leaves if isinstance(x, np.ndarray))
    session.plain_lists, session.by_count = varying.plain_lists, not varying.counts_vary
    session.room, session.arenas = varying.room, {} if varying.shares_arrays else None
    args = make_args(trace, call.avals(), call.bounds)
    assumptions = Assumptions(call, trace, args, session.decisions)
    trace.decides = lambda values: decided_by_sizes(values, call, trace.eqns, args)
    with new_trace(trace):
        if varying.numbers_tuples:
            session.choices.tuples = Numbered()
        boxes = _boxes(call, args)
        positional, kwargs = _arguments(call, session, capture, boxes)
        arguments.follow_entities(call)
        held, containers = arguments.held(session, positional, kwargs), handed.paths(positional, kwargs)
        session.containers_given = containers
        session.arguments = {id(x): key for key, (_, _, found) in held.items() for x in found}
        try:
            out = session.run(fun, positional, kwargs)
            arguments.look_at(call, held, arguments.held(session, positional, kwargs))
            session.outside = {id(b.storage): b for b in (*boxes, *(b for _, b in capture.held))}
            leaves, out_tree, store = _result(session, out, containers)
            leaves = frontend.handed_back(session, leaves)
            check_views(leaves)
            visible = _visible(call, boxes, capture.held)
            results, outs, python, parts = _sort_results(
                leaves, out_tree, boxes, capture.held, name_of(fun), visible
            )
            outs += _extents(trace, outs, args)
        except StaleView:
            raise
        except Exception as e:
            ask_for_more(e, call, trace, capture, args, varying)
            if session.used_options and not varying.plain_lists:
                varying.plain_lists = True
                raise TraceAgain from None
            raise
        _refuse_what_is_seen(session, trace, store)
        if session.given and any(map(run_later, trace.eqns)):
            session.serve_these()
        _enter_generators(trace, session.handles)
        apart = Apart.of(session.changes, call.taken_apart)
        if apart is not None and (met := apart.met(call.taken_apart, call.objects)) is not None:
            arguments.follow(call, arguments.is_outside(call, met))
        guards = session.guards()
        session.let_go()
        if store is not None:
            store.let_go()
        # By what they held: another thread may have changed the names since.
        captured = [(raw, b) for raw, b in capture.held if b.storage.version > 0]
        changed = [n for n, b in enumerate(boxes) if b.storage.version > 0 and _is_array(call.leaves[n])]
        news = [*(b.storage.value for _, b in captured), *(boxes[n].storage.value for n in changed)]
        results = [_hand_back(trace, r, capture.held) for r in results]
        placed(parts, lambda base: _hand_back(trace, base, capture.held))
        jaxpr, consts = trace.freeze(args, [*outs, *news])
        jaxpr, more = lift(jaxpr)  # arrays that users' rules captured are read anew at every call as well
        consts = [*more, *consts]
        results = [_after(r, len(more)) for r in results]
        placed(parts, lambda base: _after(base, len(more)))
        trace.let_go()
    arrays = guards.arrays(*call.objects)
    if arrays is None:
        return guards.why() or "what it read changed and changed back"
    sources = const_sources(consts, [raw for raw, _ in capture.held])
    written = _written_inputs(captured, changed, consts, len(consts))
    donated = tuple(len(consts) + n for n in call.donated() if _is_array(call.leaves[n]))
    kind: Any = _device.OnDevice if call.options.device is not None else Program
    program = kind(
        fun,
        jaxpr,
        sources,
        guards,
        out_tree,
        results,
        written,
        call.names(),
        donated,
        session.decisions,
        python,
        parts,
        store,
    )
    _note(program, call, session)
    program.chooses = session.has_variants and any(map(_is_variant, tree.leaves(out, _is_variant)))
    assumptions.settle(program)
    places = places_of(boxes, capture.held, consts)
    program.needed, program.apart, program.distinct = (
        needed(places),
        apart,
        distinct(session.distinct, places),
    )
    return program, current([arrays[s] if type(s) is int else s.value for s in sources])


def _note(program: Program, call: Call, session: frontend.Session) -> None:
    """What the options and the run say of how the program is compiled, kept and run."""
    program.fastmath, program.backend = call.options.fastmath, call.options.backend
    program.device = call.options.device
    program.kept = not session.unkept
    program.room = session.room if session.has_buffers else 0
    program.over = call.over if session.asked_over else None
    program.cached = tuple(session.cached_calls)


def _boxes(call: Call, args: list[Any]) -> list[Any]:
    """What the function gets for the arrays and numbers among its arguments."""
    boxes: list[Any] = []
    for n, (v, w, s) in enumerate(zip(args, call.weak, call.scalar, strict=True)):
        boxes.append(box(v, w, origin=n))
        boxes[n].scalar = s
        boxes[n].storage.layout = layout_of(call.leaves[n])
    return boxes


def _arguments(
    call: Call, session: frontend.Session, capture: JitCapture, boxes: list[Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with boxes for arrays and numbers, and stand-ins for objects."""
    for n, x in call.fixed.items():
        if n not in call.kinds and (reason := frontend.unseen(x)) is not None:
            session.refuse(f"argument {call.fixed_name(n)}", x, reason)
    names = {n: call.fixed_name(n).replace("`", "") for n in call.fixed}
    capture.followed = frozenset(n for n, leaf in enumerate(call.kinds) if leaf in call.followed)
    given = [session.give(call.fixed[n], names[n]) for n in call.kinds]
    others = {n: session.stand_in(x, names[n]) for n, x in call.fixed.items() if frontend.is_shadowed(x)}
    return call.rebuild(boxes, given, others)


def _refuse_what_is_seen(session: frontend.Session, trace: StageTrace, store: Store | None) -> None:
    """Refuse a program that could be told from Python by what it has done when it is done over, or when it stores."""
    if session.over and session.asked_over and not all(can_be_done_over(e.effects) for e in trace.eqns):
        raise (session.done_over or [NumberError(message="a callback would notice real eigenvalues")])[0]
    if store is not None and store.writes and _needs_python(session, trace.eqns):
        raise CapturedWriteError(what=store.changes[0].what, where=session.call_site)


def _enter_generators(trace: StageTrace, handles: list[Any]) -> None:
    """Let the program begin with taking hold of the generators that it draws from."""
    if handles:
        saves = any("error" in e.effects for e in trace.eqns)
        bind(control.generators.ops.enter_op, *handles, saves=saves)
        trace.eqns.insert(0, trace.eqns.pop())


def _result(
    session: frontend.Session, out: Any, given: dict[int, handed.Path]
) -> tuple[list[Any], Any, Store | None]:
    """The leaves of a result, and what makes the result of them: a structure, or a function that also stores what the
    run has changed."""
    if session.has_buffers or session.choices.tuples.marks or session.choices.tuples.keys:
        values = [out, *(c.value for c in session.changes)]
        session.choices.tuples.check(values, session.is_outside)
    stored = (
        session.choices.tuples.is_shared([out])
        or handed.has_twice(out)
        or handed.has_stand_ins(out)
        or handed.is_chosen(session, given)
        or structures.are_in(out, session)
    )
    if not session.changes and not stored:
        leaves, structure = tree.flatten(listed(handed.owned(session, out, given)))
        if not any(map(_is_stored, leaves)):
            return leaves, structure, None
    store = Store(session, given)
    store.write(out)
    return store.leaves, tree.structure([0] * len(store.leaves)), store


def _is_variant(x: Any) -> bool:
    return type(x) is Variant


def _is_stored(x: Any) -> bool:
    """Whether a leaf of a result is an object of the user's (also a number, such as a member of an `IntEnum`), or a
    list whose length the program knows."""
    return (
        isinstance(x, (Columns, Raw))
        or row_of(x) is not None
        or (type(x) not in _VALUES and isinstance(x, _VALUES) and not isinstance(x, np.generic))
        or isinstance(x, (np.dtype, type, collections.Counter, enum.Enum))
        or (x.storage in LENT if type(x) is Box else frontend.kind_of(x) is type(x))
    )


def _needs_python(session: frontend.Session, eqns: list[Eqn]) -> bool:
    """Whether a program does anything besides computing, by which it might be seen when places of outside are stored,
    or stores what cached functions would store only once, or in a container that a condition chooses. Draws and entries
    are not among it: who sees these is looked at in each call (`Program.leaves_to_python`)."""
    acts = any(map(run_later, eqns)) or not all(can_be_done_over(e.effects) for e in eqns)
    return acts or bool(session.callbacks or session.cached_calls or session.choices.found)


def _extents(trace: StageTrace, outs: list[Any], args: list[Any]) -> list[Any]:
    """Traced sizes of the results, which their shapes are read from: outputs that nobody sees.

    Raises DynamicExtentError for a size without a bound that arguments decide: it is better to know it."""
    given = {id(v) for v in (*outs, *args)}
    dims = [d for x in outs for d in aval_of(x).shape if isinstance(d, Dim) and id(d.var) not in given]
    unknown = [d.var for d in dims if d.bound is None]
    if unknown and trace.decides is not None and trace.decides(unknown):
        error = DynamicExtentError(op=trace.name, problem="the result's size is computed and has no bound")
        error.traced = tuple(unknown)
        raise error
    return list({id(d.var): d.var for d in dims}.values())


def _is_array(x: Any) -> bool:
    return isinstance(x, (np.ndarray, Box, ShapeDtypeStruct))


def _written_inputs(captured: list[Any], changed: list[int], consts: list[Any], offset: int) -> list[int]:
    """Positions among the program's inputs of what was written."""
    position = {id(c): n for n, c in enumerate(consts)}
    return [*(position[id(raw)] for raw, _ in captured), *(offset + n for n in changed)]


def _hand_back(trace: StageTrace, result: tuple[str, Any], held: list[Any]) -> tuple[str, Any]:
    """A result; a captured array as a constant of the program, by its number."""
    kind, x = result
    return (kind, trace.position(held[x][0])) if kind == "const" else result


def _after(result: tuple[str, Any], count: int) -> tuple[str, Any]:
    """A result where `count` constants come before those that were known."""
    kind, x = result
    return (kind, x + count) if kind == "const" else result


def _visible(call: Call, boxes: list[Any], held: list[tuple[Any, Box]]) -> dict[int, tuple[str, int]]:
    """The arrays that the caller has, by their storages: as results they are no copies."""
    given = set(call.donated())
    found = {id(b.storage): ("const", n) for n, (raw, b) in enumerate(held) if isinstance(raw, np.ndarray)}
    for n, b in enumerate(boxes):
        if n not in given and _is_array(call.leaves[n]):
            found[id(b.storage)] = "arg", n
    return found


def _sort_results(
    leaves: list[Any],
    out_tree: Any,
    boxes: list[Any],
    held: list[tuple[Any, Box]],
    name: str,
    visible: dict[int, tuple[str, int]],
) -> tuple[list[tuple[str, Any]], list[Any], frozenset[int], list[Any]]:
    """What each leaf of the result is, the raw outputs among them, which of those are Python's numbers, and the parts
    of arrays."""
    by_id = {id(b): n for n, b in enumerate(boxes)}
    captured = {id(b): n for n, (raw, b) in enumerate(held) if isinstance(raw, (np.ndarray, Value))}
    results: list[tuple[str, Any]] = []
    outs: list[Any] = []
    python: set[int] = set()
    shared = Shared(leaves, visible, outs)
    known: dict[int, tuple[str, Any]] = {}  # the same object is the same result
    for n, x in enumerate(leaves):
        if id(x) in by_id:
            results.append(("arg", by_id[id(x)]))
        elif id(x) in captured:
            results.append(("const", captured[id(x)]))
        elif type(x) in _VALUES or any(x is s for s in SINGLETONS):
            results.append(("value", x))
        elif type(x) is handed.Captured:
            results.append(("value", x.value))
        elif type(x) is handed.Given:
            results.append(("given", x.path))
        elif type(x) is handed.Found:
            results.append(("found", x.node))
        elif type(x) is handed.New:
            results.append(("new", x.make))
        elif id(x) in known:
            results.append(known[id(x)])
        elif (part := shared.part(x)) is not None:
            known[id(x)] = "part", part
            results.append(known[id(x)])
        else:
            raw = raw_result(x, out_tree, n, lambda _: f"the result of {name}")
            if aval_of(raw).dtype == dtypes.float0:  # the gradient of an integer: no bytes to compute
                results.append(("value", np.zeros(raw.shape, dtypes.float0)))
                continue
            if type(x) is Box and x.weak is True and not x.aval.shape and x.aval.dtype in _PYTHON:
                python.add(len(outs))
            known[id(x)] = "array" if _is_array_of_none(x) else "out", len(outs)
            results.append(known[id(x)])
            shared.whole(x, raw)
    return results, outs, frozenset(python), shared.parts


def _is_array_of_none(x: Any) -> bool:
    """Whether a result is an array of no dimensions, which is no number."""
    if type(x) is Box:
        return not (x.scalar or x.weak or x.aval.shape)
    return isinstance(x, np.ndarray) and not x.shape
