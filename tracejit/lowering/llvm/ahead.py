"""Lines that loops ask for before they read them.

A processor's prefetcher follows arrays that are read one line after another, a few lines before the loop. Where a loop
computes much for every line, its window of instructions covers a line or two only, and prefetchers differ in how far
they run ahead on their own: on some server processors such loops over arrays in memory wait for most of the latency
of each line (exp of 32 MB in f64 took 2.2 ns an element on an Intel Granite Rapids, and 0.7 with these prefetches).
Loops that compute little are bound by the bandwidth, and by how many lines can be under way: nothing is added to them.

LLVM's vectoriser has no such pass for x86, so what is changed is its result: every load of a vector in a vectorised
loop that does not start within a line is followed by the prefetch of what lies DISTANCE bytes further. A prefetch
reads nothing that the program could see, and one of an address that does not exist does nothing.
"""

from __future__ import annotations

import re

from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.llvm.streams import LINE, least
from tracejit.lowering.loops.nodes import Buffer, For, Program
from tracejit.lowering.loops.uses import places

#: Metadata that says of a module: its loops read more than the cache holds.
FLAG = "!ahead = !{}"
#: Bytes: at 4 ns a line, which is what these loops take at least, 32 lines are more than memory's latency.
DISTANCE = 2048
#: Instructions for each such load from which a loop computes much: some 4 ns.
MUCH = 24

_LABEL = re.compile(r"^(vector\.body[\w.]*):", re.MULTILINE)
_LOAD = re.compile(r"^ *%[\w.]+ = load <(\d+) x (\w+)>, ptr (%[\w.]+), .*$", re.MULTILINE)
_INSTRUCTION = re.compile(r"^ +[%\w]", re.MULTILINE)
_OFFSET = re.compile(r"^ *(%[\w.]+) = getelementptr [\w ]*?i8, ptr %[\w.]+, i64 (\d+)$", re.MULTILINE)
_BYTES = {"double": 8, "float": 4, "half": 2, "i64": 8, "i32": 4, "i16": 2, "i8": 1}
_DECLARATION = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"


def is_worth(program: Program) -> bool:
    """Whether one of a program's outermost loops reads and writes more than the cache holds."""
    for node in program.body.stmts:
        if isinstance(node, For):
            buffers = {x for s in walk([node]) for x in places(s) if isinstance(x, Buffer)}
            if sum(b.size * b.dtype.itemsize for b in buffers if b.kind == "arg") >= least():
                return True
    return False


def mark(text: str) -> str:
    """The module after optimisation, with prefetches in the vectorised loops that compute much."""
    pieces, end, count = [], 0, 0
    for label in _LABEL.finditer(text):
        if label.start() < end:
            continue
        back = re.compile(rf"^ *br i1 .* label %{re.escape(label[1])}(?=[,\s]).*$", re.MULTILINE)
        last = back.search(text, label.end())
        if last is None:
            continue
        body = text[label.end() : last.end()]
        loads = _whole_lines(body)
        if loads and len(_INSTRUCTION.findall(body)) >= MUCH * len(loads):
            pieces += [text[end : label.end()], _with_prefetches(body, loads, count)]
            end, count = last.end(), count + len(loads)
    if not pieces:
        return text
    declaration = "" if _DECLARATION in text else f"\n{_DECLARATION}\n"
    return "".join([*pieces, text[end:], declaration])


def _whole_lines(body: str) -> list[re.Match[str]]:
    """The loads in a loop that are the first of their line."""
    within = {m[1] for m in _OFFSET.finditer(body) if int(m[2]) % LINE}
    found, seen = [], set()
    for m in _LOAD.finditer(body):
        size = _BYTES.get(m[2], 0) * int(m[1])
        if size >= LINE // 4 and m[3] not in within and m[3] not in seen:
            seen.add(m[3])
            found.append(m)
    return found


def _with_prefetches(body: str, loads: list[re.Match[str]], count: int) -> str:
    pieces, end = [], 0
    for n, m in enumerate(loads, count):
        pieces.append(
            f"{body[end : m.end()]}\n  %ahead.{n} = getelementptr i8, ptr {m[3]}, i64 {DISTANCE}\n"
            f"  call void @llvm.prefetch.p0(ptr %ahead.{n}, i32 0, i32 3, i32 1)"
        )
        end = m.end()
    return "".join([*pieces, body[end:]])
