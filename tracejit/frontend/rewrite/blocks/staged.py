"""One step of a loop as a jaxpr: what it reads, what it changes, and what must be staged again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.control.regions.staging import convert
from tracejit.frontend.lists.arenas import are_used
from tracejit.frontend.rewrite.blocks import terms, turned
from tracejit.frontend.rewrite.blocks.aliases import Aliases, Marks, fold_swaps, is_boxed
from tracejit.frontend.rewrite.blocks.cells import UNBOUND, cells_of, get, put
from tracejit.frontend.rewrite.blocks.chosen import Choices
from tracejit.frontend.rewrite.blocks.grown import Collector, Filled, Lists
from tracejit.frontend.rewrite.blocks.hidden import Picked, Pythons
from tracejit.frontend.rewrite.blocks.lengths import Lengths, known_size
from tracejit.frontend.rewrite.blocks.overflow import Ranges, outgrows
from tracejit.frontend.rewrite.blocks.replaced import Replaced
from tracejit.frontend.rewrite.blocks.results import Carried, Doubts, Result, Turn, turn_of
from tracejit.frontend.rewrite.blocks.slots import Key, Slots, forms_after, is_alone
from tracejit.frontend.rewrite.blocks.state import Form, Frame, is_array, lay, promoted, zeros_like
from tracejit.frontend.rewrite.blocks.terms import Entry, Names, NotNative, Permuted, Spec, TypeChange
from tracejit.frontend.variants.carried import Options
from tracejit.interpreters.stage import StageTrace, arg_avals, make_args
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Var
from tracejit.numpy.boxes.sharing.either import Either, settle
from tracejit.numpy.boxes.sharing.references import is_moved
from tracejit.tracing import Box, Storage, current_trace, new_trace

MAX_STAGINGS = 12  # of one body, until its types are stable


class Stager:
    """Stages a body until nothing new turns up.

    `step(k)` runs the body for the traced position `k`; `finish()` gives further raw results.
    """

    def __init__(
        self,
        spec: Spec,
        functions: tuple[Any, ...],
        step: Callable[[Any], None],
        finish: Callable[[Any], list[Any]],
        choices: Choices,
        lists: Lists | None = None,
    ) -> None:
        self.spec = spec
        self.lists = lists or Lists(Spec(spec.kind, spec.line), {})
        self.cells = {**cells_of(*functions), **self.lists.tails}
        self.step = step
        self.finish = finish
        self.keep = [n for n in (*spec.keep, *self.lists.tails) if n in self.cells]
        self.anew = set(spec.anew)
        self.ranges = Ranges()
        self.permuted = False  # what to do with names that swap their arrays has been decided
        self.types: dict[str, list[tuple[np.dtype, bool]]] = {}
        self.settled: dict[str, int] = {}  # after how many steps names have their types, at the latest
        self.layouts: dict[str, list[tuple[Any, bool]]] = {}  # what the parts of names are after a step
        self.lengths = Lengths()
        self.replaced = Replaced()
        self.options = Options()
        self.first: dict[str, Form] = {}  # of names that some step assigns first, and later ones may not
        self.slots = Slots()
        self.listed = Marks()
        self.numbers = Names()
        self.doubts = Doubts()
        self.picked = Picked(self.keep, self.cells, choices)
        self.pythons = Pythons(self.keep, self.cells)
        self._hide()
        self.alone = {n for n in self.keep if is_alone(self.cells[n])}
        self.storages = self._suspects()
        self.turns = turned.Turns()
        self.exact = False

    def _hide(self) -> None:
        """Carry the hidden names, too."""
        hidden = self.picked.cells | self.pythons.cells
        self.cells |= hidden
        self.keep += [n for n in hidden if n not in self.keep]

    def _suspects(self) -> list[Storage]:
        """Storages that are probably written."""
        found: dict[int, Storage] = {}
        for name in self.spec.written:
            x = get(self.cells[name]) if name in self.cells else None
            if is_boxed(x) and not (name in self.anew and name in self.keep):
                found[id(x.storage)] = x.storage
        return list(found.values())

    def run(self, position: Any, exact: bool = False) -> Result:
        """The staged step. `position`: aval and bounds of `k`; `exact`: integers keep to 64 bits. Raises NotNative."""
        self.exact = exact
        try:
            result = self._settled(position)
            what = outgrows(result) if exact else None
            if what is not None:
                raise NotNative(f"Python's integers may outgrow 64 bits in it: {what}")
        except BaseException:
            self.turns.undo()
            raise
        return result

    def _settled(self, position: Any) -> Result:
        """The step, staged again until its types settle."""
        for _ in range(MAX_STAGINGS):
            self._hide()
            with self.picked.choices.block(is_loop=True, cells=self.cells.values()) as results:
                result, list_ = turned.tried(lambda: self._once(position))
                results.append(result)
            if callable(list_):
                list_()
            elif list_ is not None:
                self.keep += self.turns.turn(list_, self.cells, self.keep, self.lists)
            if list_ is not None and are_used():  # arrays of outside may be in an arena from now on
                self.storages = [s for s in self.storages if not is_moved(s)]
                self.slots = Slots()
                self.types.clear()
            if result is not None:
                return result
        raise NotNative("the types of its variables do not settle")

    def keep_arrays(self, e: Permuted) -> None:
        """Stage `e.fold` steps at once, after which the names have their own arrays again."""
        self.permuted = True
        for name in e.names:
            self.anew.discard(name)
            self._suspect(get(self.cells[name]).storage)

    # -- one staging

    def _once(self, position: Any) -> Result | None:
        entries = {name: self._entry(name) for name in self.keep}
        inits = [x for e in entries.values() for x in e.inits]
        held = [s.value for s in self.storages]
        starts = self.slots.starts(
            {n: e.form for n, e in entries.items() if e.form is not None}, {*self.first, *self.alone}
        )
        sizes = self.lengths.starts()
        trace = StageTrace(current_trace(), self.spec.kind, eager_constants=True)
        count = len(inits) + len(held)
        steps = None if position.bounds is None else position.bounds[1] + 1
        ranges = {
            (n, k): self._range((n, k), e, steps) for n, e in entries.items() for k in range(len(e.inits))
        }
        avals = arg_avals([position, *inits, *held, *starts, *sizes])
        unknown = (None for _ in (*held, *starts))
        args = make_args(trace, avals, [position.bounds, *ranges.values(), *unknown, *self.lengths.bounds()])
        trace.step_number = args[0] if self.exact else None
        trace.begun = terms.begun(entries, args[1:], self.first)
        frame, flags = Frame(trace, self.cells, self.lists.owners), args[1 + count : 1 + count + len(starts)]
        self.lists.mark()
        with new_trace(trace):
            with frame:
                if frame.containers.iterators:
                    raise NotNative(f"it may take items from the iterator `{frame.containers.iterators[0]}`")
                self.lengths.enter(args[1 + count + len(starts) :])
                objects, boxes = self._enter(frame, entries, args)
                self.slots.enter(boxes, flags)
                self.listed.enter(frame, boxes)
                self.picked.enter(objects)
                self.pythons.enter(objects, self.cells)
                given = args[1 + len(inits) : 1 + count]
                inputs = {id(s): (v, x) for s, v, x in zip(self.storages, given, held, strict=True)}
                with terms.peeled_if_asked(trace):
                    self.step(args[0])
                    extra = self.finish(args[0])
                self.picked.check(get(self.cells[n]) for n in self.keep)
                hidden = self.picked.cells.keys() | self.pythons.cells.keys()
                own = {n: e.value for n, e in entries.items() if n not in hidden}
                more = self.picked.leave(own, self.cells) | self.pythons.leave(own, self.cells)
                after = {n: self.options.among(n, get(self.cells[n])) for n in self.keep}
                self.numbers.refer(after, {n: e.form.kept for n, e in entries.items() if e.form is not None})
                outs = [(s, s.value) for s in frame.changed_storages({k: v for k, (v, _) in inputs.items()})]
                found, complete = self._compare(frame, entries, objects, after), False
                if found is not None:
                    aliases = Aliases(frame, entries, objects, after)
                    collector = Collector(aliases, self.picked, args[0])
                    filled = collector.filled(self.lists)
                    aliases.check({*collector.arrays, *collector.later, *collector.views})
                    known = self.slots.leave(forms_after(entries, found, after), frame)
                    known &= self.lengths.leave(entries, found)
                    complete = self.listed.leave(frame, entries, found) and known
            self.doubts.note(trace)
            turned.ask(frame, (*trace.consts, *inits, *held) if self.exact else None)
            if frame.changed is not None and not frame.late:
                problem = f"it changes the Python container or object `{frame.changed}`"
                raise NotNative(problem, peel=frame.containers.adds)  # which has them after a step
            if frame.places:  # they are carried as names are
                self.cells |= frame.places
                self.keep += frame.places
            if frame.places or more:
                return None
            late = [s for s, _ in outs if id(s) not in inputs]
            if late:
                for s in late:
                    self._suspect(s)
                return None
            if frame.late or found is None or not complete or not self._ranges_hold(found, ranges):
                return None
            return self._result(trace, args, entries, found, inputs, outs, extra, filled, collector)  # type: ignore[possibly-undefined]

    def _range(self, key: Key, e: Entry, steps: int | None) -> tuple[int, int] | None:
        """What is assumed of a number of the carry, if that is an integer of Python's."""
        start, weak = e.inits[key[1]], e.weak[key[1]]
        whole = weak and aval_of(start).dtype == np.int64 and not aval_of(start).shape
        return self.ranges.assumed(key, start, steps) if whole else None

    def _ranges_hold(self, found: dict[str, Any], ranges: dict[Any, Any]) -> bool:
        """Whether a step keeps to what was assumed of it."""
        held = True
        for name, (form, _) in found.items():
            for n, leaf in enumerate(form.dynamic):
                held &= self.ranges.holds((name, n), ranges.get((name, n)), leaf.raw)
        return held

    def _entry(self, name: str) -> Entry:
        value = self.options.among(name, self.pythons.start(name, get(self.cells[name])))
        first = self.first.get(name)
        if first is None and (value is UNBOUND or (is_array(value) and name not in self.anew)):
            return Entry(value, None)
        kept = self.replaced.keep(name, value)
        if first is None:
            self.numbers.refer({name: value}, {name: kept})
        form = first or Form(value, kept)
        if first is None:
            self.replaced.check_start(name, value, self.cells.values())
        known = self.types.get(name)
        inits, weak = [], []
        for n, leaf in enumerate(form.dynamic):
            dtype, w = known[n] if known else (aval_of(leaf.raw).dtype, leaf.weak)
            start = leaf.raw if first is None else zeros_like(known_size(name, leaf))
            inits.append(self.lengths.start((name, n), convert(start, dtype)))
            weak.append(w)
        return Entry(value, form, inits, weak)

    def _enter(
        self, frame: Frame, entries: dict[str, Entry], args: list[Var]
    ) -> tuple[dict[str, Any], dict[Key, Box]]:
        """Let cells and storages hold the inputs; what the cells hold now, and the arrays made for it."""
        given = iter(args[1:])
        objects: dict[str, Any] = {}
        boxes: dict[Key, Box] = {}
        for name, e in entries.items():
            if e.form is None:
                objects[name] = e.value
                continue
            raws = [self.lengths.array((name, n), next(given)) for n in range(len(e.weak))]
            begun = None if name in self.first or name in self.pythons.of else args[0]
            leaves = terms.found(e, raws, frame.trace, begun)
            lay(leaves, self.layouts.get(name, ()))
            boxes |= {(name, n): x for n, x in enumerate(leaves)}
            objects[name] = e.form.rebuilt(leaves)
            put(self.cells[name], objects[name])
        for storage in self.storages:
            frame.claim(storage)
            storage.value = next(given)
        settle(self.storages)
        return objects, boxes

    # -- what has changed

    def _compare(
        self, frame: Frame, entries: dict[str, Entry], objects: dict[str, Any], after: dict[str, Any]
    ) -> Any:
        """{changed name: (form, weak flags) afterwards}; None if it must be staged again."""
        if not self.permuted:
            fold_swaps(entries, objects, after)
        changed: dict[str, tuple[Form, list[bool]]] = {}
        again = fresh = False
        rounds = max(self.settled.values(), default=0)
        for name, e in entries.items():
            x = after[name]
            self.replaced.check_given(name, e, objects[name], self.slots.boxes)
            if e.form is not None and self.numbers.differ(name, e.form, x):
                self.types.pop(name, None)
                again = fresh = True
                continue
            if x is objects[name]:
                if is_boxed(x) and e.form is not None and x.storage.version:
                    self.anew.discard(name)  # it is updated in place
                    self._suspect(e.value.storage)
                    again = True
                if name not in self.first and not self._has_changed(name):
                    continue  # what only a step has assigned is not there before the loop
            if x is UNBOUND:
                raise NotNative(f"`{name}` is deleted in it", name=name)
            if e.form is None and e.value is not UNBOUND:
                self.anew.add(name)
                again = True
                continue
            if e.form is not None and self.replaced.found(name, e.value, x):
                self.types.pop(name, None)
                again = fresh = True
                continue
            if self.options.more(name, e.value, x, self.turns.mixes):
                self.types.pop(name, None)
                again = fresh = True
                continue
            self.replaced.check_outside(name, e, x, frame, self.picked)
            form = Form(x, self.replaced.of(name, e))
            weak = [leaf.weak for leaf in form.dynamic]
            if e.form is None and name in self.spec.through:
                self.first[name] = form
                again = True
            if e.form is not None:
                again |= self._widen(name, e, form, weak, rounds)
            changed[name] = form, weak
        if fresh:
            self.slots = Slots()  # they count the leaves
        if again:
            return None
        self.replaced.check_handed_on(entries, objects, after)
        return changed

    def _suspect(self, storage: Storage) -> None:
        if all(s is not storage for s in self.storages):
            self.storages.append(storage)

    def _widen(self, name: str, e: Entry, form: Form, weak: list[bool], rounds: int) -> bool:
        """Whether the types that `name` starts with had to be changed, as those of names were in `rounds` before."""
        assert e.form is not None
        if not e.form.same(form):
            raise TypeChange(name, e.form.describe(), form.describe())
        types: list[tuple[np.dtype, bool]] = []
        changing = self.lengths.count
        for n, (x, w, leaf) in enumerate(zip(e.inits, e.weak, form.dynamic, strict=True)):
            now, first = aval_of(leaf.raw), aval_of(e.form.dynamic[n].raw)
            allowed = self.lengths.allow((name, n), first, now)
            common = promoted(aval_of(x).dtype, w, now.dtype, leaf.weak) if allowed else None
            if common is None:
                raise TypeChange(name, e.form.describe(), form.describe())
            types.append(common)
        old = [(aval_of(x).dtype, w) for x, w in zip(e.inits, e.weak, strict=True)]
        turns = types != old or self.layouts.get(name, e.form.layouts) != form.layouts
        self.types[name], self.layouts[name] = types, form.layouts
        weak[:] = [w for _, w in types]
        if turns:
            self.settled[name] = rounds + 1
        return turns or self.lengths.count > changing

    def _has_changed(self, name: str) -> bool:
        """Whether a name's array is another one's, into which the step has written."""
        mine = [b.storage for (n, _), b in self.slots.boxes.items() if n == name]
        return any(isinstance(s, Either) and s.value is not s.first for s in mine)

    # -- the result

    def _result(
        self,
        trace: StageTrace,
        args: list[Var],
        entries: dict[str, Entry],
        found: dict[str, tuple[Form, list[bool]]],
        inputs: dict[int, tuple[Var, Any]],
        outs: list[tuple[Storage, Any]],
        extra: list[Any],
        filled: list[Filled],
        collector: Collector,
    ) -> Result:
        carried: list[Carried] = []
        constant: list[tuple[Var, Any]] = []
        names: dict[str, tuple[Form, list[bool]]] = {}
        given = iter(args[1:])
        turned: dict[int, Turn] = {}
        for name, e in entries.items():
            variables = [next(given) for _ in e.inits]
            if name not in found:
                constant += zip(variables, e.inits, strict=True)
                continue
            form, weak = found[name]
            names[name] = form, weak
            starts = e.inits or [zeros_like(known_size(name, leaf)) for leaf in form.dynamic]
            for n, (start, leaf) in enumerate(zip(starts, form.dynamic, strict=True)):
                if e.form is not None and e.inits:
                    kind = None if name in self.pythons.of else (aval_of(start).dtype, weak[n])
                    turn = turn_of(e.form.dynamic[n], leaf, kind, self.settled.get(name, 1))
                    turned |= {} if turn is None else {len(carried): turn}
                out = self.lengths.outs.get((name, n), leaf.raw)
                carried.append(Carried(variables[n] if variables else None, start, out))
        new = {id(s): x for s, x in outs}
        for s in self.storages:
            var, value = inputs[id(s)]
            if id(s) in new:
                carried.append(Carried(var, value, new[id(s)]))
            else:
                constant.append((var, value))
        written = [s for s in self.storages if id(s) in new]
        for key, slots in self.slots.of.items():
            flags = zip(slots, self.slots.before[key], self.slots.after[key], strict=True)
            carried += [Carried(var, slot.start, out) for slot, var, out in flags]
        carried += map(Carried, self.lengths.vars, self.lengths.starts(), self.lengths.ends)
        lists = filled, collector.arrays, collector.views, collector.aliases, self.lists.tails
        unbound = [n for n in self.spec.unsure if n in found and entries[n].value is UNBOUND]
        hidden = self.picked, self.pythons
        lists = *lists, turned, self.doubts, unbound, hidden, self.lengths, self.listed.of_outside.values()
        return Result(trace, args, carried, constant, names, written, extra, self.cells, self.slots, *lists)
