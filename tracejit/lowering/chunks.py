"""Loops that threads share, as LLVM text: a function for a part of the iterations, and its launch.

    define internal i32 @chunk1(ptr %frame, i64 %first, i64 %last, ptr %status, i64 %who)

The frame is an array of 8-byte words on the caller's stack: what the loop uses of the code around it (registers,
scalars in slots, pointers, sizes). A chunk knows nothing else of it, so loops that differ in their arrays only are
one function. A thread's own buffers are on its stack, or where they are large in a block of the pool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracejit.lowering.llvmalias import walk
from tracejit.lowering.llvmmemory import OUT_OF_MEMORY, POOL
from tracejit.lowering.llvmscalar import typed
from tracejit.lowering.llvmtext import Function, mem_type
from tracejit.lowering.loopir import For, Reg, SetSlot, Slot
from tracejit.lowering.uses import defined, operands, places

if TYPE_CHECKING:
    from tracejit.lowering.llvmbody import Translator

LAUNCH = "threads:run"
_ON_STACK = 1 << 14  # bytes of private buffers for which the stack has room
_ARGUMENTS = "ptr noalias readonly %frame, i64 %first, i64 %last, ptr noalias %status, i64 %who"


def launch(body: Translator, chunk: Translator, frame: Frame, node: For, attributes: str) -> None:
    """Translate a loop by `chunk` as a function of its own, and let `body` call the pool with it."""
    f = body.f
    name = f"chunk{len(f.module.functions)}"
    f.module.functions[name] = ""  # the place in the text, and the name
    frame.add("ptr", "%table", "%table")
    _capture(frame, body, chunk, node)
    name = f.module.join(name, _function(chunk, node, name, attributes), chunk.f.module)
    where = body.alloca(f"[{len(frame.words)} x i64]", 16)
    for n, (type_, x) in enumerate(frame.words):
        f.add(f"store {type_} {x}, ptr {f.let(f'getelementptr inbounds i64, ptr {where}, i64 {n}')}")
    run = body.target.external(f, body.register(LAUNCH, "i32(ptr,ptr,i64,i64,i64,ptr)"))
    span = f"{typed(f, node.start)}, {typed(f, node.stop)}, i64 {body.target.given(f, node.grain)}"
    code = f.let(f"call i32 {run}(ptr @{name}, ptr {where}, {span}, ptr %status) nounwind")
    body.leave_if(f.let(f"icmp ne i32 {code}, 0"), code)


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


def _capture(frame: Frame, body: Translator, chunk: Translator, node: For) -> None:
    """Give the chunk what the loop uses and does not make."""
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


def _function(chunk: Translator, node: For, name: str, attributes: str) -> str:
    """The text of the chunk's function."""
    f = chunk.f
    block = _scratch(chunk, node)
    chunk.scopes.enter([node])
    chunk.iterate(node, "%first", "%last")
    chunk.finish()
    if block:
        pool = chunk.target.external(f, chunk.register(POOL, "ptr(ptr,i64)"))
        f.add(f"call ptr {pool}(ptr {f.let(f'load ptr, ptr {block}')}, i64 0) nounwind")
    f.add(f"ret i32 {f.let('load i32, ptr %status.code')}")
    head = f"define internal i32 @{name}({_ARGUMENTS}) noinline {attributes} {{"
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
