"""How many vectors a loop computes at once.

A processor overlaps the iterations of a loop as far as its window of instructions reaches. Where an iteration is a
long chain, such as a logarithm whose result goes into an exponential, the window holds one or two, and the loop waits
for latencies while its ports are idle. With several vectors in an iteration, their chains overlap: on an AMD EPYC
with Zen 5 cores the price of an option takes 0.65 of the time with four. LLVM's cost model only counts instructions,
and interleaves none but the shortest loops. More copies take longer to compile, so that short chains have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracejit.lowering.llvm import vecmath
from tracejit.lowering.llvm.text import Module
from tracejit.lowering.loops.nodes import For, Inst, blocks_of
from tracejit.lowering.loops.uses import trips

#: Cycles from operands to result, about, on processors of 2020 and later. Others take one, tests of masks three.
_CYCLES = {"fadd": 4, "fsub": 4, "fmul": 4, "fma": 4, "fdiv": 14, "sqrt": 20, "rint": 6, "cast": 4, "cmp": 3,
           "fmaximum": 5, "fminimum": 5, "load": 0, "get": 0, "param": 0}  # fmt: skip
_LONG, _VERY_LONG = 80, 150  # cycles of an iteration's chain from which there are two and four copies
_FOUR, _TWO = 400, 1000  # instructions up to which there are so many: more take too long to compile
_TRIPS = 256  # iterations; of shorter loops too much would be left over
_REGISTERS = 512  # bits of vectors of which processors have 32 registers; 16 are too few for four chains
_EXTREMES = 8  # statements of a loop that only looks for an extreme


def vectors_at_once(node: For, module: Module) -> int:
    """The number of vectors in an iteration of a loop that is vectorised; 0 if LLVM may choose."""
    body = node.body.stmts
    if _waits_for_extremes(body):
        return 4
    if trips(node) < _TRIPS or any(blocks_of(s) for s in body):
        return 0
    size, cycles = measured(body, module)
    # With many instructions beside the chain, ports are the limit.
    if size > _TWO or cycles < _LONG or 2 * cycles < size:
        return 0
    return 4 if size <= _FOUR and cycles >= _VERY_LONG and module.vector_bits >= _REGISTERS else 2


def measured(body: Sequence[Any], module: Module) -> tuple[int, int]:
    """(instructions, cycles of the longest chain) of straight code, about."""
    size, longest, ready = 0, 0, dict[Any, int]()
    for s in body:
        if not isinstance(s, Inst):
            continue
        own = (1, _CYCLES.get(s.op, 1))
        if s.op == "math":
            own = _of_call(s, module)
        size += own[0]
        ready[s.out] = max((ready.get(a, 0) for a in s.args), default=0) + own[1]
        longest = max(longest, ready[s.out])
    return size, longest


def _of_call(s: Inst, module: Module) -> tuple[int, int]:
    """`measured` of a function where it is called. Out of line nothing overlaps with it; what is for rare arguments
    does not run."""
    width = s.out.dtype.itemsize
    outside = not isinstance(s.attr, str) or f"tj.{s.attr}.f{width * 8}" in module.outlined
    return (1, 0) if outside else measured(vecmath.steps(s.attr, width, module.vector_bits), module)


def _waits_for_extremes(body: Sequence[Any]) -> bool:
    """Whether each iteration waits for the maximum of the last one."""
    return len(body) <= _EXTREMES and any(
        isinstance(s, Inst) and s.op in ("fmaximum", "fminimum") for s in body
    )
