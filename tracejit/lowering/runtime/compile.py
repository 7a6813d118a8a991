"""LLVM IR text -> machine code in memory, through llvmlite's binding (no Numba).

`compile_llvm(text)` gives a `Code` with the address of `@entry`. Identical text is compiled once: in this process,
and in all of them if the disk cache is on, from which the code only has to be linked. LLVM is not thread-safe on
one context, so compilation holds the lock of tracing: one lock, which a fork waits for.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import platform
import re
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tracejit.config import config
from tracejit.errors import InternalTypeError
from tracejit.errors.refusals import attempt
from tracejit.lowering._lazy import llvm, llvmlite
from tracejit.lowering.linking import elf, processor
from tracejit.lowering.llvm import ahead, halves, streams, vecmath
from tracejit.lowering.llvm.text import has_loops
from tracejit.lowering.llvm.vecmath import library, outline
from tracejit.lowering.runtime import cache
from tracejit.timeline import span
from tracejit.tracing import LOCK
from tracejit.version import __version__

_CACHE_SIZE = 512
_cache: OrderedDict[tuple[str, tuple[int, ...]], Code] = OrderedDict()
_names = itertools.count()
#: Metadata that says of a module: do not look for vectors among its scalars.
MANY_SCALARS = "!scalars = !{}"
#: Metadata that says of a module: do not write loops once for each outcome of the tests in them.
UNIFORM_TESTS = "!uniform = !{}"
#: Metadata that says of a module: make machine code quickly, however slow it may be.
UNOPTIMIZED = "!unoptimized = !{}\n"
#: Functions and variables that a module shows to others.
_EXPORTED = re.compile(
    r"^(?:define (?!internal|hidden|weak)[^@\n]*)?@([\w.]+)(?:\(| = global )", re.MULTILINE
)
#: Bytes of a module from which it is asked whether it has loops at all.
_LONG = 200_000
_COMMENTS = re.compile(r"^ *;.*\n", re.MULTILINE)


class Code:
    """Machine code of one module, loaded. Valid as long as the object lives.

    `symbols` are the addresses of what the module exports, `address` that of `@entry`, or 0; `object_bytes` the
    relocatable object; `text` the LLVM IR without comments. `imports` are addresses for the pointers of `@imports`:
    code names none itself, so it serves every process. `linked`: other modules, with what is used of each.
    """

    def __init__(
        self,
        text: str,
        object_bytes: bytes,
        imports: tuple[int, ...] = (),
        linked: dict[Code, list[str]] | None = None,
    ) -> None:
        self.text = text
        self.object_bytes = object_bytes
        exports = _EXPORTED.findall(text)
        with span("link"):
            self.linked = _needed(text, object_bytes, exports) if linked is None else linked
            self.symbols, self._keep = _load(object_bytes, exports, self.linked)
        self.address = self.symbols.get("entry", 0)
        if imports:
            table = (ctypes.c_void_p * len(imports)).from_address(self.symbols["imports"])
            table[:] = imports

    def optimized_llvm(self) -> str:
        """The LLVM IR after optimisation (made again on demand; it is not kept)."""
        with LOCK:
            return str(_optimized(self.text))

    def asm(self) -> str:
        """The assembly of the host."""
        with LOCK:
            with _without(_LOOP_STRENGTH_REDUCTION):
                return _generator(self.text).emit_assembly(_optimized(self.text))


@functools.cache
def _machine(gathers: bool = True, level: int = 3) -> Any:
    """The target machine of this host; without `gathers` passes make no vector loads and stores of many places.
    `level`: how much time is spent on code, from 0 to 3."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    if not gathers and platform.machine().lower() in ("x86_64", "amd64"):
        features += ",+prefer-no-gather,+prefer-no-scatter"
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=level,
        reloc="pic", codemodel="default",
    )  # fmt: skip


@functools.cache
def _jit() -> Any:
    """The linker of this process. Objects may refer to symbols of the process (memcpy, memset).

    JITLink gives an object one block of memory; the older linker aborts where sections are over 2 GB apart.
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
        with attempt(InternalTypeError):
            return _verified(_run_passes(text, slp=MANY_SCALARS not in text))
    except InternalTypeError:
        return _verified(_run_passes(text, slp=False))


def _run_passes(text: str, slp: bool) -> Any:
    # LLVM takes a gather from an array on the stack for one that cannot read it (the alias analysis overlooks
    # vectors of pointers), and moves stores behind it.
    module = _parse(outline.portable(text, processor.vector_bits()))
    machine = _machine(gathers="alloca [" not in text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    optimizes = UNOPTIMIZED not in text
    options = llvm.create_pipeline_tuning_options(speed_level=3 if optimizes else 0)
    options.loop_vectorization = options.loop_interleaving = options.loop_unrolling = optimizes
    options.slp_vectorization = slp and optimizes
    builder = llvm.create_pass_builder(machine, options)
    with (
        _without(_SUMS_OF_SCALARS),
        _without(_UNSWITCHING) if UNIFORM_TESTS in text else contextlib.nullcontext(),
    ):
        _run(builder.getModulePassManager(), module, builder)
    if "alwaysinline minsize" in text:  # variants that the vectoriser has just called
        for fn in module.functions:
            # Visible up to here, so that they were not dropped before their first call, nor had parameters dropped.
            if fn.visibility == llvm.Visibility.hidden and not fn.is_declaration:
                if fn.linkage == llvm.Linkage.weak_any:  # the scalar form of `vecmath.outline`
                    fn.add_function_attribute("alwaysinline")
                fn.linkage = llvm.Linkage.internal
        after = llvm.create_new_module_pass_manager()
        after.add_always_inliner_pass()
        after.add_global_dead_code_eliminate_pass()
        _run(after, module, builder)
    changes = [streams.mark] * streams.is_streamed(text) + [ahead.mark] * (ahead.FLAG in text)
    if not changes:
        return module
    changed = str(module)
    for change in changes:
        changed = change(changed)
    return _parse(changed)


def _run(passes: Any, module: Any, builder: Any) -> None:
    """Run passes, and take them apart. llvmlite (0.50) forgets that: its class has `_dispose` of the wrong base, so
    that passes and what they have learnt stayed in memory, some 0.15 MB a module."""
    passes.run(module, builder)
    llvm.newpassmanagers.NewPassManager._dispose(passes)
    passes.detach()


#: Passes that LLVM is to leave out, by the option that says so and the one that takes it back.
#: The one that chooses what the addresses in a loop are computed from: where strides are parameters it takes up to
#: four times as long as all the rest of code generation, and our loops are as fast without, since what does not
#: change in them has been moved out before, and processors add a base and an index for nothing.
_LOOP_STRENGTH_REDUCTION = ("-disable-lsr=true", "-disable-lsr=false")
#: The search for sums of scalars, which takes three quarters of the time to optimise the gradient of a loop over a
#: small vector. It finds nothing: our sums have an order, but for those that the loop vectoriser has split already.
_SUMS_OF_SCALARS = ("-slp-vectorize-hor=false", "-slp-vectorize-hor=true")

#: Loops written again for every outcome of a test that does not change in them: half of the time to compile the
#: gradient of a stencil in three dimensions, for code that is as fast with instructions that are masked.
_UNSWITCHING = ("-unswitch-threshold=1", "-unswitch-threshold=50")


@contextlib.contextmanager
def _without(option: tuple[str, str]) -> Iterator[None]:
    llvm.set_option("", option[0])
    try:
        yield
    finally:  # the option is the process's, and others may compile with LLVM too
        llvm.set_option("", option[1])


def object_of(text: str) -> bytes:
    """The relocatable object of a module, which is compiled here and now."""
    module = _optimized(text)
    with _without(_LOOP_STRENGTH_REDUCTION):
        return _generator(text).emit_object(module)


def linked_object(texts: list[str], shown: set[str]) -> bytes:
    """The relocatable object of several modules, each of which is optimised by itself. Others see the functions and
    variables in `shown` only."""
    context = llvm.create_context()
    modules = [llvm.parse_assembly(str(_optimized(text)), context) for text in texts]
    whole = modules[0]
    for module in modules[1:]:
        whole.link_in(module)
    for value in (*whole.functions, *whole.global_variables):
        if value.name in halves.ROUTINES:
            value.visibility = llvm.Visibility.hidden
        elif not (value.is_declaration or value.name in shown or value.name.startswith("llvm.")):
            value.linkage = llvm.Linkage.internal
    with _without(_LOOP_STRENGTH_REDUCTION):
        return _generator("".join(texts)).emit_object(_verified(whole))


def as_set(text: str) -> str:
    """A module of a user's program, to be optimised or not as `config.optimize` says now."""
    return text if config.optimize else text + UNOPTIMIZED


def _generator(text: str) -> Any:
    """What makes machine code of a module after the passes. Code that runs once is not worth the search for the best
    registers, which takes more than linear time: a minute for some ten thousand operations without loops."""
    quick = UNOPTIMIZED in text or (len(text) > _LONG and not has_loops(text))
    return _machine(level=0 if quick else 3)


def _load(
    object_bytes: bytes, exports: list[str], needed: dict[Code, list[str]]
) -> tuple[dict[str, int], list[Any]]:
    """The object linked with what it needs of other modules: the addresses of what it exports, and what has to live as
    long."""
    given = {name: other.symbols[name] for other, names in needed.items() for name in names}
    found = elf.link(object_bytes, given)
    if found is not None and all(name in found[0] for name in exports):
        return {name: found[0][name] for name in exports}, [found[1], *needed]
    builder = llvm.JITLibraryBuilder().add_object_img(object_bytes).add_current_process()
    for name in exports:
        builder.export_symbol(name)
    for name, address in given.items():
        builder.import_symbol(name, address)
    made = builder.link(_jit(), f"tj{next(_names)}")
    return {name: made[name] for name in exports}, [made, *needed]


def _needed(text: str, object_bytes: bytes, exports: list[str]) -> dict[Code, list[str]]:
    """The modules of ours that a module is linked with, and what it uses of each."""
    needed = {_library(key): names for key, names in library.needed(text).items()}
    if " half" in text and (called := [n for n in halves.called(object_bytes) if n not in exports]):
        needed[_half_conversions()] = called
    return needed


@functools.cache
def _library(needed: library.Library) -> Code:
    """Functions that programs are linked with. They stay loaded."""
    return compile_llvm(vecmath.definitions(needed))


@functools.cache
def _half_conversions() -> Code:
    return compile_llvm(halves.definitions())


@functools.cache
def made_by() -> str:
    """The hash of what decides, besides the text, which code is made: versions, processor, this file and those that
    change what LLVM has made."""
    try:
        recipe = "".join(
            Path(name).read_text(encoding="utf-8") for name in (__file__, streams.__file__, ahead.__file__)
        )
    except OSError:  # installed without sources: the version says the same
        recipe = ""
    host = processor.kind() or f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
    return cache.makers(
        __version__, recipe, llvmlite.__version__, sys.platform, platform.machine(), host,
    )  # fmt: skip


def stripped(text: str) -> str:
    """A module without comments: equations and the user's lines, which make no other code."""
    return _COMMENTS.sub("", text)


def compile_llvm(
    text: str, imports: tuple[int, ...] = (), make: Callable[[str], bytes] | None = None
) -> Code:
    """Compile and load a module that defines `@entry`. Thread-safe; identical text is compiled once.

    With `imports` the module defines `@imports`, as many pointers, which are set to these addresses; with others
    the same text is another module, which is linked only.
    `make` gives the object of a text that is not known (`object_of`, if it is None); it may raise.
    Raises InternalTypeError when the text is not valid LLVM IR.
    """
    text = stripped(text)
    with LOCK:
        key = text, imports
        if key in _cache:
            _cache.move_to_end(key)
            return _cache[key]
        code = _from_disk(text, imports, make or object_of)
        _cache[key] = code
        while len(_cache) > _CACHE_SIZE:
            _cache.popitem(last=False)
        return code


def restored(text: str, object_bytes: bytes | None, linked: dict[Code, list[str]]) -> Code:
    """A module from a file, linked with the modules from there; without an object that this processor can run it is
    compiled. Raises RuntimeError if the object can't be linked, InternalTypeError if the text is not valid."""
    with LOCK:
        return (
            _from_disk(text, (), object_of, linked)
            if object_bytes is None
            else Code(text, object_bytes, (), linked)
        )


def offer(maker: str, objects: dict[bytes, bytes]) -> None:
    """Objects by the digests of their keys, from a file: they need not be compiled if `made_by` made them."""
    if maker == made_by():
        _offered.update(objects)


#: Objects that files have brought, by the digests of their keys.
_offered: dict[bytes, bytes] = {}


def _from_disk(
    text: str,
    imports: tuple[int, ...],
    make: Callable[[str], bytes],
    linked: dict[Code, list[str]] | None = None,
) -> Code:
    """The code that was offered, or that the disk cache has, for `text`; or compiled, and put there."""
    store, make = cache.current(), functools.partial(_making, make)
    if store is None and not _offered:
        return Code(text, make(text), imports, linked)
    key = cache.key_of(made_by(), text)
    if key.digest in _offered:
        return Code(text, _offered[key.digest], imports, linked)
    if store is None:
        return Code(text, make(text), imports, linked)
    with span("disk cache", "load"):
        kept = store.load(key)
    if kept is not None:
        try:
            code = Code(text, kept, imports, linked)
        except RuntimeError as e:
            store.distrust(key, f"it can't be linked: {e}")
        else:
            _tell(f"loaded {key.file_name} from the disk cache")
            return code
    code = Code(text, make(text), imports, linked)
    with span("disk cache", "save"):
        store.save(key, code.object_bytes)
    return code


def _making(make: Callable[[str], bytes], text: str) -> bytes:
    with span("llvm"):
        return make(text)


def _tell(event: str) -> None:
    if config.debug:
        print(f"tracejit: {event}", file=sys.stderr, flush=True)


def forget() -> None:
    """Drop the code kept in memory, as far as nobody holds it. The disk cache stays."""
    with LOCK:
        _cache.clear()
