"""Where the iterations of a loop write that writes at places which it reads: each in a row of one array."""

from __future__ import annotations

import math
from typing import Any

from tracejit.lowering.cuda.facts import Facts, Maker, is_set_first
from tracejit.lowering.cuda.lanes.owners import Memory
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.forms import ONE, Form, Forms, bounds
from tracejit.lowering.loops.nodes import I64, Buffer, Comment, Const, For, Inst, Reg, SetSlot, Store
from tracejit.lowering.loops.uses import defined, operands
from tracejit.records import record

_ROW = 1 << 10  # elements of a row that are threads' at most


@record(eq=False)
class Place:
    """Where an iteration writes: at elements of the row `key` of `target`, which has `rows` of them from `first` on (an
    iteration with another key touches none). `inner`: the loop over the elements of a row, one each."""

    target: Buffer
    key: Reg
    first: int
    rows: int
    inner: For | None = None


def place_of(loop: For, facts: Facts, memory: Memory, maker: Maker) -> Place | None:
    """Where the iterations of a loop write, if all that they touch of this array is in one row each."""
    stmts = walk(loop.body.stmts)
    targets = {s.buffer for s in stmts if isinstance(s, Store)}
    if len(targets) != 1 or (target := targets.pop()).kind not in ("arg", "arena"):
        return None
    loads = {s.attr for s in stmts if isinstance(s, Inst) and s.op == "load"}
    reached = {t for b in loads - {target} for t in ({b} | memory.targets(b))}
    if any(b.kind in ("stack", "pointer") or memory.overlap(b, target) for b in reached):
        return None
    made = {s.out: s for s in stmts if isinstance(s, Inst)}
    forms = Forms(made, facts.number)
    ranges = {}
    for s in stmts:
        if isinstance(s, For) and (span := facts.span(s)) is not None:
            ranges[s.var] = (span[0], max(span[1] - 1, span[0]))
    found = [forms.of(s.index if isinstance(s, Store) else s.args[0]) for s in stmts if _touches(s, target)]
    keys = {x for f in found for x in f if x != ONE and x not in ranges}
    outermost = {s.out for s in loop.body.stmts if isinstance(s, Inst)}
    if not keys or not keys <= outermost:
        return None
    joined: list[Inst] = []
    if len(keys) == 1:
        key = keys.pop()
    elif (made_of := _alike(found, keys)) is None:
        return None
    else:
        joined, key, found = _joined(made_of, found, maker)
    if (row_of := _row_of(found, key, ranges)) is None:
        return None
    if joined:
        at = max(n for n, s in enumerate(loop.body.stmts) if made_of.keys() & set(defined(s))) + 1
        loop.body.stmts[at:at] = joined
    width, low, high = row_of
    first, size = -(high // width), int(target.size) * (2 if target.dtype.kind == "c" else 1)
    rows = max((size - 1 - low) // width - first + 1, 1)
    inner = [s for s in loop.body.stmts if isinstance(s, For)]
    row = inner[0] if len(inner) == 1 and _is_row(inner[0], loop, found, facts) else None
    return Place(target, key, first, rows, row)


def _touches(s: Any, target: Buffer) -> bool:
    return (isinstance(s, Store) and s.buffer is target) or (
        isinstance(s, Inst) and s.op == "load" and s.attr is target
    )


def _alike(found: list[Form], keys: set[Any]) -> dict[Any, int] | None:
    """What keys are multiplied with in all indices, if that is the same in all."""
    parts = [{s: c for s, c in f.items() if s in keys} for f in found]
    return parts[0] if all(p == parts[0] for p in parts) else None


def _joined(made_of: dict[Any, int], found: list[Form], maker: Maker) -> tuple[list[Inst], Reg, list[Form]]:
    """Several keys, as of `z[i, j]`, as one: the instructions that make it, and the forms of indices in which it is."""
    width, stmts, sum_ = math.gcd(*made_of.values()), list[Inst](), None
    for s, c in made_of.items():
        scaled = maker.reg(I64)
        stmts.append(Inst("imul", scaled, (s, Const(c // width, I64))))
        before, sum_ = sum_, scaled
        if before is not None:
            sum_ = maker.reg(I64)
            stmts.append(Inst("iadd", sum_, (before, scaled)))
    assert sum_ is not None
    return stmts, sum_, [{s: c for s, c in f.items() if s not in made_of} | {sum_: width} for f in found]


def _row_of(found: list[Form], key: Reg, ranges: dict[Any, tuple[int, int]]) -> tuple[int, int, int] | None:
    """What a key is multiplied with in all indices, and the least and the most that is added to that, if all are in one
    row; else None."""
    widths = {f.get(key, 0) for f in found}
    spans = [bounds({s: c for s, c in f.items() if s is not key}, ranges, 0) for f in found]
    if len(widths) != 1 or (width := widths.pop()) < 1 or None in spans:
        return None
    low, high = min(s[0] for s in spans if s), max(s[1] for s in spans if s)
    return (width, low, high) if high - low < width else None


def _is_row(inner: For, loop: For, found: list[Form], facts: Facts) -> bool:
    """Whether a loop runs over the elements of a row, and nothing else writes."""
    span = facts.span(inner)
    others = [s for s in loop.body.stmts if s is not inner]
    plain = all(isinstance(s, (Inst, Comment)) for s in others) and not any(
        isinstance(s, SetSlot) and not is_set_first(s.slot, inner.body) for s in walk(inner.body.stmts)
    )
    alike = all(f == found[0] and f.get(inner.var, 0) for f in found)
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
