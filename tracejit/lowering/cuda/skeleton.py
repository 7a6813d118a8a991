"""What kernels for a card and for the emulated device have in common: loops and branches around fragments."""

from __future__ import annotations

from tracejit.lowering.cuda import trees
from tracejit.lowering.cuda.fragments import FIXED, Kernels
from tracejit.lowering.cuda.nodes import Control, Fragment, Kernel, Plan, Total
from tracejit.lowering.cuda.words import RESERVED
from tracejit.lowering.llvm.text import mem_type
from tracejit.lowering.loops.nodes import For, If


class Skeleton:
    """What is the same for both: loops and branches around fragments, by words that one thread has left."""

    def __init__(self, plan: Plan, kernel: Kernel, kernels: Kernels) -> None:
        self.plan, self.kernel = plan, kernel
        self.lines: list[str] = []
        self.count = 0
        self.row = "0"  # the iteration that the block is at
        names = [kernels.parameter(*p) for p in kernel.params]
        self.heads = [
            ("ptr " if p[0] == "buffer" else "i64 ") + n for p, n in zip(kernel.params, names, strict=True)
        ]
        self.shared_words = RESERVED + len(kernel.local)
        self.sums = kernel.accumulated
        self.mine = self.sums + kernel.kept  # words of each thread

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
        own = ["ptr %near"] if self.kernel.is_near else FIXED[2:]
        thread = (
            "ptr %local",
            f"ptr {mine}",
            f"i64 {tid}",
            "i64 %ntid",
            "i64 %cta",
            "i64 %ncta",
            f"i64 {self.row}",
        )
        return ", ".join([*self.heads, *FIXED[:2], *own, *thread])

    # -- what differs

    def one(self, fragment: Fragment) -> None:
        """Let one thread run a fragment."""
        raise NotImplementedError

    def once(self, fragment: Fragment) -> None:
        """Let one thread of the first block run a fragment."""
        first, on = self.labels("first", "blocks")
        self.add(f"br i1 {self.let('icmp eq i64 %cta, 0')}, label %{first}, label %{on}", f"{first}:")
        self.one(fragment)
        self.add(f"br label %{on}", f"{on}:")

    def all(self, fragment: Fragment) -> None:
        """Let all threads run a fragment."""
        raise NotImplementedError

    def put(self, address: str, value: str, type_: str = "i64") -> None:
        """Let one thread store into a word."""
        raise NotImplementedError

    def take(self, address: str, value: str, type_: str, name: str, start: str | None) -> None:
        """Let one thread take a value into a word, by the operation of a name; into `start` if that is known."""
        raise NotImplementedError

    def get(self, address: str, type_: str = "i64") -> str:
        """What a word has, for all threads."""
        return self.let(f"load {type_}, ptr {address}, align 8")

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
            start = None if t.start is None else trees.constant(t.start)
            self.take(self.place(t.slot), got, type_, trees.name_of(t), start)
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
        start, stop = (self.get(self.place(k)) for k in c.keys)
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
        if c.by_blocks:
            self.row = now
        else:
            self.put(self.place(node.var), now)
            self.barrier()
        self.items(c.first)
        self.row = "0" if c.by_blocks else self.row
        self.add(f"br label %{latch}", f"{latch}:")
        self.add(
            f"{after} = {'sub' if node.down else 'add'} i64 {now}, {step}", f"br label %{head}", f"{done}:"
        )

    def condition(self, c: Control) -> str:
        """The condition of a loop or branch, for all threads."""
        got = self.get(self.place(c.keys[0]), "i8")
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
            shared, *others = self.kernel.items
            for x in others:
                self.once(x)
            self.all(shared)
        else:
            self.items(self.kernel.items)
