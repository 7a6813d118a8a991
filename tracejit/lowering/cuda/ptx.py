"""LLVM text of kernels -> PTX, by LLVM's NVPTX target. Needs neither a GPU nor its driver."""

from __future__ import annotations

import functools
import threading
from typing import Any

from tracejit.errors import InternalTypeError
from tracejit.lowering._lazy import llvm

_TRIPLE = "nvptx64-nvidia-cuda"
_lock = threading.RLock()


@functools.cache
def _machine(cc: tuple[int, int]) -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(_TRIPLE)
    return target.create_target_machine(cpu=f"sm_{cc[0]}{cc[1]}", opt=3)


def assemble(text: str, cc: tuple[int, int] = (9, 0)) -> str:
    """PTX of a module, for compute capability `cc`.

    Raises InternalTypeError when the text is not valid LLVM IR.
    """
    with _lock:
        try:
            module = llvm.parse_assembly(text, llvm.create_context())
            module.verify()
        except RuntimeError as e:
            raise InternalTypeError(problem=f"the LLVM IR does not verify: {e}") from e
        machine = _machine(cc)
        module.triple, module.data_layout = _TRIPLE, str(machine.target_data)
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        return machine.emit_assembly(module)
