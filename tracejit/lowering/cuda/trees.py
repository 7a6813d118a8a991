"""What the threads of a block have accumulated, added up in a fixed order.

Each warp exchanges its values by shuffles: lane n takes in those of lanes n + 16, n + 8, n + 4, n + 2, n + 1, in this
order, so that lane 0 has them all. Then the warps' values are taken in alike; where a warp is a block on its own, these
are that of one warp and identities, which change nothing, and a card leaves them out. The order depends on nothing but
the number of threads, so the bits are the same in every run. `tree_of_card` is the code for a card, in which each
thread runs it; `tree_of_host` has loops over the threads of a block, with the same operations in the same order.
"""

from __future__ import annotations

from tracejit.lowering.cuda.nodes import CONVERGENT, WARP, Total
from tracejit.lowering.llvm.scalar import emit_scalar
from tracejit.lowering.llvm.text import Function, Module, literal, mem_type, reg_type
from tracejit.lowering.loops.nodes import Const, Inst, Reg

_DISTANCES = (16, 8, 4, 2, 1)
_SHUFFLE = "llvm.nvvm.shfl.sync.down.i32"


def name_of(total: Total) -> str:
    """What the functions of an operation are called."""
    return f"{total.op}.{total.dtype.kind}{total.dtype.itemsize}.{reg_type(total.dtype)}"


def operation(total: Total) -> str:
    """The function that takes one value into another, both as they are in memory."""
    f = Function(Module())
    type_, stored = reg_type(total.dtype), mem_type(total.dtype)
    a, b, out = (Reg(n, total.dtype, None) for n in range(3))  # type: ignore[arg-type]
    for r, name in ((a, "%a"), (b, "%b")):
        f.names[r.id] = f.let(f"trunc i8 {name} to i1") if type_ == "i1" else name
    emit_scalar(f, Inst(total.op, out, (a, b)))
    result = f.names[out.id]
    result = f.let(f"zext i1 {result} to i8") if type_ == "i1" else result
    head = f"define internal {stored} @tj.take.{name_of(total)}({stored} %a, {stored} %b) {CONVERGENT} {{"
    return "\n".join([head, "start:", *f.lines, f"  ret {stored} {result}", "}"])


def identity(total: Total) -> str:
    """What an operation begins with, as it is in memory."""
    return constant(Const(total.identity, total.dtype))


def constant(x: Const) -> str:
    """A constant, as it is in memory."""
    return str(int(x.value)) if x.dtype.kind == "b" else literal(x)


def _shuffled(f: Function, x: str, type_: str, distance: int) -> str:
    """The value of the lane that is `distance` further."""
    bits = {"double": 64, "float": 32, "half": 16}.get(type_) or int(type_[1:])
    if not type_.startswith("i"):
        x = f.let(f"bitcast {type_} {x} to i{bits}")
    if bits < 32:
        x = f.let(f"zext i{bits} {x} to i32")
    parts = [x]
    if bits == 64:
        high = f.let(f"trunc i64 {f.let(f'lshr i64 {x}, 32')} to i32")
        parts = [f.let(f"trunc i64 {x} to i32"), high]
    got = [f.let(f"call i32 @{_SHUFFLE}(i32 -1, i32 {p}, i32 {distance}, i32 31)") for p in parts]
    out = got[0]
    if bits == 64:
        low, high = (f.let(f"zext i32 {p} to i64") for p in got)
        out = f.let(f"or i64 {low}, {f.let(f'shl i64 {high}, 32')}")
    if bits < 32:
        out = f.let(f"trunc i32 {out} to i{bits}")
    return out if type_.startswith("i") else f.let(f"bitcast i{bits} {out} to {type_}")


def warp_of_card(total: Total) -> str:
    """`T warp(ptr mine)`: the value of all threads of the warp, for its first thread."""
    f, t, name = Function(Module()), mem_type(total.dtype), name_of(total)
    x = _round(f, f.let(f"load {t}, ptr %mine, align 8"), total)
    head = f"define internal {t} @tj.warp.{name}(ptr %mine) {CONVERGENT} {{"
    return "\n".join([head, "start:", *f.lines, f"  ret {t} {x}", "}"])


def _round(f: Function, x: str, total: Total) -> str:
    """What all lanes have, for the first of them."""
    t, name = mem_type(total.dtype), name_of(total)
    for d in _DISTANCES:
        x = f.let(f"call {t} @tj.take.{name}({t} {x}, {t} {_shuffled(f, x, t, d)})")
    return x


def tree_of_card(total: Total, threads: int, barrier: str) -> str:
    """`T tree(ptr mine, ptr words, i64 tid)`: the value of all threads of a block of so many, for each of them. `words`
    has room in shared memory for a value of each warp, which is read until the next barrier. Each thread adds the
    warps' values up, which are few: that is faster than another round of shuffles, by a tenth of a softmax."""
    f, t, name, warps = Function(Module()), mem_type(total.dtype), name_of(total), threads // WARP
    x = _round(f, f.let(f"load {t}, ptr %mine, align 8"), total)
    lane, warp = f.let(f"and i64 %tid, {WARP - 1}"), f.let(f"lshr i64 %tid, {WARP.bit_length() - 1}")
    f.branch(f.let(f"icmp eq i64 {lane}, 0"), "lead", "led")
    f.begin("lead")
    f.add(f"store {t} {x}, ptr {f.let(f'getelementptr inbounds i64, ptr %words, i64 {warp}')}, align 8")
    f.jump("led")
    f.begin("led")
    f.add(f"call void {barrier}")
    places = [f.let(f"getelementptr inbounds i64, ptr %words, i64 {n}") for n in range(warps)]
    values = [f.let(f"load {t}, ptr {p}, align 8") for p in places]
    for d in _DISTANCES:
        for n in range(d):
            if n + d < len(values):
                values[n] = f.let(f"call {t} @tj.take.{name}({t} {values[n]}, {t} {values[n + d]})")
        del values[d:]
    head = (
        f"define internal {t} @{tree_name(total, threads)}(ptr %mine, ptr %words, i64 %tid) {CONVERGENT} {{"
    )
    return "\n".join([head, "start:", *f.lines, f"  ret {t} {values[0]}", "}"])


def tree_name(total: Total, threads: int) -> str:
    """What the function of a block of so many threads is called."""
    return f"tj.tree.{name_of(total)}.{threads}"


def tree_of_host(total: Total) -> str:
    """`T tree(ptr mine, ptr words, i64 stride, i64 ntid)`: the same on the host. `mine` are the values of the threads,
    `stride` words from one to the next."""
    t, name = mem_type(total.dtype), name_of(total)
    lines = [
        f"define internal {t} @tj.tree.{name}(ptr %mine, ptr %words, i64 %stride, i64 %ntid) {{",
        "start:",
    ]
    lines += _rounds(t, name, "%mine", "%stride", "%ntid", "a", "start")
    lines += [
        f"  %warps = lshr i64 %ntid, {WARP.bit_length() - 1}",
        "  br label %lead",
        "lead:",
        "  %w = phi i64 [ 0, %a.end ], [ %w.next, %led ]",
        f"  %inside = icmp slt i64 %w, {WARP}",
        "  br i1 %inside, label %leads, label %rest",
        "leads:",
        "  %some = icmp slt i64 %w, %warps",
        "  br i1 %some, label %takes, label %led",
        "takes:",
        f"  %at = mul i64 %w, {WARP}",
        "  %place = mul i64 %at, %stride",
        "  %from = getelementptr inbounds i64, ptr %mine, i64 %place",
        f"  %got = load {t}, ptr %from, align 8",
        "  br label %led",
        "led:",
        f"  %x = phi {t} [ {identity(total)}, %leads ], [ %got, %takes ]",
        "  %to = getelementptr inbounds i64, ptr %words, i64 %w",
        f"  store {t} %x, ptr %to, align 8",
        "  %w.next = add i64 %w, 1",
        "  br label %lead",
        "rest:",
        *_rounds(t, name, "%words", "1", str(WARP), "b", "rest"),
        f"  %all = load {t}, ptr %words, align 8",
        f"  ret {t} %all",
        "}",
    ]
    return "\n".join(lines)


def _rounds(t: str, name: str, base: str, stride: str, count: str, p: str, before: str) -> list[str]:
    """Five rounds in which each lane takes in the value of a lane behind it; lanes in order, so that it has not taken
    in anything in this round yet. Ends in the block `p`.end."""
    lines: list[str] = []
    for n, d in enumerate(_DISTANCES):
        q = f"{p}{n}"
        lines += [
            f"  br label %{q}.head",
            f"{q}.head:",
            f"  %{q}.t = phi i64 [ 0, %{before} ], [ %{q}.next, %{q}.on ]",
            f"  %{q}.in = icmp slt i64 %{q}.t, {count}",
            f"  br i1 %{q}.in, label %{q}.do, label %{q}.end",
            f"{q}.do:",
            f"  %{q}.lane = and i64 %{q}.t, {WARP - 1}",
            f"  %{q}.far = add i64 %{q}.lane, {d}",
            f"  %{q}.has = icmp slt i64 %{q}.far, {WARP}",
            f"  %{q}.other = add i64 %{q}.t, {d}",
            f"  %{q}.which = select i1 %{q}.has, i64 %{q}.other, i64 %{q}.t",
            f"  %{q}.pa = mul i64 %{q}.t, {stride}",
            f"  %{q}.pb = mul i64 %{q}.which, {stride}",
            f"  %{q}.ga = getelementptr inbounds i64, ptr {base}, i64 %{q}.pa",
            f"  %{q}.gb = getelementptr inbounds i64, ptr {base}, i64 %{q}.pb",
            f"  %{q}.a = load {t}, ptr %{q}.ga, align 8",
            f"  %{q}.b = load {t}, ptr %{q}.gb, align 8",
            f"  %{q}.c = call {t} @tj.take.{name}({t} %{q}.a, {t} %{q}.b)",
            f"  store {t} %{q}.c, ptr %{q}.ga, align 8",
            f"  br label %{q}.on",
            f"{q}.on:",
            f"  %{q}.next = add i64 %{q}.t, 1",
            f"  br label %{q}.head",
            f"{q}.end:",
        ]
        before = f"{q}.end"
    return [*lines, f"  br label %{p}.end", f"{p}.end:"]
