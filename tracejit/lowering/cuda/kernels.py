"""Kernels around their fragments: for a card, and for the emulated device.

On a card every thread runs the kernel; what one thread does is guarded, and barriers lie between fragments. On the
emulated device the kernel is a function of the host that runs the blocks one after another, and of each block the
threads, one after another, from one barrier to the next: `void k(ptr args, i64 blocks, i64 threads, ptr words)`.
"""

from __future__ import annotations

from tracejit.ir.kernel import Unsupported
from tracejit.lowering.cuda import ptx, trees
from tracejit.lowering.cuda.facts import Facts
from tracejit.lowering.cuda.fragments import FIXED, Kernels
from tracejit.lowering.cuda.nodes import WARP, Control, Fragment, Kernel, Plan, Total
from tracejit.lowering.cuda.planner import fragments, plan
from tracejit.lowering.cuda.words import RESERVED
from tracejit.lowering.llvm import vecmath
from tracejit.lowering.llvm.text import mem_type
from tracejit.lowering.loops.nodes import For, If, Program
from tracejit.lowering.lowered import Lowered

_BARRIER = "@llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
#: Words of the status of a call: the code, two details, the iteration that failed, and a lock.
STATUS_WORDS = 5
_FAIL = """define internal void @tj.fail(ptr %status, ptr %local, ptr %turn, ptr %code, ptr %a, ptr %b) alwaysinline {
start:
  %failed = load i32, ptr %code
  %some = icmp ne i32 %failed, 0
  br i1 %some, label %note, label %done
note:
  store i64 1, ptr %local, align 8
  %t = load i64, ptr %turn
  %lock = getelementptr inbounds i64, ptr %status, i64 4
  br label %spin
spin:
  %got = cmpxchg ptr %lock, i64 0, i64 1 acq_rel monotonic
  %mine = extractvalue { i64, i1 } %got, 1
  br i1 %mine, label %held, label %spin
held:
  %was = load i64, ptr %status, align 8
  %where = getelementptr inbounds i64, ptr %status, i64 3
  %then = load i64, ptr %where, align 8
  %first = icmp eq i64 %was, 0
  %before = icmp slt i64 %t, %then
  %better = or i1 %first, %before
  br i1 %better, label %write, label %free
write:
  %wide = sext i32 %failed to i64
  store i64 %wide, ptr %status, align 8
  %pa = getelementptr inbounds i64, ptr %status, i64 1
  %va = load i64, ptr %a
  store i64 %va, ptr %pa, align 8
  %pb = getelementptr inbounds i64, ptr %status, i64 2
  %vb = load i64, ptr %b
  store i64 %vb, ptr %pb, align 8
  store i64 %t, ptr %where, align 8
  br label %free
free:
  store atomic i64 0, ptr %lock release, align 8
  br label %done
done:
  ret void
}"""


def module_text(program: Program, facts: Facts, plan: Plan, emulated: bool) -> str:
    """The LLVM text of all kernels of a plan, for the emulated device or for a card."""
    kernels = Kernels(program, facts, plan)
    module = kernels.module
    vecmath.plan(module, program.body.stmts)
    totals: dict[str, Total] = {}
    for k in plan.kernels:
        inside = fragments(k.items)
        kernels.write(k, inside)
        totals |= {trees.name_of(t): t for f in inside for t in f.totals}
    for name, t in totals.items():
        tree = trees.tree_of_host(t) if emulated else trees.tree_of_card(t, _BARRIER)
        module.functions[f"tj.take.{name}"] = trees.operation(t)
        module.functions[f"tj.tree.{name}"] = tree
    if plan.fallible:
        module.functions["tj.fail"] = _FAIL
    for k in plan.kernels:
        maker = (_OnHost if emulated else _OnCard)(plan, k, kernels)
        module.functions[k.name] = maker.text()
    return module.render()


def ptx_of(lowered: Lowered, cc: tuple[int, int] = (9, 0)) -> str:
    """PTX of the kernels of a program that was lowered for a device. Raises Unsupported: nothing of it runs there."""
    made, facts = plan(lowered.program)
    if not made.kernels:
        raise Unsupported("the host runs all of it")
    return ptx.assemble(module_text(lowered.program, facts, made, emulated=False), cc)


class _Skeleton:
    """What is the same for both: loops and branches around fragments, by words that one thread has left."""

    def __init__(self, plan: Plan, kernel: Kernel, kernels: Kernels) -> None:
        self.plan, self.kernel = plan, kernel
        self.lines: list[str] = []
        self.count = 0
        names = [kernels.parameter(*p) for p in kernel.params]
        self.heads = [
            ("ptr " if p[0] == "buffer" else "i64 ") + n for p, n in zip(kernel.params, names, strict=True)
        ]
        self.shared_words = RESERVED + len(kernel.local)
        self.mine = max((len(f.totals) for f in fragments(kernel.items)), default=0)

    # -- writing

    def fresh(self) -> str:
        """A new name."""
        self.count += 1
        return f"%s{self.count}"

    def let(self, text: str) -> str:
        """A line that gives a name."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def add(self, *lines: str) -> None:
        """Lines without names."""
        self.lines += [line if line.endswith(":") else f"  {line}" for line in lines]

    def labels(self, *names: str) -> list[str]:
        """Labels of their own."""
        self.count += 1
        return [f"{n}{self.count}" for n in names]

    def place(self, x: object) -> str:
        """The address of a word."""
        base, n = ("%frame", self.plan.frame[x]) if x in self.plan.frame else ("%local", self.kernel.local[x])
        return self.let(f"getelementptr inbounds i64, ptr {base}, i64 {n}")

    def arguments(self, tid: str, mine: str) -> str:
        """What a fragment is called with."""
        thread = ("ptr %local", f"ptr {mine}", f"i64 {tid}", "i64 %ntid", "i64 %cta", "i64 %ncta")
        return ", ".join([*self.heads, *FIXED, *thread])

    # -- what differs

    def one(self, fragment: Fragment) -> None:
        """Let one thread run a fragment."""
        raise NotImplementedError

    def all(self, fragment: Fragment) -> None:
        """Let all threads run a fragment."""
        raise NotImplementedError

    def put(self, address: str, value: str, type_: str = "i64") -> None:
        """Let one thread store into a word."""
        raise NotImplementedError

    def barrier(self) -> None:
        """Wait for all threads of the block."""
        raise NotImplementedError

    def tree(self, total: Total, n: int) -> str:
        """What the threads have accumulated, for one thread at least."""
        raise NotImplementedError

    # -- items

    def items(self, items: list[object]) -> None:
        """What the threads of a block do, in order."""
        for x in items:
            if isinstance(x, Fragment):
                self.fragment(x)
            elif isinstance(x, Control):
                self.control(x)

    def fragment(self, x: Fragment) -> None:
        """A fragment, and the barrier behind it."""
        if x.shared is None:
            self.one(x)
        else:
            self.all(x)
        for n, t in enumerate(x.totals):
            got, type_ = self.tree(t, n), mem_type(t.dtype)
            where = self.place(t.slot)
            was = self.let(f"load {type_}, ptr {where}, align 8")
            now = self.let(f"call {type_} @tj.take.{trees.name_of(t)}({type_} {was}, {type_} {got})")
            self.put(where, now, type_)
        self.barrier()
        if x.checks and self.kernel.kind != "threads":
            failed = self.let("load i64, ptr %local, align 8")
            (on,) = self.labels("on")
            self.add(f"br i1 {self.let(f'icmp ne i64 {failed}, 0')}, label %leave, label %{on}", f"{on}:")

    def control(self, c: Control) -> None:
        """A loop or a branch."""
        if isinstance(c.node, For):
            self.for_(c)
        elif isinstance(c.node, If):
            self.if_(c)
        else:
            self.while_(c)

    def for_(self, c: Control) -> None:
        """All threads count; one leaves the number for the fragments."""
        node = c.node
        start, stop = (self.let(f"load i64, ptr {self.place(k)}, align 8") for k in c.keys)
        step = "1"
        if c.by_blocks:
            start, step = self.let(f"add i64 {start}, %cta"), "%ncta"
        first = self.let(f"sub i64 {stop}, 1") if node.down else start
        head, body, done, before = self.labels("for", "do", "end", "before")
        now, after = self.fresh(), self.fresh()
        self.add(f"br label %{before}", f"{before}:", f"br label %{head}", f"{head}:")
        latch = f"{body}.latch"
        self.add(f"{now} = phi i64 [ {first}, %{before} ], [ {after}, %{latch} ]")
        inside = f"icmp sge i64 {now}, {start}" if node.down else f"icmp slt i64 {now}, {stop}"
        self.add(f"br i1 {self.let(inside)}, label %{body}, label %{done}", f"{body}:")
        self.put(self.place(node.var), now)
        self.barrier()
        self.items(c.first)
        self.add(f"br label %{latch}", f"{latch}:")
        self.add(
            f"{after} = {'sub' if node.down else 'add'} i64 {now}, {step}", f"br label %{head}", f"{done}:"
        )

    def condition(self, c: Control) -> str:
        """The condition of a loop or branch, for all threads."""
        got = self.let(f"load i8, ptr {self.place(c.keys[0])}, align 8")
        return self.let(f"icmp ne i8 {got}, 0")

    def while_(self, c: Control) -> None:
        """A loop that goes on while a condition holds."""
        head, body, done = self.labels("while", "do", "end")
        self.add(f"br label %{head}", f"{head}:")
        self.items(c.first)
        self.add(f"br i1 {self.condition(c)}, label %{body}, label %{done}", f"{body}:")
        self.barrier()
        self.items(c.second)
        self.add(f"br label %{head}", f"{done}:")

    def if_(self, c: Control) -> None:
        """A branch that all threads of a block take."""
        then, other, done = self.labels("then", "else", "end")
        cond = self.condition(c)
        self.barrier()
        self.add(f"br i1 {cond}, label %{then}, label %{other}", f"{then}:")
        self.items(c.first)
        self.add(f"br label %{done}", f"{other}:")
        self.items(c.second)
        self.add(f"br label %{done}", f"{done}:")

    def text(self) -> str:
        """The kernel's definition."""
        raise NotImplementedError

    def body(self) -> None:
        """What a block does, up to the label `leave`."""
        if self.kernel.kind == "threads":
            self.all(self.kernel.items[0])
        else:
            self.items(self.kernel.items)


class _OnCard(_Skeleton):
    """A kernel for NVPTX."""

    def one(self, fragment: Fragment) -> None:
        call, on = self.labels("one", "others")
        self.add(f"br i1 %leads, label %{call}, label %{on}", f"{call}:")
        self.add(
            f"call void @{fragment.name}({self.arguments('%tid', '%mine')})", f"br label %{on}", f"{on}:"
        )

    def all(self, fragment: Fragment) -> None:
        self.add(f"call void @{fragment.name}({self.arguments('%tid', '%mine')})")

    def put(self, address: str, value: str, type_: str = "i64") -> None:
        write, on = self.labels("put", "others")
        self.add(f"br i1 %leads, label %{write}, label %{on}", f"{write}:")
        self.add(f"store {type_} {value}, ptr {address}, align 8", f"br label %{on}", f"{on}:")

    def barrier(self) -> None:
        self.add(f"call void {_BARRIER}")

    def tree(self, total: Total, n: int) -> str:
        mine = self.let(f"getelementptr inbounds i64, ptr %mine, i64 {n}")
        words = self.let(f"getelementptr inbounds i64, ptr %local, i64 {self.shared_words}")
        type_ = mem_type(total.dtype)
        return self.let(
            f"call {type_} @tj.tree.{trees.name_of(total)}(ptr {mine}, ptr {words}, i64 %tid, i64 %ntid)"
        )

    def text(self) -> str:
        k = self.kernel
        has_shared = k.kind != "threads" or self.plan.fallible
        size = self.shared_words + (WARP if self.mine else 0)
        for name in ("tid", "ntid", "ctaid", "nctaid"):
            self.add(f"%n.{name} = call i32 @llvm.nvvm.read.ptx.sreg.{name}.x()")
        for name, short in (("tid", "tid"), ("ntid", "ntid"), ("ctaid", "cta"), ("nctaid", "ncta")):
            self.add(f"%{short} = zext i32 %n.{name} to i64")
        self.add("%leads = icmp eq i64 %tid, 0")
        shared = f"addrspacecast (ptr addrspace(3) @{k.name}.shared to ptr)" if has_shared else "null"
        self.add(f"%local = getelementptr inbounds i8, ptr {shared}, i64 0")
        self.add(f"%mine = alloca [{max(self.mine, 1)} x i64], align 8")
        if self.plan.fallible:
            self._begin_checked()
        self.body()
        self.add("br label %leave", "leave:", "ret void")
        parameters = ", ".join([*self.heads, *FIXED]).replace("ptr ", "ptr align 16 ")
        head = f"define ptx_kernel void @{k.name}({parameters}) {{"
        space = [
            f"@{k.name}.shared = internal addrspace(3) global [{size} x i64] undef, align 16"
        ] * has_shared
        return "\n".join([*space, head, "entry:", *self.lines, "}"])

    def _begin_checked(self) -> None:
        """Do nothing after a check has failed. One thread of a block looks, since others may be failing now."""
        go, off = self.labels("go", "off")
        was = self.let("load i64, ptr %status, align 8")
        if self.kernel.kind == "threads":
            self.add(f"br i1 {self.let(f'icmp ne i64 {was}, 0')}, label %leave, label %{go}", f"{go}:")
            return
        self.put("%local", was)
        self.barrier()
        got = self.let("load i64, ptr %local, align 8")
        self.add(f"br i1 {self.let(f'icmp ne i64 {got}, 0')}, label %{off}, label %{go}", f"{off}:")
        self.add("br label %leave", f"{go}:")


class _OnHost(_Skeleton):
    """A kernel as a function of the host that emulates the grid."""

    def one(self, fragment: Fragment) -> None:
        self.add(f"call void @{fragment.name}({self.arguments('0', '%threads')})")

    def all(self, fragment: Fragment) -> None:
        head, body, done, before = self.labels("thread", "run", "ran", "before")
        t, after = self.fresh(), self.fresh()
        self.add(f"br label %{before}", f"{before}:", f"br label %{head}", f"{head}:")
        self.add(f"{t} = phi i64 [ 0, %{before} ], [ {after}, %{body} ]")
        self.add(f"br i1 {self.let(f'icmp slt i64 {t}, %ntid')}, label %{body}, label %{done}", f"{body}:")
        at = self.let(f"mul i64 {t}, {self.mine}")
        mine = self.let(f"getelementptr inbounds i64, ptr %threads, i64 {at}")
        self.add(f"call void @{fragment.name}({self.arguments(t, mine)})")
        self.add(f"{after} = add i64 {t}, 1", f"br label %{head}", f"{done}:")

    def put(self, address: str, value: str, type_: str = "i64") -> None:
        self.add(f"store {type_} {value}, ptr {address}, align 8")

    def barrier(self) -> None:
        """All threads have come here."""

    def tree(self, total: Total, n: int) -> str:
        mine = self.let(f"getelementptr inbounds i64, ptr %threads, i64 {n}")
        words = self.let(f"getelementptr inbounds i64, ptr %local, i64 {self.shared_words}")
        type_ = mem_type(total.dtype)
        return self.let(
            f"call {type_} @tj.tree.{trees.name_of(total)}(ptr {mine}, ptr {words}, i64 {self.mine}, i64 %ntid)"
        )

    def text(self) -> str:
        for n, head in enumerate([*self.heads, *FIXED]):
            type_, name = head.split(" ")
            where = self.let(f"getelementptr inbounds i64, ptr %args, i64 {n}")
            self.add(f"{name} = load {type_}, ptr {where}")
        at = self.shared_words + WARP
        self.add(f"%threads = getelementptr inbounds i64, ptr %local, i64 {at}")
        if self.plan.fallible:
            was = self.let("load i64, ptr %status, align 8")
            self.add(f"br i1 {self.let(f'icmp ne i64 {was}, 0')}, label %over, label %blocks", "blocks:")
        else:
            self.add("br label %blocks", "blocks:")
        self.add("br label %head", "head:", "%cta = phi i64 [ 0, %blocks ], [ %next, %leave ]")
        self.add(f"br i1 {self.let('icmp slt i64 %cta, %ncta')}, label %block, label %over", "block:")
        self.add("store i64 0, ptr %local, align 8")
        self.body()
        self.add(
            "br label %leave", "leave:", "%next = add i64 %cta, 1", "br label %head", "over:", "ret void"
        )
        head = f"define void @{self.kernel.name}(ptr %args, i64 %ncta, i64 %ntid, ptr %local) {{"
        return "\n".join([head, "entry:", *self.lines, "}"])


def words_of_host(kernel: Kernel) -> int:
    """The words that the emulated device needs for a block: shared memory, then what threads accumulate."""
    mine = max((len(f.totals) for f in fragments(kernel.items)), default=0)
    return RESERVED + len(kernel.local) + WARP + mine * kernel.threads


def block_bytes(kernel: Kernel) -> int:
    """Bytes of memory that each block of a kernel has of its own, besides its words."""
    return 0 if kernel.kind == "threads" else Kernels.scratch(kernel)
