"""LLVM text of kernels -> PTX, by LLVM's NVPTX target. Needs neither a GPU nor its driver.

PTX is kept on disk, as machine code of the CPU is (`runtime.cache`): an entry is found by the text, the compute
capability and what made it, so that a second process does not run LLVM. What the driver makes of it the driver keeps on
disk itself. Machine code by the driver's linker could be kept here instead, but what is made to be linked is made
without regard to registers: 242 for a thread of a softmax rather than 76, and it takes 1.8 times as long.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tracejit.errors import InternalTypeError
from tracejit.lowering._lazy import llvm
from tracejit.lowering.runtime import cache
from tracejit.lowering.runtime import compile as machine
from tracejit.version import __version__

_TRIPLE = "nvptx64-nvidia-cuda"
_lock = threading.RLock()


@functools.cache
def _machine(cc: tuple[int, int]) -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(_TRIPLE)
    return target.create_target_machine(cpu=f"sm_{cc[0]}{cc[1]}", opt=3)


def loaded(text: str, cc: tuple[int, int], load: Callable[[bytes], Any]) -> Any:
    """What `load` makes of the PTX of a module, which is on disk or is made now. `load` raises RuntimeError for what
    the driver does not take."""
    store, text = cache.current(), machine.stripped(text)
    key = cache.key_of(_made_by(cc), text)
    if store is not None and (kept := store.load(key)) is not None:
        try:
            return load(kept)
        except RuntimeError as e:
            store.distrust(key, f"the driver does not load it: {e}")
    code = assemble(text, cc).encode()
    made = load(code)
    if store is not None:
        store.save(key, code)
    return made


@functools.cache
def _made_by(cc: tuple[int, int]) -> str:
    """The hash of what decides, besides the text, which PTX is made."""
    try:
        recipe = Path(__file__).read_text(encoding="utf-8")
    except OSError:  # installed without sources: the version says the same
        recipe = ""
    version = ".".join(map(str, llvm.llvm_version_info))
    return cache.makers(__version__, recipe, version, _TRIPLE, f"sm_{cc[0]}{cc[1]}")


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
