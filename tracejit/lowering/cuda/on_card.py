"""A kernel for a card: each thread runs it, what one thread does is guarded, and barriers lie between fragments."""

from __future__ import annotations

from tracejit.lowering.cuda import trees
from tracejit.lowering.cuda.fragments import FIXED
from tracejit.lowering.cuda.nodes import WARP, Fragment, Total
from tracejit.lowering.cuda.sharing.warps import words_of_warp
from tracejit.lowering.cuda.skeleton import Skeleton
from tracejit.lowering.llvm.text import mem_type

BARRIER, OF_WARP = "@llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)", "@llvm.nvvm.bar.warp.sync(i32 -1)"


class OnCard(Skeleton):
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

    def take(self, address: str, value: str, type_: str, name: str, start: str | None) -> None:
        write, on = self.labels("take", "others")
        self.add(f"br i1 %leads, label %{write}, label %{on}", f"{write}:")
        was = start or self.let(f"load {type_}, ptr {address}, align 8")
        now = self.let(f"call {type_} @tj.take.{name}({type_} {was}, {type_} {value})")
        self.add(f"store {type_} {now}, ptr {address}, align 8", f"br label %{on}", f"{on}:")

    def barrier(self) -> None:
        self.add(f"call void {OF_WARP if self.kernel.warps else BARRIER}")

    def tree(self, total: Total, n: int) -> str:
        mine = self.let(f"getelementptr inbounds i64, ptr %mine, i64 {n}")
        type_ = mem_type(total.dtype)
        if self.kernel.warps:
            return self.let(f"call {type_} @tj.warp.{trees.name_of(total)}(ptr {mine})")
        at = self.shared_words + n * WARP
        words = self.let(f"getelementptr inbounds i64, ptr %local, i64 {at}")
        tree = trees.tree_name(total, self.kernel.threads)
        return self.let(f"call {type_} @{tree}(ptr {mine}, ptr {words}, i64 %tid)")

    def text(self) -> str:
        k = self.kernel
        has_shared = k.kind != "threads" or self.plan.fallible
        words = words_of_warp(k) if k.warps else self.shared_words + WARP * self.sums
        for name, short in (("tid", "tid"), ("ctaid", "cta"), ("nctaid", "ncta")):
            self.add(f"%n.{name} = call i32 @llvm.nvvm.read.ptx.sreg.{name}.x()")
            self.add(f"%{'of.' * bool(k.warps)}{short} = zext i32 %n.{name} to i64")
        self.add(f"%ntid = add i64 {k.threads}, 0")
        if k.warps:
            self._begin_warp()
        self.add("%leads = icmp eq i64 %tid, 0")
        shared = f"addrspacecast (ptr addrspace(3) @{k.name}.shared to ptr)" if has_shared else "null"
        at = f"mul nuw nsw i64 %warp, {8 * words}" if k.warps else "add i64 0, 0"
        self.add(f"%local = getelementptr inbounds i8, ptr {shared}, i64 {self.let(at)}")
        if k.is_near:
            at = f"mul nuw nsw i64 %warp, {k.own}" if k.warps else "add i64 0, 0"
            near = self.let(f"addrspacecast ptr addrspace(3) @{k.name}.near to ptr")
            self.add(f"%near = getelementptr inbounds i8, ptr {near}, i64 {self.let(at)}")
        self.add(f"%mine = alloca [{max(self.mine, 1)} x i64], align 16")
        if self.plan.fallible:
            self._begin_checked()
        self.body()
        self.add("br label %leave", "leave:", "ret void")
        parameters = ", ".join([*self.heads, *FIXED]).replace("ptr ", "ptr align 16 ")
        size, blocks = f'"nvvm.reqntid"="{k.launched}"', max(k.warps, 1)
        head = f"define ptx_kernel void @{k.name}({parameters}) convergent {size} {{"
        space = [
            f"@{k.name}.shared = internal addrspace(3) global [{words * blocks} x i64] undef, align 16"
        ] * has_shared
        near = f"@{k.name}.near = internal addrspace(3) global [{k.own * blocks} x i8] undef, align 16"
        space += [near] * k.is_near
        return "\n".join([*space, head, "entry:", *self.lines, "}"])

    def _begin_warp(self) -> None:
        """Find out which of the blocks of one warp this is, and how many there are."""
        warps = self.kernel.warps
        self.add(f"%tid = and i64 %of.tid, {WARP - 1}")
        self.add(f"%warp = lshr i64 %of.tid, {WARP.bit_length() - 1}")
        self.add(f"%before = mul nuw nsw i64 %of.cta, {warps}", "%cta = add nuw nsw i64 %before, %warp")
        self.add(f"%ncta = mul nuw nsw i64 %of.ncta, {warps}")

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
