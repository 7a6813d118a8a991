"""The kernels of a plan as one module: for a card (`on_card`), for the emulated device (`on_host`), or for the emulated
device that looks at each access (`looking`).
"""

from __future__ import annotations

from tracejit.ir.kernel import Unsupported
from tracejit.lowering.cuda import looking, ptx, trees
from tracejit.lowering.cuda.facts import Facts
from tracejit.lowering.cuda.fragments import Kernels
from tracejit.lowering.cuda.nodes import Plan, Total, fragments
from tracejit.lowering.cuda.on_card import BARRIER, OnCard
from tracejit.lowering.cuda.on_host import OnHost, OnSanitized
from tracejit.lowering.cuda.planner import plan
from tracejit.lowering.cuda.sharing.occupancy import room_of
from tracejit.lowering.llvm import vecmath
from tracejit.lowering.loops.nodes import Program
from tracejit.lowering.lowered import Lowered

_MAKERS = {"card": OnCard, "emulated": OnHost, "sanitized": OnSanitized}
#: Words of the status of a call: the code, two details, the iteration that failed, and a lock.
STATUS_WORDS = 5
_FAIL = """define internal void @tj.fail(ptr %status, ptr %local, ptr %turn, ptr %code, ptr %a, ptr %b) \
convergent alwaysinline {
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


def module_text(program: Program, facts: Facts, plan: Plan, device: str) -> tuple[str, list[str]]:
    """The LLVM text of all kernels of a plan, for a kind of device, and what its accesses are called, if that looks at
    them."""
    kernels = Kernels(program, facts, plan, device)
    module = kernels.module
    vecmath.plan(module, program.body.stmts)
    totals: dict[str, Total] = {}
    of_blocks: dict[str, tuple[Total, int]] = {}
    for k in plan.kernels:
        inside = fragments(k.items)
        kernels.write(k, inside)
        mine = [t for f in inside for t in f.totals]
        totals |= {trees.name_of(t): t for t in mine}
        of_blocks |= {trees.tree_name(t, k.threads): (t, k.threads) for t in mine}
    for name, t in totals.items():
        module.functions[f"tj.take.{name}"] = trees.operation(t)
        if device == "card":
            module.functions[f"tj.warp.{name}"] = trees.warp_of_card(t)
        else:
            module.functions[f"tj.tree.{name}"] = trees.tree_of_host(t)
    if device == "card":
        module.functions |= {n: trees.tree_of_card(*x, BARRIER) for n, x in of_blocks.items()}
    if plan.fallible:
        module.functions["tj.fail"] = _FAIL
    if kernels.sites is not None:
        module.functions["tj.look"] = looking.LOOK
    for k in plan.kernels:
        module.functions[k.name] = _MAKERS[device](plan, k, kernels).text()
    return module.render(), kernels.sites or []


def ptx_of(lowered: Lowered, cc: tuple[int, int] = (9, 0)) -> str:
    """PTX of the kernels of a program that was lowered for a device. Raises Unsupported: nothing of it runs there."""
    made, facts = plan(lowered, room_of(cc))
    if not made.kernels:
        raise Unsupported("the host runs all of it")
    return ptx.assemble(module_text(lowered.program, facts, made, "card")[0], cc)
