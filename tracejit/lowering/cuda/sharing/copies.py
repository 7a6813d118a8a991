"""Loops of which a thread takes several iterations at a time: the body is written for each, statement by statement, so
that all loads come before what is computed from them, and LLVM makes one load of those of adjacent elements.

Each copy accumulates into variables of its own; these are added up behind the loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tracejit.lowering.cuda.nodes import Fragment, Kernel
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.llvm.body import NOT_UNROLLED, Translator
from tracejit.lowering.llvm.memory import Memory
from tracejit.lowering.llvm.scalar import value
from tracejit.lowering.llvm.target import Target
from tracejit.lowering.llvm.text import Function, alignment, mem_type
from tracejit.lowering.loops.nodes import Comment, For, Inst, Program, SetSlot, Slot, Store
from tracejit.lowering.loops.uses import defined, is_check, operands


class Copies(Translator):
    """Translates loops that threads share."""

    def __init__(
        self,
        f: Function,
        program: Program,
        target: Target,
        outer: Memory | None,
        fragment: Fragment,
        kernel: Kernel,
    ) -> None:
        super().__init__(f, program, target, outer)
        self.taking, self.threads = fragment.taking, kernel.threads
        self.whole = kernel.kind == "threads"  # whether all blocks share the iterations
        self.variables: dict[Slot, list[str]] = {}  # what copies of a loop's body have for a slot
        self.nth = 0  # the number of the adjacent iteration at hand
        self.totals: Mapping[Slot, int] = {t.slot: n for n, t in enumerate(fragment.totals)}
        self.known = False  # whether it is known what its addresses are multiples of
        self.kept, self.fresh, self.first_kept = fragment.kept, fragment.fresh, kernel.accumulated
        self.element_of_thread = (
            0  # which of the iterations of this thread is at hand, where it takes all at once
        )

    def iterate(self, node: For, start: str, stop: str) -> None:
        if node is self.outermost and self.taking.trips:
            self._at_once(node, start)
        elif node is self.outermost and self.taking.together > 1:
            self._shared(node, start, stop)
        else:
            self.single(node, start, stop)

    def _shared(self, node: For, start: str, stop: str) -> None:
        """The groups of iterations of this thread, as many at a time as it takes; then one group at a time; then what
        is left over at the end of the loop, which is less than a group. Between two groups are those of the other
        threads of the block, and the blocks of a grid take turns."""
        f, wide, groups = self.f, self.taking.adjacent, self.taking.groups
        row = self.threads * wide
        at = f.let(f"add nsw i64 {start}, {f.let(f'mul nsw i64 %tid, {wide}')}")
        step = str(row * groups)
        if self.whole:
            at = f.let(f"add nsw i64 {at}, {f.let(f'mul nsw i64 %cta, {step}')}")
            step = f.let(f"mul nsw i64 %ncta, {step}")
        slots = [self._slots_of(node) for _ in range(wide * groups)]
        is_masked = groups > 1 and wide > 1 and self._only_accumulates(node)
        limit = stop
        if is_masked:  # all threads of the block do as many whole rounds
            more = f.let(f"mul nsw i64 {f.let('add nsw i64 %tid, 1')}, {wide}")
            limit = f.let(f"add nsw i64 {f.let(f'sub nsw i64 {stop}, {row}')}, {more}")
        at = self._groups(node, at, limit, step, slots)
        if is_masked:
            at = self._masked(node, at, start, stop, slots)
        elif groups > 1 and wide > 1:
            at = self._groups(node, at, stop, str(row), slots[:wide])
        self._groups(node, at, stop, "1" if wide > 1 else str(row), slots[:1])
        self.slots |= slots[0]

    def _at_once(self, node: For, start: str) -> None:
        """All iterations of this thread: groups that each thread has, and one more that some have."""
        f, wide = self.f, self.taking.adjacent
        row = self.threads * wide
        groups, rest = divmod(self.taking.trips, row)
        mine = f.let(f"mul nsw i64 %tid, {wide}")
        first = f.let(f"add nsw i64 {start}, {mine}")
        starts = [f.let(f"add nsw i64 {first}, {g * row}") for g in range(groups)]
        slots = [self._slots_of(node) for _ in range(wide * (groups + (rest > 0)))]
        inside = f.let(f"icmp slt i64 {mine}, {rest}")
        last = f.let(f"add nsw i64 {first}, {groups * row}")
        is_masked = bool(rest) and self._only_accumulates(node)
        if is_masked:
            starts.append(f.let(f"select i1 {inside}, i64 {last}, i64 {first if groups else start}"))
        indices = [f.let(f"add nsw i64 {s}, {n}") if n else s for s in starts for n in range(wide)]
        masks = [""] * (wide * groups) + [inside] * wide if is_masked else ()
        with self.scopes.independent(node.body):
            self._copies(node, indices, slots[: len(indices)], masks)
            if rest and not is_masked:
                some, none = f.labels("some", "none")
                f.branch(inside, some, none)
                f.begin(some)
                indices = [f.let(f"add nsw i64 {last}, {n}") if n else last for n in range(wide)]
                self._copies(node, indices, slots[wide * groups :], before=wide * groups)
                f.jump(none)
                f.begin(none)
        self.slots |= slots[0]

    def _only_accumulates(self, node: For) -> bool:
        """Whether a loop does nothing but accumulate, and keep, what it reads."""
        return (
            not self.whole
            and all(
                isinstance(s, (Inst, Comment))
                or (isinstance(s, SetSlot) and s.slot in self.totals)
                or (isinstance(s, Store) and s in self.kept)
                for s in node.body.stmts
            )
            and not any(is_check(s) for s in node.body.stmts)
        )

    def _masked(self, node: For, at: str, start: str, stop: str, slots: Sequence[dict[Slot, str]]) -> str:
        """What is left of the groups of this thread, all at once, so that it waits for memory once: those outside of
        the range read the first one of all, and accumulate nothing. Where the rest starts, less than a group."""
        f, wide = self.f, self.taking.adjacent
        some, done, before, rest = *f.labels("some", "none"), f.label, f.fresh()
        long = f.let(f"icmp sge i64 {f.let(f'sub nsw i64 {stop}, {start}')}, {wide}")
        f.branch(f.let(f"and i1 {long}, {f.let(f'icmp slt i64 {at}, {stop}')}"), some, done)
        f.begin(some)
        left, masks, indices = stop, [], []
        for n in range(self.taking.groups):
            first = f.let(f"add nsw i64 {at}, {n * self.threads * wide}") if n else at
            inside = f.let(f"icmp sle i64 {f.let(f'add nsw i64 {first}, {wide}')}, {stop}")
            begun = f.let(f"icmp slt i64 {first}, {stop}")
            ends = f.let(f"and i1 {begun}, {f.let(f'xor i1 {inside}, true')}")
            left = f.let(f"select i1 {ends}, i64 {first}, i64 {left}")
            where = f.let(f"select i1 {inside}, i64 {first}, i64 {start}")
            indices += [f.let(f"add nsw i64 {where}, {k}") if k else where for k in range(wide)]
            masks += [inside] * wide
        with self.scopes.independent(node.body):
            self._copies(node, indices, slots, masks)
        after = f.label
        f.jump(done)
        f.begin(done)
        f.add(f"{rest} = phi i64 [ {at}, %{before} ], [ {left}, %{after} ]")
        return rest

    def _set_where(self, mask: str, s: SetSlot) -> None:
        """Set a slot if a condition holds."""
        f, type_, name = self.f, mem_type(s.slot.dtype), value(self.f, s.value)
        name = f.let(f"zext i1 {name} to i8") if s.slot.dtype.kind == "b" else name
        was = f.let(f"load {type_}, ptr {self.slot(s.slot)}")
        now = f.let(f"select i1 {mask}, {type_} {name}, {type_} {was}")
        f.add(f"store {type_} {now}, ptr {self.slot(s.slot)}")

    def _groups(self, node: For, first: str, stop: str, step: str, slots: Sequence[dict[Slot, str]]) -> str:
        """A loop of which each iteration is those of as many copies as there are `slots`; where the rest starts."""
        f, wide = self.f, min(self.taking.adjacent, len(slots))
        groups = len(slots) // wide
        i, after = f.fresh(), f.fresh()
        head, body, done = f.labels("several", "copies", "rest")
        before = f.label
        starts = [i]
        f.jump(head)
        f.begin(head)
        f.add(f"{i} = phi i64 [ {first}, %{before} ], [ {after}, %{body}.end ]")
        for _ in range(groups - 1):
            starts.append(f.let(f"add nsw i64 {starts[-1]}, {self.threads * wide}"))
        last = f.let(f"add nsw i64 {starts[-1]}, {wide - 1}") if wide > 1 else starts[-1]
        f.branch(f.let(f"icmp slt i64 {last}, {stop}"), body, done)
        f.begin(body)
        indices = [f.let(f"add nsw i64 {s}, {n}") if n else s for s in starts for n in range(wide)]
        with self.scopes.independent(node.body):
            self._copies(node, indices, slots)
        f.add(f"{after} = add nsw i64 {i}, {step}")
        f.jump(f"{body}.end")
        f.begin(f"{body}.end")
        module = f.module
        hint = module.node(f"distinct !{{{{self}}, {module.shared(NOT_UNROLLED)}}}")
        f.add(f"br label %{head}, !llvm.loop {hint}")
        f.begin(done)
        return i

    def _copies(
        self,
        node: For,
        indices: Sequence[str],
        slots: Sequence[dict[Slot, str]],
        masks: Sequence[str] = (),
        before: int = 0,
    ) -> None:
        """Each statement of the body for each of the iterations `indices`; slots are set where `masks` hold. `before`:
        the iterations of the thread before these."""
        names = [{node.var.id: i} for i in indices]
        self.known = len(slots) > 1 or self.taking.adjacent == 1
        for s in node.body.stmts:
            inside = walk([s])
            read, made = ([r for i in inside for r in names_of(i)] for names_of in (operands, defined))
            for n, own in enumerate(names):
                self.f.names[node.var.id] = own[node.var.id]
                self.f.names.update((r.id, own[r.id]) for r in read if r.id in own)
                self.slots |= slots[n]
                self.nth, self.element_of_thread = n % self.taking.adjacent, before + n
                if masks and masks[n] and isinstance(s, SetSlot):
                    self._set_where(masks[n], s)
                else:
                    self.stmt(s)
                own.update((r.id, self.f.names[r.id]) for r in made)
        self.known = False

    def _slots_of(self, node: For) -> dict[Slot, str]:
        """New variables for the slots that the body of a loop sets."""
        mine = {}
        for slot in dict.fromkeys(s.slot for s in node.body.stmts if isinstance(s, SetSlot)):
            self.slots.pop(slot, None)
            mine[slot] = self.slot(slot)
        return mine

    # -- what threads keep

    def load(self, inst: Inst) -> str:
        if inst not in self.kept:
            return super().load(inst)
        where, t = self._of_thread(inst), mem_type(inst.out.dtype)
        if inst in self.fresh:
            got = super().load(inst)
            kept = self.f.let(f"zext i1 {got} to i8") if inst.out.dtype.kind == "b" else got
            self.f.add(f"store {t} {kept}, ptr {where}, align 8")
            return got
        got = self.f.let(f"load {t}, ptr {where}, align 8")
        return self.f.let(f"trunc i8 {got} to i1") if inst.out.dtype.kind == "b" else got

    def keep(self, node: Store) -> None:
        """A store into a word of this thread's."""
        x, t = value(self.f, node.value), mem_type(node.value.dtype)
        x = self.f.let(f"zext i1 {x} to i8") if node.value.dtype.kind == "b" else x
        self.f.add(f"store {t} {x}, ptr {self._of_thread(node)}, align 8")

    def _of_thread(self, access: Inst | Store) -> str:
        """The word in which this thread keeps what is accessed in the iteration at hand."""
        word = self.first_kept + self.kept[access] + self.element_of_thread
        return self.f.let(f"getelementptr inbounds i64, ptr %mine, i64 {word}")

    def alignment(self, access: Inst | Store, dtype: np.dtype) -> int:
        known = self.taking.aligned.get(access, 0) if self.known else 0
        size = alignment(dtype)
        at = self.nth * size
        while known > size and at % known:
            known //= 2
        return max(known, size)

    def join(self, slot: Slot, name: str) -> None:
        """Take what the copies have accumulated into the variable of the first, two at a time."""
        f, type_, mine = self.f, mem_type(slot.dtype), self.variables[slot]
        if len(mine) == 1:
            return
        values = [f.let(f"load {type_}, ptr {v}") for v in mine]
        while len(values) > 1:
            pairs = zip(values[::2], values[1::2], strict=False)
            joined = [f.let(f"call {type_} @tj.take.{name}({type_} {a}, {type_} {b})") for a, b in pairs]
            values = joined + values[len(joined) * 2 :]
        f.add(f"store {type_} {values[0]}, ptr {self.slot(slot)}")
