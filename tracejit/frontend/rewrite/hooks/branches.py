"""`if`, and values chosen by conditions: both branches staged as one `cond`, or the one that is taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import control, ops
from tracejit.control.regions.staging import Staged, convert
from tracejit.errors import BranchLeavesError, TracejitError, VariableTypeError, refusals
from tracejit.frontend.lists.marks import note_all
from tracejit.frontend.rewrite.blocks import turned
from tracejit.frontend.rewrite.blocks.cells import UNBOUND, cells_of, get, put
from tracejit.frontend.rewrite.blocks.chosen import Option, inverse
from tracejit.frontend.rewrite.blocks.containers import NONE, shared
from tracejit.frontend.rewrite.blocks.decisions import capturing, decide, place
from tracejit.frontend.rewrite.blocks.identity import TRUE, Arrays, Merger, Rows
from tracejit.frontend.rewrite.blocks.lengths import Chosen as Lengths
from tracejit.frontend.rewrite.blocks.replaced import put_apart
from tracejit.frontend.rewrite.blocks.state import Form, Frame
from tracejit.frontend.rewrite.blocks.terms import Names, NotNative, Spec
from tracejit.frontend.rewrite.hooks.messages import fail_if, is_programs
from tracejit.frontend.rewrite.hooks.predicates import asked, raw_truth, truth
from tracejit.frontend.rewrite.hooks.taken import native_or_taken
from tracejit.frontend.text.choices import Choice, can_choose
from tracejit.frontend.text.deferred import plain_exception
from tracejit.frontend.variants.merged import VALUE, Branch, Chosen, Merged, in_code, variant_of
from tracejit.frontend.variants.which import HERE
from tracejit.interpreters import leaks
from tracejit.interpreters.stage import StageTrace, bounds_of
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Var
from tracejit.numpy.boxes.indexing import refill
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.tracing import bind, caller, current_trace, new_trace, use_trace

Block = Callable[..., Any]
MAX_STAGINGS = 12  # of both branches, until it is known what they change
Made = Merged | Choice | Chosen


def if_(test: Any, then: Block | None, other: Block | None, spec: tuple[Any, ...]) -> None:
    """`if test: then() else: other()`."""
    run_if(test, then, other, Spec(*spec), then or other)


def run_if(test: Any, then: Block | None, other: Block | None, s: Spec, block: Any) -> None:
    """The branch that is taken, or both as one `cond`; `block` is a function with the names' cells."""
    session = capturing()
    test = asked(test) if session is not None else test
    known = truth(test) if session is not None else bool(test)
    if known is not None:
        taken = then if known else other
        if taken is not None:
            taken()
        return
    cells = {**cells_of(then if then is block else None, other), **cells_of(block)}
    choice = _Choice(raw_truth(test), (then, other), cells, s.keep, s.kind, place(block, s.line), s.unsure)
    native_or_taken(choice, then, other)
    if s.kind == "if" and choice.is_native:
        decide(session, block, s, "native branch")


def ifexp(test: Any, then: Block, other: Block, where: str | None = None) -> Any:
    """`then() if test else other()`."""
    test = asked(test) if capturing() is not None else test
    known = truth(test) if capturing() is not None else bool(test)
    if known is not None:
        return then() if known else other()
    where = where or place(then, then.__code__.co_firstlineno)
    cells = cells_of(then, other)
    choice = _Choice(raw_truth(test), (then, other), cells, (), "conditional expression", where)
    return native_or_taken(choice, then, other)


def _code_of(block: Block | None) -> Any:
    return getattr(block, "__code__", None)


_MAX_ENDS = 64  # how often one branch may end an iterator while a program is traced


class _Left(Exception):
    """What a branch raises in the end whose calls are Python's."""


class _Choice:
    """A branch on a traced predicate."""

    def __init__(
        self,
        pred: Any,
        blocks: tuple[Block | None, Block | None],
        cells: Any,
        keep: Sequence[str],
        kind: str,
        where: str,
        unsure: Sequence[str] = (),
    ) -> None:
        self.pred = pred
        self.unsure = unsure
        #: Places that it changed where it was staged before: they are chosen as names are from its beginning on.
        self.expected: list[str] = []
        self.blocks = blocks
        self.cells = cells
        self.keep = [n for n in keep if n in cells]
        self.kind = kind
        self.where = where
        self.is_native = True
        self.lengths, self.numbers, self.turns = Lengths(), Names(), turned.Turns()
        self.kept: dict[str, frozenset[int]] = {}  # containers that names have in both branches
        self.chosen: list[tuple[Any, list[Option]]] = []  # containers, and what they may be

    def run(self) -> Any:
        """Stage both branches; names and storages have the chosen values afterwards. Gives the value."""
        choices = capturing().choices
        with choices.block(is_loop=False) as results, self.turns:
            value = self._run()
            results.append(True)
        for x, options in self.chosen:
            choices.note(x, options)
        return value

    def _run(self) -> Any:
        changed = capturing().choices.changed.setdefault((*map(_code_of, self.blocks), self.where), {})
        self.expected = [*changed]
        for _ in range(MAX_STAGINGS):
            then = other = None
            capturing().choices.tuples.prepare(map(get, self.cells.values()))
            both, list_ = turned.tried(lambda: [self._stage(block) for block in self.blocks])
            if list_ is not None:
                list_() if callable(list_) else self._turn(*list_)
                continue
            then, other = both
            del both
            places = {**then.places, **other.places}
            pairs = ((n, then.names[n], other.names[n]) for n in self.keep if n not in self.kept)
            kept = {n: frozenset(shared(a, b)) for n, a, b in pairs if a is not b}
            self.kept |= kept
            again = self.numbers.any_differ(then.forms, other.forms) or any(kept.values())
            if not (places or again or then.late or other.late):
                break
            self.cells |= places  # chosen as names are
            self.keep += places
            changed |= dict.fromkeys(places)
        else:
            raise BranchLeavesError(problem="what it changes does not settle", where=self.where)
        for branch, block, pred in ((then, self.blocks[1], self.pred), (other, self.blocks[0], None)):
            if branch.raised is not None:
                pred = ops.compare.not_(self.pred) if pred is None else pred
                if type(branch.raised) is _Left:
                    leave_if(pred, str(branch.raised), lanes=False)
                else:
                    fail_if(pred, branch.raised)
                return None if block is None else block()
        return self._merge(then, other)

    def _turn(self, key: int, items: Any) -> None:
        """Let a list be a buffer before the branches."""
        try:
            self.turns.note(turned.turn(self.cells, key, items))
        except NotNative as e:
            raise BranchLeavesError(problem=e.reason, where=self.where) from None

    def _stage(self, block: Block | None) -> Branch:
        trace = StageTrace(current_trace(), "branch", eager_constants=True)
        frame = Frame(trace, self.cells)
        value, raised, choices = None, None, capturing().choices
        chosen = dict(choices.found)
        with new_trace(trace):
            with frame:
                if frame.containers.iterators:  # before it takes any: it may yet be run as taken
                    problem = f"it may take items from the iterator `{frame.containers.iterators[0]}`"
                    raise BranchLeavesError(problem=problem, where=self.where)
                self.keep += frame.expect(self.expected)
                self.expected = []
                try:
                    value = block() if block is not None else None
                    choices.check(chosen)
                except Exception as e:
                    ends_a_loop = isinstance(e, StopIteration)
                    if ends_a_loop or not getattr(e, "_tj_raised", False):
                        raised = self._left_to_python(e)
                    else:
                        raised = e
                except BaseException as e:
                    if not is_programs(e):
                        raise
                    raised = self._left_to_python(e)
                names = {name: self._left(name) for name in self.keep}
                given = {n: x for n, x in ((VALUE, value), *names.items()) if x is not UNBOUND}
                self.numbers.refer(given, self.kept)
                forms = {n: Form(x, self.kept.get(n, NONE), asked=False) for n, x in given.items()}
                arrays = Arrays(frame, [leaf for form in forms.values() for leaf in form.dynamic])
                storages = {id(s): (s, s.value) for s in frame.written()}
            if raised is None and not frame.late:
                self._ask_for_buffers(frame)
                self._refuse_changes(frame)
        places = frame.places if raised is None else {}
        listed = frame.listed_outside()
        return Branch(trace, names, storages, forms, arrays, value, raised, places, frame.late, listed)

    def _left(self, name: str) -> Any:
        """What a name, or a place that was expected to be changed, holds after the branch."""
        try:
            return get(self.cells[name])
        except (AttributeError, LookupError):
            raise BranchLeavesError(problem=f"it takes `{name}` out", where=self.where) from None

    def _ask_for_buffers(self, frame: Frame) -> None:
        """Raise Turned for a list of which the branch changes the length."""
        try:
            turned.ask(frame)
        except NotNative as e:
            raise BranchLeavesError(problem=e.reason, where=self.where) from None

    def _refuse_changes(self, frame: Frame) -> None:
        if frame.changed is not None:
            problem = f"it changes the Python container or object `{frame.changed}`"
            raise BranchLeavesError(problem=problem, where=self.where)

    def _left_to_python(self, e: BaseException) -> _Left:
        """What stands for an exception in a branch that no compiled check can raise: the function itself might catch
        it, or what asks for items. Raises BranchLeavesError where Python can't do calls over, and where tracing is
        given up anyway."""
        if isinstance(e, TracejitError):
            raise e
        plain_exception(e)
        if isinstance(e, StopIteration):
            self._count_ends()
        problem = f"it raises {type(e).__name__} ({e}), which the function itself might catch"
        if refusals.met() or not caller.does_over():
            raise BranchLeavesError(problem=problem, where=self.where) from e
        return _Left(f"what a branch does: {problem}")

    def _count_ends(self) -> None:
        """Note that an iterator may have ended here. Raises BranchLeavesError where it goes on and on: whoever takes
        all of its items would never come to their end."""
        ends = capturing().choices.ends
        ends[self.where] += 1
        if ends[self.where] > _MAX_ENDS:
            problem = f"a traced value decides how many items an iterator has, and {_MAX_ENDS} were taken"
            raise BranchLeavesError(problem=problem, where=self.where)

    # -- both branches as one equation

    def _merge(self, then: Branch, other: Branch) -> Any:
        if problem := put_apart(self.keep, (then.names, other.names), self.cells, self.kept):
            raise BranchLeavesError(problem=problem, where=self.where)
        merger = Merger(self.pred, (then.arrays, other.arrays), rows := Rows())
        parts: list[tuple[str, Made]] = []
        for name in self.keep:
            a, b = then.names[name], other.names[name]
            if (a is UNBOUND) != (b is UNBOUND) and get(self.cells[name]) is not UNBOUND:
                raise BranchLeavesError(problem=f"it deletes `{name}`", where=self.where)
            if a is not b:
                parts.append((name, self._merged(name, (a, b), (then, other), merger)))
        for name in self.unsure:
            self._leave_unbound(name, then.names[name], other.names[name])
        value = self._merged(VALUE, (then.value, other.value), (then, other), merger)
        written = []
        for k, (s, x) in {**then.storages, **other.storages}.items():
            a, b = (branch.storages.get(k, (s, s.value))[1] for branch in (then, other))
            written.append((s, rows.add(a, b, aval_of(x).dtype)))
        a = b = None  # `choices` counts who refers to them
        rows.values = self._bind((then, other), rows.pairs)
        for name in self.keep:  # not before: another may be refused, and a branch be run as it is
            if then.names[name] is other.names[name] and then.names[name] is not get(self.cells[name]):
                put(self.cells[name], then.names[name])
        refill([(s, x()) for s, x in written])
        note_all([*then.listed, *other.listed])
        made: dict[tuple[int, int], Any] = {}
        for name, m in parts:
            both = [[then.names.pop(name)], [other.names.pop(name)]]
            put(self.cells[name], m.rebuilt())
            put(self.cells[name], self._one(get(self.cells[name]), m, both, made))
        both = [[then.value], [other.value]]
        then.value = other.value = None
        return self._one(value.rebuilt(), value, both, made)

    def _one(self, x: Any, m: Made, both: list[list[Any]], made: dict[tuple[int, int], Any]) -> Any:
        """`x`, made of what a name is after the branches, in a list each; names that are the same after both branches
        are one container."""
        if isinstance(m, Chosen):
            mine = (
                held for held, block in zip(both, self.blocks, strict=True) if not in_code(block, held[0])
            )
            x._tj_seen = max(m.seen, HERE if any(map(capturing().choices.sees, mine)) else 0)
            return x
        if isinstance(m, Choice) or m.form.tree.is_leaf():
            return x
        key = id(both[0][0]), id(both[1][0])
        if key not in made:
            made[key] = x
            options = list(zip(both, (self.pred, inverse(self.pred)), strict=True))
            bound = [(held, flag) for held, flag in options if held[0] is not UNBOUND]
            if len(bound) == 1:  # nobody looks at a name that is unbound
                bound = [(bound[0][0], TRUE)]
            self.chosen += capturing().choices.choices(x, bound, m.form.kept)
        return made[key]

    def _leave_unbound(self, name: str, then: Any, other: Any) -> None:
        """Where the branch is taken that does not bind a name, and nobody would notice, Python runs the function."""
        if (then is UNBOUND) != (other is UNBOUND):
            bad = self.pred if then is UNBOUND else ops.compare.not_(self.pred)
            leave_if(bad, f"the name `{name}`, which one branch leaves unbound")

    def _merged(
        self, name: str, values: tuple[Any, Any], branches: tuple[Branch, Branch], merger: Merger
    ) -> Made:
        """What a name will be, or the value."""

        def within(n: int) -> Any:
            return use_trace(branches[n].trace)

        if can_choose(*values):
            return Choice(self.pred, values, merger.rows.add, within)
        try:
            with refusals.attempt(VariableTypeError):
                return Merged(name, branches, self, merger)
        except VariableTypeError as e:
            variant = variant_of(values, merger.rows.add, within)
            if variant is None:
                refusals.add(e)
                raise
            return variant

    def _bind(self, branches: tuple[Branch, Branch], rows: list[tuple[Any, Any, np.dtype]]) -> list[Any]:
        """The chosen one of each row (if the condition holds, otherwise, dtype)."""
        staged = []
        for n, branch in enumerate(branches):
            with use_trace(branch.trace):
                jaxpr, consts = branch.trace.freeze([], [convert(row[n], row[2]) for row in rows])
            leaks.check_jaxpr("a branch", jaxpr)
            staged.append(Staged(jaxpr, consts, None, ()))
        if not rows and not any(s.jaxpr.effects for s in staged):
            return []
        consts, jaxprs = control.structured.branches.common_consts(staged)
        outs = list(bind(control.cond.op.cond_op, self.pred, *consts, branches=(jaxprs[1], jaxprs[0])))
        for x, (a, b, _) in zip(outs, rows, strict=True):
            known = bounds_of(a), bounds_of(b)
            if type(x) is Var and not x.aval.shape and x.aval.dtype.kind in "iu" and None not in known:
                x.bounds = ops.identities.select_bounds((None, *known))
        return outs
