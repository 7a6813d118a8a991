"""Where the iterations of a loop write that writes at places which it reads: each in one row of each array."""

from __future__ import annotations

import math
from typing import Any

from tracejit.lowering.cuda.facts import Facts, Maker, is_set_first
from tracejit.lowering.cuda.lanes.owners import Memory
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.forms import ONE, Form, Forms, Range, bounds
from tracejit.lowering.loops.nodes import I64, Buffer, Comment, Const, For, Inst, Reg, SetSlot, Store
from tracejit.lowering.loops.uses import defined, operands
from tracejit.records import record

_ROW = 1 << 10  # elements of a row that are threads' at most


@record(eq=False)
class Place:
    """Where an iteration writes: at elements of the row `key` of each of `targets`, of which there are `rows` from
    `first` on (an iteration with another key touches none). `inner`: the loop over the elements of a row, one each."""

    targets: set[Buffer]
    key: Reg
    first: int
    rows: int
    inner: For | None = None


def place_of(loop: For, facts: Facts, memory: Memory, maker: Maker) -> Place | None:
    """Where the iterations of a loop write, if all that each touches of these arrays is in rows of one number."""
    stmts = walk(loop.body.stmts)
    targets = {s.buffer for s in stmts if isinstance(s, Store)}
    if not targets or not are_apart(targets, stmts, memory):
        return None
    made = {s.out: s for s in stmts if isinstance(s, Inst)}
    forms = Forms(made, facts.number)
    ranges = {}
    for s in stmts:
        if isinstance(s, For) and (span := facts.span(s)) is not None:
            ranges[s.var] = (span[0], max(span[1] - 1, span[0]))
    found: dict[Buffer, list[Form]] = {}
    for s in stmts:
        if (target := _touched(s)) in targets:
            found.setdefault(target, []).append(forms.of(s.index if isinstance(s, Store) else s.args[0]))
    keys = {x for of in found.values() for f in of for x in f if x != ONE and x not in ranges}
    outermost = {s.out for s in loop.body.stmts if isinstance(s, Inst)}
    if not keys or not keys <= outermost:
        return None
    joined: list[Inst] = []
    if len(keys) == 1:
        key = next(iter(keys))
    elif (made_of := _alike(found, keys)) is None:
        return None
    else:
        joined, key, found = _joined(made_of, found, maker)
    spans = [_rows_of(b, of, key, ranges) for b, of in found.items()]
    if None in spans:
        return None
    if joined:
        at = max(n for n, s in enumerate(loop.body.stmts) if keys & set(defined(s))) + 1
        loop.body.stmts[at:at] = joined
    first, last = min(s[0] for s in spans if s), max(s[1] for s in spans if s)
    inner = [s for s in loop.body.stmts if isinstance(s, For)]
    row = inner[0] if len(inner) == 1 and _is_row(inner[0], loop, found, facts) else None
    return Place(targets, key, first, last - first + 1, row)


def are_apart(targets: set[Buffer], stmts: list[Any], memory: Memory) -> bool:
    """Whether what is written is memory of its own, which is read by its own name only."""
    loads = {s.attr for s in stmts if isinstance(s, Inst) and s.op == "load"} - targets
    reached = {t for b in loads for t in ({b} | memory.targets(b))}
    if any(b.kind not in ("arg", "arena") for b in targets) or any(
        b.kind in ("stack", "pointer") for b in reached
    ):
        return False
    return not any(memory.overlap(a, b) for a in targets for b in reached | (targets - {a}))


def _touched(s: Any) -> Any:
    """The array that a statement reads or writes, None if it does neither."""
    return s.buffer if isinstance(s, Store) else s.attr if isinstance(s, Inst) and s.op == "load" else None


def _alike(found: dict[Buffer, list[Form]], keys: set[Any]) -> dict[Any, int] | None:
    """What keys are multiplied with in all indices beside what all of an array have in common, if that is alike."""
    alike = None
    for of in found.values():
        parts = [{s: c for s, c in f.items() if s in keys} for f in of]
        width = math.gcd(*parts[0].values())
        of_row = {s: c // width for s, c in parts[0].items()} if width else {}
        if any(p != parts[0] for p in parts) or (alike is not None and alike != of_row):
            return None
        alike = of_row
    return alike or None


def _joined(
    made_of: dict[Any, int], found: dict[Buffer, list[Form]], maker: Maker
) -> tuple[list[Inst], Reg, dict[Buffer, list[Form]]]:
    """Several keys, as of `z[i, j]`, as one: the instructions that make it, and the forms of indices in which it is."""
    stmts, sum_ = list[Inst](), None
    for s, c in made_of.items():
        scaled = maker.reg(I64)
        stmts.append(Inst("imul", scaled, (s, Const(c, I64))))
        before, sum_ = sum_, scaled
        if before is not None:
            sum_ = maker.reg(I64)
            stmts.append(Inst("iadd", sum_, (before, scaled)))
    assert sum_ is not None
    one, by = next(iter(made_of.items()))
    forms = {
        b: [{s: c for s, c in f.items() if s not in made_of} | {sum_: f[one] // by} for f in of]
        for b, of in found.items()
    }
    return stmts, sum_, forms


def _rows_of(b: Buffer, found: list[Form], key: Reg, ranges: dict[Any, Range]) -> Range | None:
    """The first and the last key with which indices of these forms are in an array, if each is in one row of it; else
    None."""
    widths = {f.get(key, 0) for f in found}
    spans = [bounds({s: c for s, c in f.items() if s is not key}, ranges, 0) for f in found]
    if len(widths) != 1 or (width := widths.pop()) < 1 or None in spans:
        return None
    low, high = min(s[0] for s in spans if s), max(s[1] for s in spans if s)
    if high - low >= width:
        return None
    first, size = -(high // width), int(b.size) * (2 if b.dtype.kind == "c" else 1)
    return first, max((size - 1 - low) // width, first)


def _is_row(inner: For, loop: For, found: dict[Buffer, list[Form]], facts: Facts) -> bool:
    """Whether a loop runs over the elements of a row, and nothing else writes."""
    span = facts.span(inner)
    others = [s for s in loop.body.stmts if s is not inner]
    plain = all(isinstance(s, (Inst, Comment)) for s in others) and not any(
        isinstance(s, SetSlot) and not is_set_first(s.slot, inner.body) for s in walk(inner.body.stmts)
    )
    alike = all(f == of[0] and f.get(inner.var, 0) for of in found.values() for f in of)
    return span is not None and plain and alike and 1 < span[1] - span[0] <= _ROW


def split(loop: For, key: Reg) -> tuple[list[Any], list[Any]]:
    """The statements of an iteration that find its key, and the others."""
    stmts = [s for s in loop.body.stmts if not isinstance(s, Comment)]
    at = next(n for n, s in enumerate(stmts) if key in defined(s)) + 1
    needed, finding = {key}, []
    for s in reversed(stmts[:at]):
        if needed.intersection(defined(s)):
            needed.update(operands(s))
            finding.append(s)
    has_stores = any(isinstance(s, Store) for s in walk(stmts[:at]))
    if has_stores or not all(isinstance(s, Inst) and s.op != "get" for s in finding):
        return stmts[:at], stmts[at:]
    return finding[::-1], [s for s in stmts if s not in finding]
