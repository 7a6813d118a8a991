"""Loop IR -> plan of launches: which statements become which kernels, and what the host does between them.

- A loop over independent iterations is a kernel whose threads take the iterations in turn; if its iterations hold such
  loops of their own (a row of a softmax, say), a kernel whose blocks take the iterations, and the threads of a block
  those of the inner loops.
- What depends on what came before is run by one block: one thread runs scalar code, all threads the loops in it.
- Loops over the same lanes, with loops of steps around them, are one loop over lanes before (`lanes`): a thread each.
- A loop or branch around work that is worth many blocks, or around calls, is the host's, with a launch for each piece.
- Calls of the device's libraries are steps of their own; other calls, and those of Python, are the host's.
"""

from __future__ import annotations

from typing import Any

from tracejit.ir.kernel import Unsupported
from tracejit.lowering.cuda.facts import Facts, expand_copies, is_library, is_loop, is_scalar, moved
from tracejit.lowering.cuda.lanes.ahead import read_ahead
from tracejit.lowering.cuda.lanes.gather import gather
from tracejit.lowering.cuda.lanes.group import SMALL
from tracejit.lowering.cuda.nodes import (
    WARP,
    Control,
    Fragment,
    Host,
    Keep,
    Kernel,
    Library,
    Move,
    Plan,
    Total,
    every,
    fragments,
)
from tracejit.lowering.cuda.sharing.beside import put_beside
from tracejit.lowering.cuda.sharing.early import store_early
from tracejit.lowering.cuda.sharing.keeping import keep
from tracejit.lowering.cuda.sharing.occupancy import Room, choose
from tracejit.lowering.cuda.sharing.taking import taking
from tracejit.lowering.cuda.sharing.warps import by_warps, suits_warps
from tracejit.lowering.cuda.tiles.crossed import tile
from tracejit.lowering.cuda.tiles.flat import flatten
from tracejit.lowering.cuda.tiles.stencils import tile_stencils
from tracejit.lowering.cuda.words import give_words
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.nodes import (  # fmt: skip
    Alloc,
    Buffer,
    Call,
    Comment,
    Const,
    For,
    Free,
    Give,
    Grow,
    Inst,
    Program,
    SetSlot,
    While,
    blocks_of,
)
from tracejit.lowering.loops.uses import defined, is_check, operands, places
from tracejit.lowering.lowered import Lowered

#: Iterations up to which a parallel loop is run by the block that runs what is around it: a launch costs more.
ALONE = 2048
#: Iterations from which parallel loops in a sequential one are worth a launch each.
MANY = 16_384
#: Iterations from which threads share an inner loop.
FEW = 8
_MOST_THREADS, _PER_THREAD = 256, 4
#: Threads of a block that takes lanes: few, so that there are blocks for all parts of a card.
_OF_LANES = 64


def plan(lowered: Lowered, room: Room) -> tuple[Plan, Facts]:
    """The plan of a lowered program, whose copies become loops, and what was found out. `room`: of a processor of
    the device. Calls of libraries that are needed besides are added. Raises Unsupported: only the host can run it."""
    program = lowered.program
    if any(isinstance(s, (Alloc, Grow, Give, Free)) for s in walk(program.body.stmts)):
        raise Unsupported("arrays whose size only the program knows")
    expand_copies(program)
    gather(lowered)
    tile(program)
    tile_stencils(program)
    flatten(program)
    read_ahead(program)
    store_early(program)
    hosted = {b for b in program.buffers if b.kind == "pointer"}
    while True:
        planner = _Planner(program, hosted)
        steps = planner.steps(program.body.stmts)
        inside = _moved_inside(steps) & hosted
        if not inside:
            break
        hosted -= _moved_with(program, inside)
    facts = planner.facts
    steps = put_beside(steps, facts)
    kernels = [k for k in planner.kernels if k in every(steps)]
    for n, k in enumerate(kernels):
        k.name = f"k{n}"
    made = give_words(program, facts, steps, kernels, planner.placed)
    for k in made.kernels:
        keep(k, facts)
        by_warps(k, fragments(k.items), facts)
    choose([(k, fragments(k.items)) for k in made.kernels], made.fallible, room, {})
    return made, facts


def _moved_inside(steps: list[Any]) -> set[Buffer]:
    """The pointers that kernels move, or that only the host's code knows."""
    found: set[Buffer] = set()
    for s in steps:
        if isinstance(s, Kernel):
            found |= {b for f in fragments(s.items) for x in walk(f.stmts) for b in moved(x)}
        elif isinstance(s, Host):
            found |= {b for x in walk(s.stmts) for b in places(x) if isinstance(b, Buffer)}
        elif isinstance(s, Control):
            found |= _moved_inside([*s.first, *s.second])
    return found


def _moved_with(program: Program, pointers: set[Buffer]) -> set[Buffer]:
    """Pointers, and all that take what they point at, or the other way round."""
    found, moves = set(pointers), [s for s in walk(program.body.stmts) if moved(s)]
    for _ in moves:
        for s in moves:
            alike = {*moved(s), *(b for b in places(s) if isinstance(b, Buffer) and b.kind == "pointer")}
            found |= alike if alike & found else set()
    return found


class _Planner:
    def __init__(self, program: Program, hosted: set[Buffer]) -> None:
        self.facts = Facts(program, hosted)
        self.kernels: list[Kernel] = []
        self.user: list[str] = []
        self.placed: list[Buffer] = []  # buffers of loops whose control is the host's

    # -- steps of the host

    def steps(self, stmts: list[Any]) -> list[Any]:
        """Statements as steps, in order."""
        found: list[Any] = []
        waiting: list[Any] = []  # for the one block that runs what is not a kernel of its own
        for s in stmts:
            if isinstance(s, Comment):
                self.user.append(s.text)
            elif isinstance(s, Inst) and s.out in self.facts.again:
                continue
            elif self.facts.is_moved(s):
                if any(b in places(x) for x in walk(waiting) for b in moved(s)):
                    self._flush(waiting, found)
                found.append(Move(s))
            elif isinstance(s, Call) and is_library(s):
                self._flush(waiting, found)
                found.append(Library([s], int(s.target.name.rpartition(":")[2])))
                self.user = []
            elif isinstance(s, Call):
                self._flush(waiting, found, scalars := self._scalars_of(s, waiting))
                found.append(Host([*scalars, s], s.target.name))
            elif is_loop(s) and (self.facts.is_hosts(s) or self._is_heavy(s)):
                if self._is_heavy(s) or self.facts.moves_pointers(s) or self.facts.calls_libraries(s):
                    found += self._driven(s, waiting)
                else:
                    self._flush(waiting, found)
                    found.append(self._hosted(s))
            elif isinstance(s, For) and (made := self._grid(s)) is not None:
                if not self._can_wait(waiting, s):
                    self._flush(waiting, found)
                found.append(self._add(made))
            else:
                waiting.append(s)
        self._flush(waiting, found)
        return found

    def _hosted(self, s: Any) -> Host:
        """A loop or branch around calls that the host runs as a whole."""
        inside = walk([s])
        self.placed += [b for x in inside if isinstance(x, For) for b in x.private if b.kind == "private"]
        called = dict.fromkeys(x.target.name for x in inside if isinstance(x, Call))
        return Host([s], f"{type(s).__name__.lower()} with {', '.join(called)}")

    def _scalars_of(self, call: Call, waiting: list[Any]) -> list[Any]:
        """The scalar code just before a call, which the host runs with it."""
        start = len(waiting)
        while start and is_scalar(waiting[start - 1]):
            start -= 1
        return waiting[start:]

    def _can_wait(self, waiting: list[Any], s: For) -> bool:
        """Whether what has been waiting may as well be done after a loop, which saves a launch: it touches no memory
        and nothing that the loop names."""
        inside = walk([s])
        named = {x for i in inside for x in (*operands(i), *places(i))}
        return all(
            is_scalar(w) and not isinstance(w, Keep) and named.isdisjoint((*defined(w), *places(w)))
            for w in waiting
        )

    def _flush(self, waiting: list[Any], found: list[Any], without: list[Any] | None = None) -> None:
        """Let one block run what has been waiting, but for the statements at its end that are another step's."""
        mine = waiting[: len(waiting) - len(without or [])]
        waiting.clear()
        if mine:
            items = self.items(mine)
            most = max((self._threads(f.shared) for f in fragments(items) if f.shared), default=WARP)
            scratch = max((x.scratch for x in walk(mine) if isinstance(x, For)), default=0)
            found.append(self._add(Kernel("", "block", items, None, 1, most, scratch=scratch)))

    def _threads(self, s: For) -> int:
        """The threads of a block that are worth while for a loop."""
        trips, is_loops = self.facts.trips(s), any(map(is_loop, s.body.stmts))
        return _threads(trips, 1 if is_loops else _PER_THREAD)

    def _add(self, kernel: Kernel) -> Kernel:
        inside = fragments(kernel.items)
        for f in inside:
            f.taking = taking(f, kernel, self.facts)
        together = max((f.taking.together for f in inside), default=1)
        if kernel.kind == "threads":
            kernel.each = together
        elif kernel.kind == "rows":
            most = max((self.facts.trips(f.shared) for f in inside if f.shared), default=1)
            kernel.threads = _threads(most, max(together, _PER_THREAD))
        kernel.user = "; ".join(self.user)
        self.user = []
        self.kernels.append(kernel)
        return kernel

    def _driven(self, s: Any, waiting: list[Any]) -> list[Any]:
        """A loop or branch whose control is the host's."""
        found: list[Any] = []
        if isinstance(s, For):
            self.facts.turns.add(s.var)
        if isinstance(s, While):
            self._flush(waiting, found)
            head = self.steps([*s.head.stmts, Keep(s.cond, (s, "cond"))])
            return [*found, Control(s, ((s, "cond"),), head, self.steps(s.body.stmts))]
        if isinstance(s, For):
            self.placed += [b for b in s.private if b.kind == "private"]
        span = self.facts.span(s)
        keys = self._keep(s, waiting) if span is None else ()
        self._flush(waiting, found)
        first, *rest = [self.steps(b.stmts) for b in blocks_of(s)]
        return [*found, Control(s, keys, first, rest[0] if rest else [], span=span)]

    @staticmethod
    def _keep(s: Any, into: list[Any]) -> tuple[Any, ...]:
        """Leave what controls a loop or branch where it is read: the names of the words."""
        names = ("start", "stop") if isinstance(s, For) else ("cond",)
        into += [Keep(getattr(s, name), (s, name)) for name in names]
        return tuple((s, name) for name in names)

    def _is_heavy(self, s: Any) -> bool:
        """Whether a loop or branch that is no kernel of its own has loops in it that are worth many blocks."""
        if isinstance(s, For) and self._grid(s) is not None:
            return False
        inner = [x for b in blocks_of(s) for x in b.stmts if is_loop(x)]
        return any(
            self._is_heavy(x)
            or (isinstance(x, For) and self._grid(x) is not None and self.facts.elements(x) >= MANY)
            for x in inner
        )

    # -- kernels of a whole loop

    def _grid(self, s: For) -> Kernel | None:
        """The kernel that a loop is, None if one block is to run it."""
        if s.lanes and (self.facts.trips(s) > ALONE or any(map(is_loop, s.body.stmts))):
            return Kernel("", "threads", [Fragment([s], s)], s, self.facts.trips(s), _OF_LANES)
        if self.facts.elements(s) <= ALONE or self.facts.totals(s) != []:
            return None
        trips, inner = self.facts.trips(s), self._longest_inside(s)
        worth_it = inner >= trips or s.scratch > SMALL or inner >= _LONG or suits_warps(s, self.facts)
        if s.grain and inner >= WARP and worth_it:
            body = self.items(s.body.stmts)
            keys = ((s, "start"), (s, "stop"))
            first = Fragment([Keep(s.start, keys[0]), Keep(s.stop, keys[1])])
            loop = Control(s, keys, body, by_blocks=True)
            return Kernel("", "rows", [first, loop], s, trips, scratch=s.scratch)
        if s.scratch > SMALL or trips <= _MOST_THREADS:
            return None
        return Kernel("", "threads", [Fragment([s], s)], s, trips, _MOST_THREADS)

    def _longest_inside(self, s: For) -> int:
        """The iterations of the longest loop inside of one that threads could share."""
        inner = [x for x in walk(s.body.stmts) if isinstance(x, For) and self.facts.totals(x) is not None]
        return max((self.facts.trips(x) for x in inner), default=0)

    # -- items of a kernel

    def items(self, stmts: list[Any]) -> list[Any]:
        """Statements as what the threads of one block do."""
        found: list[Any] = []
        waiting: list[Any] = []

        def flush() -> None:
            if any(not isinstance(x, Comment) for x in waiting):
                found.append(Fragment(list(waiting)))
            waiting.clear()

        for s in stmts:
            if isinstance(s, Inst) and s.out in self.facts.again:
                continue
            if isinstance(s, For) and (totals := self._shared(s)) is not None:
                _begin(totals, waiting)
                before = [] if any(isinstance(x, Keep) for x in waiting) else _by_all(waiting)
                if not before:
                    flush()
                waiting.clear()
                found.append(Fragment([*before, s], s, totals))
            elif is_loop(s) and self._has_shared(s):
                found += self._control(s, waiting, flush)
            else:
                waiting.append(s)
        flush()
        return found

    def _control(self, s: Any, waiting: list[Any], flush: Any) -> list[Any]:
        if isinstance(s, While):
            flush()
            head = self.items([*s.head.stmts, Keep(s.cond, (s, "cond"))])
            return [Control(s, ((s, "cond"),), head, self.items(s.body.stmts))]
        keys = self._keep(s, waiting)
        flush()
        first, *rest = [self.items(b.stmts) for b in blocks_of(s)]
        return [Control(s, keys, first, rest[0] if rest else [])]

    def _shared(self, s: For) -> list[Any] | None:
        """What the loop accumulates, if the threads of a block are to share it."""
        trips, inner = self.facts.trips(s), 0 if s.lanes else self._longest_inside(s)
        if trips < FEW or s.scratch > SMALL or (inner >= WARP and inner > trips):
            return None
        return self.facts.totals(s)

    def _has_shared(self, s: Any) -> bool:
        """Whether there are loops inside that the threads of a block share."""
        return any(
            isinstance(x, For) and self._shared(x) is not None for b in blocks_of(s) for x in walk(b.stmts)
        )


def _begin(totals: list[Total], waiting: list[Any]) -> None:
    """Let totals begin with the constants that their slots are set to, rather than set these by one thread."""
    for t in totals:
        touching = [x for x in waiting if t.slot in places(x)]
        if touching and all(isinstance(x, SetSlot) and isinstance(x.value, Const) for x in touching):
            t.start = touching[-1].value
            waiting[:] = [x for x in waiting if x not in touching]


def _by_all(waiting: list[Any]) -> list[Any]:
    """The scalars that are waiting, if all threads of a block may as well compute them, which saves a barrier."""
    stmts = [x for x in waiting if not isinstance(x, Comment)]
    suits = all(isinstance(x, Inst) and not is_check(x) and x.op not in ("load", "math") for x in stmts)
    return stmts if suits and len(stmts) <= _FEW_SCALARS else []


#: Scalars that each thread of a block computes rather than wait for another one.
_FEW_SCALARS = 24
#: Iterations of an inner loop that a block is worth.
_LONG = 256


def _threads(trips: int, each: int = _PER_THREAD) -> int:
    """The threads of a block that share loops of so many iterations, `each` of them a thread."""
    return min(max(-(-trips // (each * WARP)) * WARP, WARP), _MOST_THREADS)
