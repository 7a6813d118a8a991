"""Programs as functions of C in one object, which needs neither Python nor tracejit.

Each program is a module of its own, whose functions are `lowering.foreign.writer`'s; what that gets as addresses in a
process are symbols here. The modules are optimised one by one, as they are for Python, and then linked: so results have
the same bits. Threads are none: one thread does all parts of loops, in their order, which gives the same bits, too.

BLAS and LAPACK are symbols of Fortran (`dgemm_`), for whoever links the object. Routines that only NumPy and SciPy have
are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from tracejit.errors import LibraryBuildError
from tracejit.lowering._lazy import llvm
from tracejit.lowering.foreign.declarations import Declaration, Meaning, Parameter, Place
from tracejit.lowering.foreign.inputs import Input, Result
from tracejit.lowering.foreign.writer import Writer
from tracejit.lowering.llvm.memory import STATUS_WORDS
from tracejit.lowering.loops.nodes import External
from tracejit.lowering.runtime import compile as machine
from tracejit.lowering.runtime.compile import Code
from tracejit.lowering.runtime.executable import Executable
from tracejit.records import record
from tracejit.tracing import LOCK

#: Where a symbol stands for a function of the runtime.
_RUNTIME = {
    "pool:blocks": "tracejit.blocks",
    "threads:run": "tracejit.run",
    "threads:look": "tracejit.look",
    "python:check_signals": "tracejit.signals",
}
#: What programs call of the runtime, without threads, signals, and memory that is kept for later calls. A block begins
#: 64 bytes after what the system gives, where its size is.
_RUNTIME_TEXT = """
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.umin.i64(i64, i64)

define internal ptr @new(i64 %bytes) nounwind {
  %more = add i64 %bytes, 127
  %room = and i64 %more, -64
  %base = call ptr @aligned_alloc(i64 64, i64 %room)
  %none = icmp eq ptr %base, null
  br i1 %none, label %nothing, label %mark
mark:
  store i64 %bytes, ptr %base
  %block = getelementptr i8, ptr %base, i64 64
  ret ptr %block
nothing:
  ret ptr null
}

define internal void @release(ptr %block) nounwind {
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %some
some:
  %base = getelementptr i8, ptr %block, i64 -64
  call void @free(ptr %base)
  br label %done
done:
  ret void
}

define ptr @tracejit.blocks(ptr %block, i64 %bytes) nounwind {
  %wanted = icmp ne i64 %bytes, 0
  br i1 %wanted, label %make, label %give
give:
  call void @release(ptr %block)
  ret ptr null
make:
  %made = call ptr @new(i64 %bytes)
  %old = icmp ne ptr %block, null
  %there = icmp ne ptr %made, null
  %moves = and i1 %old, %there
  br i1 %moves, label %move, label %done
move:
  %base = getelementptr i8, ptr %block, i64 -64
  %held = load i64, ptr %base
  %count = call i64 @llvm.umin.i64(i64 %held, i64 %bytes)
  call void @llvm.memcpy.p0.p0.i64(ptr %made, ptr %block, i64 %count, i1 false)
  call void @release(ptr %block)
  br label %done
done:
  ret ptr %made
}

define i32 @tracejit.run(ptr %fn, ptr %frame, i64 %start, i64 %stop, i64 %grain, ptr %status) nounwind {
  %code = call i32 %fn(ptr %frame, i64 %start, i64 %stop, ptr %status, i64 0)
  ret i32 %code
}

define i32 @tracejit.look(i64 %who) nounwind {
  ret i32 0
}

define i32 @tracejit.signals() nounwind {
  ret i32 0
}
"""
_IMPORTS = re.compile(r"^@imports = global \[(\d+) x ptr\] zeroinitializer$", re.MULTILINE)
_ENTRY = re.compile(r"@entry\b")
#: C's names of the types of numbers.
C_TYPES = {
    "float64": "double", "float32": "float", "bool": "bool",
    **{f"{sign}int{n}": f"{sign}int{n}_t" for sign in ("", "u") for n in (8, 16, 32, 64)},
}  # fmt: skip


@record(frozen=True)
class Member:
    """A function of a library: its name, its program, the inputs of that (with the arrays that are part of it), and its
    results; the names of its parameters."""

    name: str
    executable: Executable
    inputs: Sequence[Input]
    results: Sequence[Result]
    names: Sequence[str]

    def declaration(self) -> tuple[Declaration, Meaning]:
        """`int name(sizes, arguments, pointers to results)`, and what its parameters mean."""
        free = [x for x in self.inputs if x.fixed is None]
        given = [
            _parameter(x.dtype, bool(x.shape), n, x.written) for x, n in zip(free, self.names, strict=False)
        ]
        made = [
            _parameter(r.dtype, True, n, True)
            for r, n in zip(self.results, self.names[len(free) :], strict=True)
        ]
        order = sorted(range(len(free)), key=lambda n: not free[n].is_size)
        parameters = [*(given[n] for n in order), *made]
        text = f"int {self.name}({', '.join(_written(p) for p in parameters) or 'void'})"
        ins = [Place(order.index(n), p.pointer) for n, p in enumerate(given)]
        outs = [Place(len(given) + n, p.pointer) for n, p in enumerate(made)]
        means = Meaning(ins, outs, [], "status")
        return Declaration(text, Parameter("int", np.dtype(np.int32), False), tuple(parameters)), means

    @property
    def libraries(self) -> list[str]:
        """The routines of BLAS and LAPACK that it calls."""
        names = (e.name for e in self.executable.lowered.program.externals)
        return sorted(symbol(n) for n in names if n.startswith(("blas:", "lapack:")))


def _parameter(dtype: np.dtype, pointer: bool, name: str, written: bool) -> Parameter:
    if dtype.name not in C_TYPES:
        raise LibraryBuildError(path=name, problem=f"C has no type for numbers of the dtype {dtype.name}")
    kind = C_TYPES[dtype.name]
    return Parameter(f"const {kind}" if pointer and not written else kind, dtype, pointer, name)


def _written(p: Parameter) -> str:
    return f"{p.type} *{p.name}" if p.pointer else f"{p.type} {p.name}"


def symbol(name: str) -> str:
    """The symbol that an external function is in a library. Raises LibraryBuildError for what only Python has."""
    kind, _, rest = name.partition(":")
    if name in _RUNTIME:
        return _RUNTIME[name]
    if kind in ("blas", "lapack"):
        return f"{rest}_"
    if kind == "c":
        return rest
    libraries = {
        "numpy": "NumPy",
        "special": "scipy.special",
        "random": "NumPy's generators",
        "native": "another compiler",
    }
    what = libraries.get(kind, "Python")
    raise LibraryBuildError(path=rest, problem=f"it calls {rest!r} of {what}, which C does not have")


# ---------------------------------------------------------------- modules


def compiled(members: Sequence[Member]) -> bytes:
    """The relocatable object of these functions. Raises LibraryBuildError."""
    shown: set[str] = set()
    texts = [_RUNTIME_TEXT]
    codes: dict[str, Code] = {}
    for m in members:
        shown |= {m.name, f"{m.name}_status"}
        texts += [_ENTRY.sub(f"@{m.name}.entry", m.executable.code.text), _function(m)]
        codes |= {c.text: c for c in _linked(m.executable.code)}
    with LOCK:
        return machine.linked_object([*texts, *codes], shown)


def _linked(code: Code) -> Iterator[Code]:
    for other in code.linked:
        yield other
        yield from _linked(other)


def _function(m: Member) -> str:
    """The module of the function of C around a program, with its parameters, table and arrays."""
    writer = Writer(m.executable, m.inputs)
    declaration, means = m.declaration()
    writer.declared(declaration, m.results, means)
    program = m.executable.lowered.program
    symbols = [symbol(e.name) for e in program.externals]
    own = [f"@{m.name}.{n}" for n in ("entry", "params", "table")] + [f"@{m.name}_status", "@malloc", "@free"]
    arrays = [f"@{m.name}.array{n}" for n in range(len(writer.fixed))]
    table = ", ".join(f"ptr {name}" for name in (*own, *arrays))
    text = _IMPORTS.sub(
        lambda found: f"@imports = internal constant [{found[1]} x ptr] [{table}]", writer.text()
    )
    lines = [
        "declare ptr @malloc(i64)",
        "declare void @free(ptr)",
        f"declare i32 @{m.name}.entry(ptr, ptr, ptr, ptr, ptr)",
        f"@{m.name}_status = global [{STATUS_WORDS + 1} x i64] zeroinitializer, align 16",
        _table(f"{m.name}.params", "i64", [str(p) for p in program.params]),
        _table(f"{m.name}.table", "ptr", [f"@{s}" for s in symbols]),
        *(
            _declared(s, e)
            for s, e in zip(symbols, program.externals, strict=True)
            if s not in ("malloc", "free")
        ),
        *(_array(name, a) for name, a in zip(arrays, writer.fixed, strict=True)),
    ]
    return "\n".join([*dict.fromkeys(lines), _ENTRY.sub(f"@{m.name}", text)])


def _declared(name: str, external: External) -> str:
    return f"declare void @{name}()"  # its address is all that is used


def _table(name: str, kind: str, items: list[str]) -> str:
    values = ", ".join(f"{kind} {x}" for x in items or ["null" if kind == "ptr" else "0"])
    return f"@{name} = internal constant [{max(len(items), 1)} x {kind}] [{values}], align 16"


def _array(name: str, a: np.ndarray) -> str:
    """An array in C order, as bytes."""
    assert a.flags.c_contiguous
    text = "".join(f"\\{b:02X}" for b in a.tobytes() or b"\0")
    return f'{name} = internal constant [{max(a.nbytes, 1)} x i8] c"{text}", align 64'


def undefined(members: Sequence[Member]) -> list[str]:
    """The routines of BLAS and LAPACK that a library of these functions has to be linked with."""
    return sorted({name for m in members for name in m.libraries})


def processor() -> str:
    """The processor for which libraries are made."""
    return str(llvm.get_host_cpu_name())
