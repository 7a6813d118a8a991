"""From a plan to loops: the groups of one jaxpr in order, and what their nests ask of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tracejit.ir.jaxpr import Atom, Eqn, Jaxpr, Var
from tracejit.ir.kernel import (
    Pointwise,
)  # fmt: skip
from tracejit.ir.pretty import Namer, headline
from tracejit.lowering.notes import room, value_of
from tracejit.lowering.plan.access import (  # fmt: skip
    Index,
    Inline,
    Local,
    Scope,
    Stored,
    c_strides,
    is_contiguous,
)
from tracejit.lowering.plan.context import Context, loops
from tracejit.lowering.plan.groups import Group, Plan, Storage
from tracejit.lowering.plan.schedule import Schedule
from tracejit.lowering.plan.views import as_view


class Body(Scope):
    """One jaxpr being lowered: a scope with a plan.

    `values` has the arguments; `owned` those whose storage may be overwritten; `targets` says for
    every output where it must end (None for 0-d ones).
    """

    def __init__(
        self,
        ctx: Context,
        jaxpr: Jaxpr,
        values: dict[Var, Any],
        owned: dict[Var, Storage],
        targets: list[Any],
        nested: bool = False,
    ) -> None:
        super().__init__(ctx.k, values)
        self.ctx = ctx
        self.jaxpr = jaxpr
        self.targets = targets
        self.plan: Plan = Schedule(jaxpr, owned, targets, nested, ctx.notes).run()
        self.order = {e: n for n, e in enumerate(jaxpr.eqns)}
        self.namer = Namer()
        #: What an update has written -> values that are found there, and from which index on.
        self.parts: dict[Var, list[tuple[Var, Index]]] = {}
        for e in self.plan.cost:
            self.inline(e)
        if ctx.notes is not None:
            ctx.notes.bodies.append(self)

    def nested(self, jaxpr: Jaxpr, values: Any, owned: dict[Var, Storage], targets: list[Any]) -> Body:
        """A region's jaxpr as a body of the same program."""
        return type(self)(self.ctx, jaxpr, values, owned, targets, nested=True)

    def inline(self, eqn: Eqn) -> None:
        """Compute the results of an equation wherever they are read."""
        self.values.update((v, Inline(self, eqn, n)) for n, v in enumerate(eqn.outvars))

    def run(self) -> list[Any]:
        """Emit everything; the operands of 0-d outputs (None for the others)."""
        for group in self.plan.groups:
            self._preserve(group)
            self.emit(group)
        outs = [None if a.aval.shape else self.read(a, ()) for a in self.jaxpr.outs]
        self._moves()
        return outs

    def emit(self, group: Group) -> None:
        """The nest of a group (`nests.Nests`)."""
        raise NotImplementedError

    def comment(self, eqn: Eqn) -> None:
        """The equation as a line of the listing."""
        self.k.comment(headline(eqn, self.namer, True), eqn.source)
        if self.ctx.notes is not None:
            self.ctx.notes.comments[self.k.block.stmts[-1]] = eqn

    # -- storage

    def place(self, var: Var) -> Stored:
        """Where `var` is stored; makes the block if there is none yet."""
        storage = self.plan.storage[var]
        if storage.stored is None:
            storage.stored = self.ctx.allocate(self, var.aval.shape, var.aval.dtype, "t")
        s = storage.stored
        strides = c_strides(var.aval.shape) if storage.plain and var.aval.is_static else s.strides
        return Stored(s.buffer, strides, s.offset, self.k.depth)

    def define(self, var: Var) -> Any:
        """Make `var` a stored value, or one that only the current nest knows."""
        self.values[var] = value = self.place(var) if var in self.plan.storage else Local()
        if var in self.plan.relabelled:
            self.define(self.plan.relabelled[var])
        return value

    def remember(self, var: Var, idx: Index, x: Any) -> None:
        """Element `idx` of `var` is in a register."""
        self.k.remember(self.k.depth, (self.values[var], idx), x)

    def put(self, value: Any, idx: Index, x: Any) -> None:
        """Store an element, if the value is stored at all."""
        if type(value) is Stored:
            self.k.store(value.buffer, value.at(self.k, idx), x)

    def buffered(self, atom: Atom) -> Stored:
        """A value as a strided part of a buffer."""
        value = self.stored(self.values[atom]) if type(atom) is Var else None
        if type(value) is Stored:
            return value
        if type(value) is Inline and (view := as_view(self, value)) is not None:
            return view
        return self.materialise(atom)

    def contiguous(self, atom: Atom) -> Stored:
        """A value as a whole C-ordered block that starts at its buffer's first element."""
        value = self.buffered(atom)
        fits = not atom.aval.shape or value.strides == c_strides(atom.aval.shape)
        return (
            value
            if fits and type(value.offset) is int and value.offset == 0
            else self.materialise(atom, "layout")
        )

    def note_copy(self, rule: str, atom: Atom) -> None:
        """Note that a value is copied."""
        if self.ctx.notes is not None and atom.aval.shape:
            made = next((e for e in self.order if atom in e.outvars), None)
            what = value_of(made, atom.aval)
            self.ctx.notes.add(f"copy: {rule}", what, made.source if made else None, bytes=room(atom.aval))

    def materialise(self, atom: Atom, rule: str = "whole") -> Stored:
        """A copy of a value in a block of its own, by this rule (see `lowering.notes`)."""
        if rule and self.ctx.notes is not None:
            self.note_copy(rule, atom)
        target = self.ctx.allocate(self, atom.aval.shape, atom.aval.dtype, "t")
        self.fill(target, atom)
        return target

    def fill(self, target: Stored, atom: Atom) -> None:
        """target[...] = atom."""
        value = self.stored(self.values[atom]) if type(atom) is Var else None
        if type(value) is Stored:
            self.ctx.copy(self, target, value, atom.aval)
            return
        with loops(self, atom.aval.shape, independent=True) as idx:
            self.put(target, idx, self.read(atom, idx))

    def _preserve(self, group: Group) -> None:
        for var in group.preserve:
            self.preserve(var)

    def preserve(self, var: Var) -> None:
        """Copy a value away whose storage is about to be overwritten."""
        old, new = self.values[var], self.materialise(var, "")
        moved = [v for v, value in self.values.items() if value is old]
        self.values.update(dict.fromkeys(moved, new))
        for v in moved:
            for part, at in self.parts.get(v, ()):
                self.values[part] = replace(new, offset=new.at(self.k, at))

    def read_back(self, part: Var, whole: Var, at: Index) -> None:
        """`part` is found in `whole`, from index `at` on, as long as that is not overwritten."""
        stored = self.stored(self.values[whole])
        self.values[part] = replace(stored, offset=stored.at(self.k, at), since=self.k.depth)
        self.parts.setdefault(whole, []).append((part, at))

    def _moves(self) -> None:
        """Put outputs that are arguments, duplicates or constants into their targets."""
        for n in self.plan.moves:
            if self.targets[n].stored is None:
                a = self.jaxpr.outs[n]
                self.targets[n].stored = self.ctx.allocate(self, a.aval.shape, a.aval.dtype, "t")
        pending = [(self.targets[n].stored, self.jaxpr.outs[n]) for n in self.plan.moves]
        while pending:
            target, atom = pending.pop(0)
            for other in dict.fromkeys(a for _, a in pending if type(a) is Var and a is not atom):
                value = self.values[other]
                if type(value) is Stored and value.buffer is target.buffer:
                    self.preserve(other)
            self.fill(target, atom)

    # -- groups

    def inlined(self, eqns: list[Eqn]) -> list[Eqn]:
        """The inlined equations that `eqns` consist of, themselves included, in program order."""
        found, stack = set(eqns), list(eqns)
        while stack:
            for a in stack.pop().invars:
                value = self.values.get(a) if type(a) is Var else None
                if type(value) is Inline and value.scope is self and value.eqn not in found:
                    found.add(value.eqn)
                    stack.append(value.eqn)
        return sorted(found, key=self.order.__getitem__)

    def check(self, eqn: Eqn) -> None:
        """Give an equation that may fail its status code."""
        if eqn.effects:
            self.k.fail_code = self.ctx.fail_code(eqn)

    def compute(self, members: list[Eqn], idx: Index, own: dict[Var, Any]) -> None:
        """Compute the members at `idx`, then store them: storage may be that of an operand."""
        self.commit(self.evaluate(members, idx, own), idx)

    def commit(self, results: list[tuple[Any, Any]], idx: Index) -> None:
        """Store what `evaluate` gave."""
        for value, x in results:
            self.put(value, idx, x)
        self.pending.clear()

    def evaluate(
        self, members: list[Eqn], idx: Index, own: dict[Var, Any], element: Any = None
    ) -> list[tuple[Any, Any]]:
        """The places and scalars of the members' results at `idx`, which `element(eqn, idx)` computes."""
        got = []
        self.pending += own.values()
        for eqn in members:
            self.check(eqn)
            xs = (element or self.element)(eqn, idx)
            self.k.remember(self.k.depth, (self, eqn, idx), xs)
            for v, x in zip(eqn.outvars, xs, strict=True):
                if v in own:
                    self.remember(v, idx, x)
                    got.append((own[v], x))
        return got

    def is_flat(self, eqns: list[Eqn], shape: Any, own: Any) -> bool:
        """Whether everything is read and written in C order of `shape`, so that one loop does."""
        if not all(type(d) is int for d in shape):
            return False
        if not all(type(own[v]) is Stored and is_contiguous(own[v], shape) for v in own):
            return False
        return all(self._is_flat(e, own) for e in self.inlined(eqns))

    def _is_flat(self, eqn: Eqn, own: Any) -> bool:
        form = eqn.op.kernel
        if eqn in self.plan.constant:
            return True
        if not (isinstance(form, Pointwise) or getattr(form, "alias", False)):
            return False
        for a in eqn.invars:
            if type(a) is Var and a not in own and a not in self.values:
                return False  # nothing reads it: there are no elements
            value = self.stored(self.values[a]) if type(a) is Var and a.aval.shape and a not in own else None
            if type(value) is Stored and not is_contiguous(value, a.aval.shape):
                return False
            if (
                value is not None
                and type(value) is not Stored
                and not (type(value) is Inline and value.scope is self)
            ):
                return False
        return True

    def reads_flat(self, atom: Atom, own: Any) -> bool:
        """Whether `atom` can be read in C order."""
        value = self.stored(self.values[atom]) if type(atom) is Var else None
        if type(value) is Inline and value.scope is self:
            return all(self._is_flat(e, own) for e in self.inlined([value.eqn]))
        return value is None or (type(value) is Stored and is_contiguous(value, atom.aval.shape))
