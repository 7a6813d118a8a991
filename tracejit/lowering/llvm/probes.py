"""Programs that measure themselves: which statements have a probe, and the code of probes.

A probe is around a piece of a block: a nest of loops, a call of BLAS or of Python, a loop with nests in it. It reads
the processor's counter before and after, adds to sums that the function has on its stack (they go to the program's
counters when the function ends), and leaves a line in the log while that has room. What takes less time than a few
probes has none: it counts as the own time of what is around it.

    counters: base | address of the log | for each probe: times, ticks, ~least, most
    log:      lines written | lines there is room for | 48 bytes | (base + probe, thread, start, stop) ...
"""

from __future__ import annotations

import platform
import re
from dataclasses import field
from typing import Any

from tracejit.lowering import notes
from tracejit.lowering.costs import Cost, Counter
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.llvm.body import Translator
from tracejit.lowering.llvm.target import Target
from tracejit.lowering.llvm.text import Function
from tracejit.lowering.loops.nodes import (
    Block,
    Buffer,
    Call,
    Comment,
    Const,
    Copy,
    For,
    If,
    Inst,
    Program,
    While,
    blocks_of,
)
from tracejit.records import record

COUNTERS = "profile:counters"
#: The words of the counters before those of the probes, and of each probe.
HEAD, WORDS = 2, 4
#: Bytes of the log before its lines, and of a line.
LOG_HEAD, LINE = 64, 32
#: About how many instructions a statement has that is worth a probe: where it is run once, and in loops.
_ONCE, _AGAIN = 1000, 6000
_PREFIXES = {"part": "a thread's part of ", "copy": "copy for ", "branch": "branch: ", "loop": "loop: "}
_EQUATION = re.compile(r"(?:let (?P<outs>.*?) = )?(?P<op>[\w.]+)")
_TYPE = re.compile(r":(\w+\[[^\]]*\])")
_LANES, _TURNS, _UNKNOWN = 4, 30, 100
_MATH, _LEAVING, _ROUTINE, _SCALAR = 10, 10_000, 6000, 50


@record(eq=False)
class Probe:
    """What a probe measures. `kind`: 'entry' (the whole program), 'nest', 'loop' (nests in it may have their own),
    'branch', 'blas', 'callback', 'call', 'copy', or 'part' (of a loop that threads share, as one thread works on it).
    `what`: the equation; `source`: the user's line; `around`: the probe that it is in; `cost`: of running it once, and
    `moved` bytes."""

    kind: str
    what: str
    source: Any = None
    around: int = 0
    cost: Cost | None = None
    moved: float = 0.0


@record(eq=False)
class Plan:
    """The probes of a program, entry first, and the statements before and after which each is."""

    probes: list[Probe]
    before: dict[Any, list[int]] = field(default_factory=dict)
    after: dict[Any, list[int]] = field(default_factory=dict)
    parts: dict[Any, int] = field(default_factory=dict)


def plan(program: Program, everything: bool = False) -> Plan:
    """Where a program is measured: where it is worth it, or `everything`."""
    found = Plan([Probe("entry", program.name, None, -1)])
    planner = _Planner(found, Counter().over(program))
    if everything:
        planner.once = planner.again = 1
    planner.block(program.body, 0, planner.once, Comment(program.name))
    return found


class _Planner:
    def __init__(self, found: Plan, counter: Counter) -> None:
        self.plan = found
        self.counter = counter
        self.once, self.again = _ONCE, _AGAIN

    def block(self, block: Block, around: int, least: int, comment: Comment) -> None:
        """Place probes in a block, whose statements come below `comment`."""
        small: list[Any] = []
        named = comment
        for head, stmts in _groups(block, comment):
            large = [s for s in stmts if _is_measured(s) and _work(s) >= least]
            if not large:
                named = named if small else head
                small += stmts
                continue
            self.together(small, around, least, named)
            small = []
            for s in large:
                whole = stmts if len(large) == 1 else [s]
                n = self.probe(_kind(s), head, whole, around, [s])
                self.inside(s, n, head)
        self.together(small, around, least, named)

    def together(self, stmts: list[Any], around: int, least: int, named: Comment) -> None:
        """One probe for many small statements, if they are worth it."""
        if sum(map(_work, stmts)) >= least:
            self.probe("nest", named, stmts, around, stmts)

    def inside(self, s: Any, n: int, head: Comment) -> None:
        """Probes in a statement that has one."""
        if isinstance(s, For) and s.grain:
            part = Probe("part", head.text, head.source, n)
            self.plan.parts[s] = n = self.add(part)
        if isinstance(s, For) and s.vector:
            return
        least = self.once if isinstance(s, If) else self.again
        for b in blocks_of(s):
            self.block(b, n, least, head)

    def probe(self, kind: str, head: Comment, whole: list[Any], around: int, of: list[Any]) -> int:
        cost = Cost()
        for s in of:
            cost.add(self.counter.noted.get(s, Cost()))
        n = self.add(Probe(kind, head.text, head.source, around, cost, self.counter.bytes_of(cost)))
        self.plan.before.setdefault(whole[0], []).append(n)
        self.plan.after.setdefault(whole[-1], []).insert(0, n)
        return n

    def add(self, probe: Probe) -> int:
        self.plan.probes.append(probe)
        return len(self.plan.probes) - 1


def _groups(block: Block, comment: Comment) -> list[tuple[Comment, list[Any]]]:
    """The statements of a block by the comment that they come below."""
    groups: list[tuple[Comment, list[Any]]] = [(comment, [])]
    for s in block.stmts:
        if type(s) is Comment:
            groups.append((s, []))
        else:
            groups[-1][1].append(s)
    return [(head, stmts) for head, stmts in groups if stmts]


def _is_measured(s: Any) -> bool:
    return isinstance(s, (For, While, If, Copy)) or (isinstance(s, Call) and _takes_arrays(s))


def _takes_arrays(s: Call) -> bool:
    return any(isinstance(a, (Buffer, tuple)) for a in s.args)


def _kind(s: Any) -> str:
    if isinstance(s, Call):
        library = s.target.name.partition(":")[0]
        return library if library == "callback" else "blas" if library in ("blas", "lapack") else "call"
    if isinstance(s, (Copy, If)):
        return "copy" if isinstance(s, Copy) else "branch"
    named = any(type(t) is Comment for b in blocks_of(s) for t in walk(b.stmts))
    return "loop" if isinstance(s, While) or named else "nest"


def _work(s: Any) -> float:
    """About how many instructions a statement executes."""
    if isinstance(s, For):
        ends = [x.value if isinstance(x, Const) else None for x in (s.start, s.stop)]
        trips = _UNKNOWN if None in ends else max(ends[1] - ends[0], 0)  # type: ignore[operator]
        return trips * sum(map(_work, s.body.stmts)) / (_LANES if s.vector else 1)
    if isinstance(s, While):
        return _TURNS * (sum(map(_work, s.head.stmts)) + sum(map(_work, s.body.stmts)))
    if isinstance(s, If):
        return max(sum(map(_work, b.stmts)) for b in (s.then, s.orelse))
    if isinstance(s, Copy):
        return s.count.value / _LANES if isinstance(s.count, Const) else _UNKNOWN
    if isinstance(s, Call):
        if s.target.name.startswith("callback:"):
            return _LEAVING
        return s.work or (_ROUTINE if _takes_arrays(s) else _SCALAR)
    return _MATH if isinstance(s, Inst) and s.op == "math" else 1


def label(probe: Probe) -> str:
    """What a probe measures, as `explain` names loops: `tanh f64[200,20]`, by the operation that they end with."""
    if probe.kind == "entry":
        return "machine code"
    equation = probe.what.partition("   # ")[0]
    found = _EQUATION.match(equation)
    op, outs = (found["op"], found["outs"] or "") if found else (equation, "")
    types = _TYPE.findall(outs)
    shown = f"{op} {notes.type_of(types[0])}" if types else op
    return _PREFIXES.get(probe.kind, "") + shown


# ---------------------------------------------------------------- code


class Weaver(Translator):
    """Writes a program with the probes of a plan."""

    plan: Plan
    number = 0  # the probe of the function that is being written, -1 if it has none

    def part(self, f: Function, target: Target) -> Weaver:
        made = super().part(f, target)
        assert isinstance(made, Weaver)
        made.plan = self.plan
        return made

    def open(self, node: For | None = None) -> None:
        """The function begins: the time, the thread, the sums."""
        f = self.f
        self.number = self.plan.parts.get(node, -1) if node is not None else 0
        if self.number < 0:
            return
        self.began = {self.number: f.let(_clock())}
        self.state = self.target.external(f, self.register(COUNTERS, "void()"))
        get = self.target.external(f, self.register("c:pthread_self", "i64()"))
        self.thread = f.let(f"call i64 {get}() nounwind")
        words = WORDS * len(self.plan.probes)
        self.sums = self.alloca(f"[{words} x i64]")
        f.add(f"call void @llvm.memset.p0.i64(ptr {self.sums}, i8 0, i64 {8 * words}, i1 false)")
        f.module.functions.setdefault("probed", _PROBED.format(clock=_clock()))
        f.module.functions.setdefault("gathered", _GATHERED)

    def stmt(self, stmt: Any) -> None:
        for n in self.plan.before.get(stmt, ()):
            self.began[n] = self.f.let(_clock())
        super().stmt(stmt)
        for n in self.plan.after.get(stmt, ()):
            self.end(n)

    def end(self, n: int) -> None:
        """What probe `n` is around has ended."""
        # It touches nothing that the program does, whose values stay in registers.
        args = f"ptr {self.sums}, ptr {self.state}, i64 {n}, i64 {self.began[n]}, i64 {self.thread}"
        self.f.add(
            f"call void @probed({args}) nounwind memory(argmem: readwrite, inaccessiblemem: readwrite)"
        )

    def finish(self) -> None:
        super().finish()
        if self.number < 0:
            return
        self.end(self.number)
        count = len(self.plan.probes)
        self.f.add(f"call void @gathered(ptr {self.sums}, ptr {self.state}, i64 {count})")


def _clock() -> str:
    """The instruction that reads the counter."""
    if platform.machine().lower() in ("aarch64", "arm64"):
        return 'call i64 asm sideeffect "mrs $0, cntvct_el0", "=r"()'  # the other one is the kernel's
    return "call i64 @llvm.readcyclecounter() memory(inaccessiblemem: readwrite)"


def clock() -> str:
    """A module whose `entry` reads the counter."""
    return f"define i64 @entry() nounwind {{\n  %now = {_clock()}\n  ret i64 %now\n}}\n"


_PROBED = """define internal void @probed(ptr %sums, ptr %state, i64 %n, i64 %start, i64 %thread) noinline nounwind {{
  %now = {clock}
  %took = sub i64 %now, %start
  %inverse = xor i64 %took, -1
  %at = shl i64 %n, 5
  %count.at = getelementptr i8, ptr %sums, i64 %at
  %total.at = getelementptr i8, ptr %count.at, i64 8
  %least.at = getelementptr i8, ptr %count.at, i64 16
  %most.at = getelementptr i8, ptr %count.at, i64 24
  %count = load i64, ptr %count.at
  %total = load i64, ptr %total.at
  %least = load i64, ptr %least.at
  %most = load i64, ptr %most.at
  %more = add i64 %count, 1
  %sum = add i64 %total, %took
  %lower = call i64 @llvm.umax.i64(i64 %least, i64 %inverse)
  %higher = call i64 @llvm.umax.i64(i64 %most, i64 %took)
  store i64 %more, ptr %count.at
  store i64 %sum, ptr %total.at
  store i64 %lower, ptr %least.at
  store i64 %higher, ptr %most.at
  %log.at = getelementptr i64, ptr %state, i64 1
  %log = load ptr, ptr %log.at
  %room.at = getelementptr i64, ptr %log, i64 1
  %room = load i64, ptr %room.at
  %written = load atomic i64, ptr %log monotonic, align 8
  %fits = icmp ult i64 %written, %room
  br i1 %fits, label %take, label %done
take:
  %line = atomicrmw add ptr %log, i64 1 monotonic
  %is = icmp ult i64 %line, %room
  br i1 %is, label %write, label %done
write:
  %base = load i64, ptr %state
  %id = add i64 %base, %n
  %offset = shl i64 %line, 5
  %start.of = getelementptr i8, ptr %log, i64 64
  %id.at = getelementptr i8, ptr %start.of, i64 %offset
  %thread.at = getelementptr i8, ptr %id.at, i64 8
  %start.at = getelementptr i8, ptr %id.at, i64 16
  %stop.at = getelementptr i8, ptr %id.at, i64 24
  store i64 %id, ptr %id.at
  store i64 %thread, ptr %thread.at
  store i64 %start, ptr %start.at
  store atomic i64 %now, ptr %stop.at release, align 8
  br label %done
done:
  ret void
}}"""

_GATHERED = """define internal void @gathered(ptr %sums, ptr %state, i64 %count) noinline nounwind {
start:
  br label %head
head:
  %n = phi i64 [ 0, %start ], [ %next, %on ]
  %inside = icmp ult i64 %n, %count
  br i1 %inside, label %look, label %done
look:
  %next = add i64 %n, 1
  %at = shl i64 %n, 5
  %from = getelementptr i8, ptr %sums, i64 %at
  %times = load i64, ptr %from
  %none = icmp eq i64 %times, 0
  br i1 %none, label %on, label %add
add:
  %first = getelementptr i64, ptr %state, i64 2
  %to = getelementptr i8, ptr %first, i64 %at
  %total.from = getelementptr i64, ptr %from, i64 1
  %least.from = getelementptr i64, ptr %from, i64 2
  %most.from = getelementptr i64, ptr %from, i64 3
  %total.to = getelementptr i64, ptr %to, i64 1
  %least.to = getelementptr i64, ptr %to, i64 2
  %most.to = getelementptr i64, ptr %to, i64 3
  %total = load i64, ptr %total.from
  %least = load i64, ptr %least.from
  %most = load i64, ptr %most.from
  %a = atomicrmw add ptr %to, i64 %times monotonic
  %b = atomicrmw add ptr %total.to, i64 %total monotonic
  %c = atomicrmw umax ptr %least.to, i64 %least monotonic
  %d = atomicrmw umax ptr %most.to, i64 %most monotonic
  br label %on
on:
  br label %head
done:
  ret void
}"""
