"""Loops that threads share, as LLVM text: a function for a part of the iterations, and its launch; and the nests of
programs with many loops, which are functions of their own as well (`apart`).

    define internal i32 @chunk1(ptr %frame, i64 %first, i64 %last, ptr %status, i64 %who)

The frame is an array of 8-byte words on the caller's stack: what the loop uses of the code around it (registers,
scalars in slots, pointers, sizes). A chunk knows nothing else of it, so loops that differ in their arrays only are
one function. A thread's own buffers are on its stack, or where they are large in a block of the pool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.llvm.memory import POOL
from tracejit.lowering.llvm.scalar import typed, value
from tracejit.lowering.llvm.streams import LINE
from tracejit.lowering.llvm.text import Function, mem_type
from tracejit.lowering.loops.nodes import OUT_OF_MEMORY, Buffer, Const, For, Reg, SetSlot, Slot
from tracejit.lowering.loops.parallel import UNIT
from tracejit.lowering.loops.uses import defined, operands, places

if TYPE_CHECKING:
    from tracejit.lowering.llvm.body import Translator

LAUNCH = "threads:run"
_ON_STACK = 1 << 14  # bytes of private buffers for which the stack has room
_ARGUMENTS = "ptr noalias readonly %frame, i64 %first, i64 %last, ptr noalias %status, i64 %who"


def launch(body: Translator, chunk: Translator, frame: Frame, node: For, attributes: str) -> None:
    """Translate a loop by `chunk` as a function of its own, and let `body` call the pool with it."""
    f = body.f
    name = f"chunk{len(f.module.functions)}"
    f.module.functions[name] = ""  # the place in the text, and the name
    frame.add("ptr", "%table", "%table")
    places = {b: _aligned(body, b) for b in node.streams}
    _capture(frame, body, chunk, node, places)
    name = f.module.join(name, _function(chunk, node, name, attributes), chunk.f.module)
    where = frame.filled(body)
    run = body.target.external(f, body.register(LAUNCH, "i32(ptr,ptr,i64,i64,i64,ptr)"))
    span = f"{typed(f, node.start)}, {typed(f, node.stop)}, i64 {body.target.given(f, node.grain)}"
    code = f.let(f"call i32 {run}(ptr @{name}, ptr {where}, {span}, ptr %status) nounwind")
    body.leave_if(f.let(f"icmp ne i32 {code}, 0"), code)
    for b, (place, spare) in places.items():
        _bring_back(body, b, place, spare)


def nest(body: Translator, part: Translator, frame: Frame, node: For, attributes: str) -> None:
    """Translate a loop by `part` as a function of its own, and let `body` call it for all iterations."""
    f = body.f
    name = f"nest{len(f.module.functions)}"
    f.module.functions[name] = ""
    frame.add("ptr", "%table", "%table")
    _capture(frame, body, part, node, {})
    known = [value(part.f, x) if isinstance(x, Const) else "" for x in (node.start, node.stop)]
    text = _function(part, node, name, attributes, known[0] or "%first", known[1] or "%last")
    name = f.module.join(name, text, part.f.module)
    span = f"{typed(f, node.start)}, {typed(f, node.stop)}"
    code = f.let(f"call i32 @{name}(ptr {frame.filled(body)}, {span}, ptr %status, i64 0) nounwind")
    body.leave_if(f.let(f"icmp ne i32 {code}, 0"), code)


def _aligned(body: Translator, result: Buffer) -> tuple[str, Buffer]:
    """A place for a streamed result that starts at a cache line: its own, or else a block of the pool, which the
    heap buffer holds then. Results are unaligned if their memory comes from a handler that the user has set."""
    f, own = body.f, body.base(result)
    spare = Buffer("unaligned", result.dtype, result.size, "heap")
    other, on = f.labels("unaligned", "aligned")
    variable, place = body.variable(spare), f.fresh()
    beyond = f.let(f"and i64 {f.let(f'ptrtoint ptr {own} to i64')}, {LINE - 1}")
    is_off, before = f.let(f"icmp ne i64 {beyond}, 0"), f.label
    f.branch(is_off, other, on, f", !prof {body.weights()}")
    f.begin(other)
    pool = body.target.external(f, body.register(POOL, "ptr(ptr,i64)"))
    size = body.target.given(f, result.size * result.dtype.itemsize)
    block = f.let(f"call noalias ptr {pool}(ptr null, i64 {size}) nounwind")
    f.add(f"store ptr {block}, ptr {variable}")
    body.leave_if(f.let(f"icmp eq ptr {block}, null"), str(OUT_OF_MEMORY))
    after = f.label
    f.jump(on)
    f.begin(on)
    f.add(f"{place} = phi ptr [ {own}, %{before} ], [ {block}, %{after} ]")
    return place, spare


def _bring_back(body: Translator, result: Buffer, place: str, spare: Buffer) -> None:
    """Copy a result from a place that is not its own."""
    f, own = body.f, body.base(result)
    other, on = f.labels("elsewhere", "there")
    f.branch(f.let(f"icmp ne ptr {place}, {own}"), other, on, f", !prof {body.weights()}")
    f.begin(other)
    size = body.target.given(f, result.size * result.dtype.itemsize)
    f.add(f"call void @llvm.memcpy.p0.p0.i64(ptr {own}, ptr {place}, i64 {size}, i1 false)")
    body.release(spare)
    f.jump(on)
    f.begin(on)


class Frame:
    """The words that the caller leaves for the chunks: type and value of each."""

    def __init__(self, inside: Function) -> None:
        self.inside = inside
        self.words: list[tuple[str, str]] = []

    def add(self, type_: str, outside: str, name: str | None = None, flags: str = "") -> str:
        """Add the caller's value `outside`; its name in the chunk, whose load has metadata `flags`."""
        entry, where, name = self.inside.entry, self.inside.fresh(), name or self.inside.fresh()
        constant = f", !invariant.load {self.inside.module.empty()}{flags}"
        entry.append(f"  {where} = getelementptr inbounds i64, ptr %frame, i64 {len(self.words)}")
        entry.append(f"  {name} = load {type_}, ptr {where}{constant}")
        self.words.append((type_, outside))
        return name

    def filled(self, body: Translator) -> str:
        """A frame on the caller's stack with all words in it."""
        f, where = body.f, body.alloca(f"[{len(self.words)} x i64]", 16)
        for n, (type_, x) in enumerate(self.words):
            f.add(f"store {type_} {x}, ptr {f.let(f'getelementptr inbounds i64, ptr {where}, i64 {n}')}")
        return where


def _capture(
    frame: Frame, body: Translator, chunk: Translator, node: For, streams: dict[Buffer, tuple[str, Buffer]]
) -> None:
    """Give the chunk what the loop uses and does not make, and the places of `streams`."""
    stmts = walk([node])
    made = {r for s in stmts for r in defined(s)}
    for r in dict.fromkeys(r for s in stmts if s is not node for r in operands(s)):
        if r not in made:
            _capture_register(frame, body, chunk, r)
    own = {*node.private, *(s.slot for s in stmts if isinstance(s, SetSlot))}
    for x in dict.fromkeys(x for s in stmts for x in places(s) if x not in own):
        if isinstance(x, Slot):
            type_ = mem_type(x.dtype)
            got = frame.add(type_, body.f.let(f"load {type_}, ptr {body.slot(x)}"))
            chunk.f.entry.append(f"  store {type_} {got}, ptr {chunk.slot(x)}")
        elif x in streams:
            starts = chunk.f.module.shared(f"!{{i64 {LINE}}}")
            chunk.bases[x] = frame.add("ptr", streams[x][0], flags=f", !align {starts}")
        elif x.kind in ("arg", "arena", "stack", "field"):
            chunk.bases[x] = frame.add("ptr", body.base(x))
        elif x.kind in ("heap", "pointer"):
            chunk.bases[x] = chunk.alloca("ptr", 8, frame.add("ptr", body.base(x)))


def _capture_register(frame: Frame, body: Translator, chunk: Translator, r: Reg) -> None:
    x, type_ = body.f.names[r.id], mem_type(r.dtype)
    if r.dtype.kind != "b":
        chunk.f.names[r.id] = frame.add(type_, x)
        return
    got, name = frame.add(type_, body.f.let(f"zext i1 {x} to i8")), chunk.f.fresh()
    chunk.f.entry.append(f"  {name} = trunc i8 {got} to i1")
    chunk.f.names[r.id] = name


def _function(
    chunk: Translator, node: For, name: str, attributes: str, first: str = "%first", last: str = "%last"
) -> str:
    """The text of the chunk's function, for the iterations from `first` to before `last`."""
    f = chunk.f
    chunk.open(node)
    block = _scratch(chunk, node)
    if node.streams:
        whole = f.let(f"icmp eq i64 {f.let(f'and i64 %first, {UNIT - 1}')}, 0")
        f.add(f"call void @llvm.assume(i1 {whole})")
    chunk.scopes.enter([node])
    chunk.iterate(node, first, last)
    chunk.finish()
    if node.streams:  # others may read what is stored here when they see that this part is done
        f.add("fence seq_cst")
    if block:
        pool = chunk.target.external(f, chunk.register(POOL, "ptr(ptr,i64)"))
        f.add(f"call ptr {pool}(ptr {f.let(f'load ptr, ptr {block}')}, i64 0) nounwind")
    f.add(f"ret i32 {f.let('load i32, ptr %status.code')}")
    head = f"define internal i32 @{name}({_ARGUMENTS}) noinline {attributes}{chunk.suffix} {{"
    start = ["entry:", "  %status.code = alloca i32", "  store i32 0, ptr %status.code"]
    return "\n".join([head, *start, *f.entry, "  br label %start", "start:", *f.lines, "}"])


def _scratch(chunk: Translator, node: For) -> str:
    """Make room for the private buffers; the variable that holds the block, if it has to be given back."""
    f = chunk.f
    if not node.scratch:
        return ""
    if node.scratch <= _ON_STACK:
        base, block = chunk.alloca(f"[{node.scratch} x i8]", 64), ""
    else:
        block = chunk.alloca("ptr", 8, "null")
        pool = chunk.target.external(f, chunk.register(POOL, "ptr(ptr,i64)"))
        base = f.let(f"call noalias ptr {pool}(ptr null, i64 {node.scratch}) nounwind")
        f.add(f"store ptr {base}, ptr {block}")
        chunk.leave_if(f.let(f"icmp eq ptr {base}, null"), str(OUT_OF_MEMORY))
    for b in node.private:
        if b.kind == "private":
            chunk.bases[b] = f.let(f"getelementptr inbounds i8, ptr {base}, i64 {b.slot}")
    return block
