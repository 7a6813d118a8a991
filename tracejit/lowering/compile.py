"""LLVM IR text -> machine code in memory, through llvmlite's binding (no Numba).

`compile_llvm(text)` gives a `Code` with the address of `@entry`. Identical text is compiled once. LLVM is
not thread-safe on one context, so compilation holds the lock of tracing: one lock, which a fork waits for.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections import OrderedDict
from typing import Any

from tracejit.errors import InternalTypeError
from tracejit.lowering._lazy import llvm
from tracejit.tracing import LOCK

_CACHE_SIZE = 512
_cache: OrderedDict[str, Code] = OrderedDict()
_names = itertools.count()


class Code:
    """Machine code of one module, loaded. Valid as long as the object lives.

    `address` is that of `@entry`; `object_bytes` the relocatable object; `text` the LLVM IR given.
    """

    def __init__(self, text: str, object_bytes: bytes) -> None:
        self.text = text
        self.object_bytes = object_bytes
        self._library = _load(object_bytes)
        self.address: int = self._library["entry"]

    def optimized_llvm(self) -> str:
        """The LLVM IR after optimisation (made again on demand; it is not kept)."""
        with LOCK:
            return str(_optimized(self.text))

    def asm(self) -> str:
        """The assembly of the host."""
        with LOCK:
            return _machine().emit_assembly(_optimized(self.text))


@functools.cache
def _machine() -> Any:
    """The target machine of this host."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3,
        reloc="pic", codemodel="default",
    )  # fmt: skip


@functools.cache
def vector_bits() -> int:
    """The width of this host's widest vector registers."""
    features = llvm.get_host_cpu_features()
    return 512 if features.get("avx512f") else 256 if features.get("avx2") else 128


@functools.cache
def _jit() -> Any:
    """The linker of this process. Objects may refer to symbols of the process (memcpy, memset).

    JITLink gives all sections of an object one block of memory. The older linker takes a mapping each, and
    where two of them end up more than 2 GB apart it aborts the process.
    """
    return llvm.create_lljit_compiler(_machine(), use_jit_link=True)


def _parse(text: str) -> Any:
    try:
        module = llvm.parse_assembly(text, llvm.create_context())
    except RuntimeError as e:
        raise InternalTypeError(problem=f"the LLVM IR does not verify: {e}") from e
    return _verified(module)


def _verified(module: Any) -> Any:
    try:
        module.verify()
    except RuntimeError as e:
        raise InternalTypeError(problem=f"the LLVM IR does not verify: {e}") from e
    return module


def _optimized(text: str) -> Any:
    """The module after the passes. LLVM's SLP vectoriser sometimes makes IR that is not valid, and generating code
    from that ends the process: then its result is thrown away."""
    try:
        return _verified(_run_passes(text, slp=True))
    except InternalTypeError:
        return _verified(_run_passes(text, slp=False))


def _run_passes(text: str, slp: bool) -> Any:
    module, machine = _parse(text), _machine()
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.loop_interleaving = options.loop_unrolling = True
    options.slp_vectorization = slp
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    if "alwaysinline minsize" in text:  # masked variants that the vectoriser has just called
        after = llvm.create_new_module_pass_manager()
        after.add_always_inliner_pass()
        after.run(module, builder)
    return module


def _load(object_bytes: bytes) -> Any:
    library = (
        llvm.JITLibraryBuilder().add_object_img(object_bytes).add_current_process().export_symbol("entry")
    )
    return library.link(_jit(), f"tj{next(_names)}")


def compile_llvm(text: str) -> Code:
    """Compile and load a module that defines `@entry`. Thread-safe; identical text is compiled once.

    Raises InternalTypeError when the text is not valid LLVM IR.
    """
    key = hashlib.sha256(text.encode()).hexdigest()
    with LOCK:
        if key in _cache:
            _cache.move_to_end(key)
            return _cache[key]
        code = Code(text, _machine().emit_object(_optimized(text)))
        _cache[key] = code
        while len(_cache) > _CACHE_SIZE:
            _cache.popitem(last=False)
        return code
