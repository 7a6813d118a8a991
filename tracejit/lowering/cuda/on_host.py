"""A kernel for the emulated device: a function of the host that runs the blocks one after another, and of each block
the threads, one after another, from one barrier to the next: `void k(ptr args, i64 blocks, i64 threads, ptr words)`.
What a card launches together as one block, but whose warps are blocks on their own, are blocks here.
"""

from __future__ import annotations

from tracejit.lowering.cuda import looking, trees
from tracejit.lowering.cuda.fragments import FIXED, Kernels
from tracejit.lowering.cuda.nodes import WARP, Fragment, Kernel, Plan, Total
from tracejit.lowering.cuda.skeleton import Skeleton
from tracejit.lowering.cuda.words import RESERVED
from tracejit.lowering.llvm.text import mem_type


class OnHost(Skeleton):
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

    def take(self, address: str, value: str, type_: str, name: str, start: str | None) -> None:
        was = start or self.let(f"load {type_}, ptr {address}, align 8")
        now = self.let(f"call {type_} @tj.take.{name}({type_} {was}, {type_} {value})")
        self.put(address, now, type_)

    def barrier(self) -> None:
        """All threads have come here."""

    def tree(self, total: Total, n: int) -> str:
        mine = self.let(f"getelementptr inbounds i64, ptr %threads, i64 {n}")
        words = self.let(f"getelementptr inbounds i64, ptr %local, i64 {self.shared_words}")
        type_ = mem_type(total.dtype)
        return self.let(
            f"call {type_} @tj.tree.{trees.name_of(total)}(ptr {mine}, ptr {words}, i64 {self.mine}, i64 %ntid)"
        )

    def begin_block(self) -> None:
        """What comes before the first thread of a block."""

    def text(self) -> str:
        for n, head in enumerate([*self.heads, *FIXED]):
            type_, name = head.split(" ")
            where = self.let(f"getelementptr inbounds i64, ptr %args, i64 {n}")
            self.add(f"{name} = load {type_}, ptr {where}")
        self.add(f"%ntid = add i64 {self.kernel.threads}, 0")
        self.add(f"%ncta = mul i64 %launched, {max(self.kernel.warps, 1)}")
        at = self.shared_words + WARP
        self.add(f"%threads = getelementptr inbounds i64, ptr %local, i64 {at}")
        self.add(f"%near = getelementptr inbounds i64, ptr %local, i64 {_near(self.kernel)}")
        if self.plan.fallible:
            was = self.let("load i64, ptr %status, align 8")
            self.add(f"br i1 {self.let(f'icmp ne i64 {was}, 0')}, label %over, label %blocks", "blocks:")
        else:
            self.add("br label %blocks", "blocks:")
        self.add("br label %head", "head:", "%cta = phi i64 [ 0, %blocks ], [ %next, %leave ]")
        self.add(f"br i1 {self.let('icmp slt i64 %cta, %ncta')}, label %block, label %over", "block:")
        self.add("store i64 0, ptr %local, align 8")
        self.begin_block()
        self.body()
        self.add(
            "br label %leave", "leave:", "%next = add i64 %cta, 1", "br label %head", "over:", "ret void"
        )
        head = f"define void @{self.kernel.name}(ptr %args, i64 %launched, i64 %threads.each, ptr %local) {{"
        return "\n".join([head, "entry:", *self.lines, "}"])


class OnSanitized(OnHost):
    """The same with calls that tell of each access of a word, and of barriers."""

    def __init__(self, plan: Plan, kernel: Kernel, kernels: Kernels) -> None:
        super().__init__(plan, kernel, kernels)
        self.sites = kernels.sites or []

    def _look(self, address: str, writes: bool, tid: str) -> None:
        kind = looking.kind(self.sites, f"{self.kernel.name}, a word of a loop, branch or sum", 8, writes)
        self.let(looking.call(address, 8, kind, tid, "%cta", address, 8))

    def get(self, address: str, type_: str = "i64") -> str:
        self._look(address, False, "-1")
        return super().get(address, type_)

    def put(self, address: str, value: str, type_: str = "i64") -> None:
        self._look(address, True, "0")
        super().put(address, value, type_)

    def take(self, address: str, value: str, type_: str, name: str, start: str | None) -> None:
        if start is None:
            self._look(address, False, "0")
        super().take(address, value, type_, name, start)

    def barrier(self) -> None:
        self.add("call void @tj.epoch()")

    def begin_block(self) -> None:
        self.barrier()


def words_of_host(kernel: Kernel) -> int:
    """The words that the emulated device needs for a block: shared words, what threads accumulate, and the block's own
    memory if that is shared memory."""
    return _near(kernel) + (kernel.own // 8 if kernel.is_near else 0)


def _near(kernel: Kernel) -> int:
    """The word at which a block's own memory begins, at a multiple of 16 bytes."""
    words = RESERVED + len(kernel.local) + WARP + (kernel.accumulated + kernel.kept) * kernel.threads
    return words + words % 2
