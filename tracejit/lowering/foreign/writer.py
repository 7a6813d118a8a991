"""The LLVM text of C functions around the entries of programs: one module for each.

The imports of a module are the entry, its parameters and table, the record, `malloc` and `free`, then what is fixed.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.lowering.foreign.declarations import Declaration, Meaning, Parameter, Place, meaning
from tracejit.lowering.foreign.inputs import Input, Result, SizeOf
from tracejit.lowering.llvm.memory import STATUS_WORDS
from tracejit.lowering.loops.nodes import OUT_OF_MEMORY
from tracejit.lowering.runtime.executable import Executable

#: Statuses of the function itself, beside those of the program.
WRONG_LENGTH, OVERLAP = -101, -102
#: Bytes that lie beside the block of a large arena, which begins at a multiple of 64.
_SLACK = 64
#: Imports of every function; what is fixed follows.
_OWN = 6

_libc = ctypes.CDLL(None)


def _llvm(dtype: np.dtype, register: bool = True) -> str:
    """The LLVM type of a number, in memory or in a register, where booleans have one bit."""
    if dtype.kind == "b":
        return "i1" if register else "i8"
    return {"f8": "double", "f4": "float"}.get(f"{dtype.kind}{dtype.itemsize}", f"i{8 * dtype.itemsize}")


def _passed(dtype: np.dtype) -> str:
    """The type with what C's calling convention wants to know: who extends small numbers."""
    small = dtype.kind in "biu" and dtype.itemsize < 4
    return _llvm(dtype) + (" signext" if dtype.kind == "i" else " zeroext") * small


class Writer:
    """Writes one module."""

    def __init__(self, executable: Executable, inputs: Sequence[Input]) -> None:
        self.executable = executable
        self.inputs = list(inputs)
        self.lowered = executable.lowered
        self.entry = executable.entry()
        self.lines: list[str] = []
        self.names = itertools.count()
        self.fixed = [x.fixed for x in inputs if x.fixed is not None]
        self.head, self.foot = "", ""
        self.failed: list[str] = []  # what the failing end needs

    # -- what it refers to

    def imports(self, record: int) -> tuple[int, ...]:
        """The addresses that `@imports` gets."""
        e = self.entry
        malloc, free = (
            ctypes.cast(getattr(_libc, n), ctypes.c_void_p).value or 0 for n in ("malloc", "free")
        )
        data = [a.ctypes.data for a in self.fixed]
        return (e.address, e.params, e.table, record, malloc, free, *data)

    def text(self) -> str:
        count = _OWN + len(self.fixed)
        body = "\n".join(self.lines)
        return (
            f"@imports = global [{count} x ptr] zeroinitializer\n\n"
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n\n"
            f"{self.head} nounwind {{\n{body}\n}}\n"
        )

    # -- lines

    def add(self, line: str) -> None:
        self.lines.append("  " + line)

    def new(self, value: str) -> str:
        name = f"%v{next(self.names)}"
        self.add(f"{name} = {value}")
        return name

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def imported(self, n: int) -> str:
        return self.new(f"load ptr, ptr {self.new(f'getelementptr ptr, ptr @imports, i64 {n}')}")

    def fail_if(self, bad: str, code: int, details: Sequence[str] = ()) -> None:
        here, good = f"bad{next(self.names)}", f"good{next(self.names)}"
        self.add(f"br i1 {bad}, label %{here}, label %{good}")
        self.label(here)
        for n, x in enumerate(details):
            self.add(f"store i64 {x}, ptr {self.new(f'getelementptr i64, ptr %status, i64 {n}')}")
        self.add("br label %failed")
        self.failed.append(f"[ {code}, %{here} ]")
        self.label(good)

    # -- the two kinds of functions

    def rows(self, places: Sequence[int], count: int) -> None:
        """Each argument and output is behind one of an array of pointers: those of arguments are at `places`, those of
        outputs begin at `count`."""
        self.head = "define i32 @entry(ptr %rows)"
        self._begin()
        given, made = iter(places), itertools.count(count)
        ins = self._inputs(lambda _: self._row(next(given)))
        outs = [
            ins[self.lowered.aliases[n]] if n in self.lowered.aliases else self._row(next(made))
            for n in range(len(self.lowered.out_avals))
        ]
        self._overlaps(ins)
        self._call(ins, outs)
        self.add("ret i32 0")
        self._failed("ret i32 %code")

    def _row(self, n: int) -> str:
        return self.new(f"load ptr, ptr {self.new(f'getelementptr ptr, ptr %rows, i64 {n}')}")

    def declared(
        self, declaration: Declaration, results: Sequence[Result], means: Meaning | None = None
    ) -> None:
        """The function of a declaration; `means` says what its parameters are, if their names and order do not."""
        free = [n for n, x in enumerate(self.inputs) if x.fixed is None]
        means = means or meaning(
            declaration,
            [(self.inputs[n].dtype, self.inputs[n].shape) for n in free],
            [(r.dtype, r.shape) for r in results],
        )
        returned = declaration.result
        self._refuse_silence(declaration, means.reports, bool(means.lengths))
        parameters = [
            f"{'ptr' if p.pointer else _passed(p.dtype)} %p{n}"  # type: ignore[arg-type]
            for n, p in enumerate(declaration.parameters)
        ]
        kind = "void" if returned.dtype is None else _llvm(returned.dtype)
        extended = "" if returned.dtype is None else _passed(returned.dtype).removeprefix(kind)
        self.head = f"define{extended} {kind} @entry({', '.join(parameters)})"
        self._begin()
        for n, wanted in means.lengths:
            self._length(n, declaration.parameters[n], wanted)
        ins = self._inputs(lambda k: self._given(means.inputs[free.index(k)], self.inputs[k], declaration))
        places = [self._place(p, r) for p, r in zip(means.results, results, strict=True)]
        outs = self._outputs(ins, results, places)
        self._overlaps(ins, self._checked(means, results, places, ins))
        self._call(ins, outs)
        for place, r in zip(places, results, strict=True):
            source = self._source(r, ins, outs)
            if source != place:
                self._copy(place, source, self._bytes(r, ins))
        self._return(returned, means.results, places, results)

    def _source(self, r: Result, ins: list[str], outs: list[str]) -> str:
        if r.fixed is None:
            return (ins if r.given else outs)[r.number]
        self.fixed.append(r.fixed)
        return self.imported(_OWN + len(self.fixed) - 1)

    def _refuse_silence(self, declaration: Declaration, reports: str, has_lengths: bool) -> None:
        if reports:
            return
        why = (
            "its lengths are checked"
            if has_lengths
            else "an argument is checked"
            if self.lowered.failures
            else ""
        )
        if why:
            raise declaration.error(
                f"{why}, so that a call may fail, which it has no way to tell: let it return a floating-point "
                "number (NaN then), or an int (0 then)"
            )

    def _begin(self) -> None:
        self.label("begin")
        self.add(f"%status = alloca [{STATUS_WORDS} x i64], align 16")
        self.add(
            f"%ins.outs = alloca [{max(len(self.inputs) + len(self.lowered.out_avals), 1)} x ptr], align 16"
        )
        if self.entry.scratch:
            self.add(f"%arena = alloca i8, i64 {self.entry.scratch}, align 64")
        self.add(f"call void @llvm.memset.p0.i64(ptr %status, i8 0, i64 {8 * STATUS_WORDS}, i1 false)")

    def _length(self, n: int, p: Parameter, wanted: int) -> None:
        assert p.dtype is not None
        length = self._converted(f"%p{n}", p.dtype, np.dtype(np.int64))
        bad = self.new(f"icmp ne i64 {length}, {wanted}")
        self.fail_if(bad, WRONG_LENGTH, (str(wanted), length))

    def _inputs(self, given: Callable[[int], str]) -> list[str]:
        """Where each input of the program lies; `given(n)` for those that are not fixed."""
        fixed = itertools.count(_OWN)
        return [
            given(n) if x.fixed is None else self.imported(next(fixed)) for n, x in enumerate(self.inputs)
        ]

    def _given(self, place: Place, x: Input, declaration: Declaration) -> str:
        if place.pointer:
            return self._behind(place)
        dtype = declaration.parameters[place.parameter].dtype
        value = self._converted(f"%p{place.parameter}", dtype, x.dtype)
        if x.is_size:
            self.fail_if(self.new(f"icmp slt i64 {value}, 0"), WRONG_LENGTH, ("0", value))
        slot = self.new(f"alloca {_llvm(x.dtype, False)}, align 16")
        self._store(value, x.dtype, slot)
        return slot

    def _bytes(self, x: Input | Result, ins: Sequence[str]) -> int | str:
        """The bytes of an array in C order: a number or a register."""
        total = str(math.prod(n for n in x.shape if type(n) is not SizeOf) * x.dtype.itemsize)
        sizes = [n.input for n in x.shape if type(n) is SizeOf]
        for n in sizes:
            total = self.new(f"mul i64 {total}, {self._load(ins[n], self.inputs[n].dtype)}")
        return total if sizes else int(total)

    def _behind(self, place: Place) -> str:
        return self.new(f"getelementptr i8, ptr %p{place.parameter}, i64 {place.offset}")

    def _place(self, place: Place, r: Result) -> str:
        if place.pointer:
            return self._behind(place)
        return self.new(f"alloca {_llvm(r.dtype, False)}, align 16")

    def _outputs(self, ins: list[str], results: Sequence[Result], places: list[str]) -> list[str]:
        """Where the program puts each output: the input that it is, the first result that it is, or memory of the
        function's own."""
        aliases, outs = self.lowered.aliases, []
        for n, aval in enumerate(self.lowered.out_avals):
            at = next(
                (
                    p
                    for p, r in zip(places, results, strict=True)
                    if not r.given and r.fixed is None and r.number == n
                ),
                None,
            )
            if n in aliases:
                at = ins[aliases[n]]
            elif at is None:
                size = math.prod(aval.shape) * aval.dtype.itemsize
                at = self.new(f"alloca i8, i64 {max(size, 1)}, align 64")
            outs.append(at)
        return outs

    def _checked(
        self, means: Meaning, results: Sequence[Result], places: list[str], ins: Sequence[str]
    ) -> list[tuple[str, int | str]]:
        """The results behind pointers, if the function can tell that they lie where they must not."""
        if not means.reports:  # it is for the caller to see to, as with `restrict` in C
            return []
        return [
            (at, self._bytes(r, ins))
            for at, place, r in zip(places, means.results, results, strict=True)
            if place.pointer
        ]

    def _overlaps(self, ins: list[str], results: Sequence[tuple[str, int | str]] = ()) -> None:
        """Fail where the program writes into memory of another argument, or where one of `results`, pointers with their
        bytes, lies in an argument or in another result."""
        spans: list[tuple[str, int | str, int]] = []
        for p, x in zip(ins, self.inputs, strict=True):
            size = x.nbytes
            spans.append((p, self._bytes(x, ins) if size is None else size, x.before))
        written = [n for n, x in enumerate(self.inputs) if x.written]
        pairs = {(min(n, m), max(n, m)) for n in written for m in range(len(spans)) if m != n}
        ours = {n for n, x in enumerate(self.inputs) if x.fixed is not None}
        pairs = {(n, m) for n, m in pairs if not ours.issuperset((n, m))}
        pairs |= {(m, n) for n in range(len(spans), len(spans) + len(results)) for m in range(n)}
        spans += [(p, size, 0) for p, size in results]
        for (p, a, before), (q, b, other) in ((spans[n], spans[m]) for n, m in sorted(pairs)):
            if a == 0 or b == 0:
                continue
            start, least = self._moved(p, -before), self._moved(q, -other)
            end, most = self._moved(start, a), self._moved(least, b)
            first = self.new(f"icmp ult ptr {start}, {most}")
            second = self.new(f"icmp ult ptr {least}, {end}")
            both = self.new(f"and i1 {first}, {second}")
            for size in (a, b):
                if type(size) is str:  # what has no elements lies nowhere
                    both = self.new(f"and i1 {both}, {self.new(f'icmp ne i64 {size}, 0')}")
            self.fail_if(both, OVERLAP)

    def _moved(self, pointer: str, by: int | str) -> str:
        return self.new(f"getelementptr i8, ptr {pointer}, i64 {by}") if by else pointer

    def _call(self, ins: list[str], outs: list[str]) -> None:
        for n, at in enumerate([*ins, *outs]):
            self.add(f"store ptr {at}, ptr {self.new(f'getelementptr ptr, ptr %ins.outs, i64 {n}')}")
        function, params, table = (self.imported(n) for n in range(3))
        arena, block = "%arena", ""
        if not self.entry.scratch:
            size = self.lowered.program.arena_bytes + _SLACK
            block = self.new(f"call ptr {self.imported(4)}(i64 {size})")
            self.fail_if(self.new(f"icmp eq ptr {block}, null"), OUT_OF_MEMORY)
            last = self.new(f"ptrtoint ptr {self.new(f'getelementptr i8, ptr {block}, i64 63')} to i64")
            arena = self.new(f"inttoptr i64 {self.new(f'and i64 {last}, -64')} to ptr")
        code = self.new(
            f"call i32 {function}(ptr %ins.outs, ptr {params}, ptr {table}, ptr {arena}, ptr %status)"
        )
        if block:
            self.add(f"call void {self.imported(5)}(ptr {block})")
        self.add(f"br i1 {self.new(f'icmp eq i32 {code}, 0')}, label %worked, label %stopped")
        self.label("stopped")
        self.add("br label %failed")
        self.failed.append(f"[ {code}, %stopped ]")
        self.label("worked")

    def _return(
        self, returned: Parameter, at: Sequence[Place], places: list[str], results: Sequence[Result]
    ) -> None:
        if returned.dtype is None:
            self.add("ret void")
            self._failed("ret void")
            return
        kind = _llvm(returned.dtype)
        if at and at[-1].parameter < 0:
            value = self._converted(
                self._load(places[-1], results[-1].dtype), results[-1].dtype, returned.dtype
            )
            self.add(f"ret {kind} {value}")
            self._failed(f"ret {kind} {'0x7FF8000000000000' if returned.dtype.kind == 'f' else 0}")
        else:
            self.add(f"ret {kind} {'true' if kind == 'i1' else 1}")
            self._failed(f"ret {kind} {'false' if kind == 'i1' else 0}")

    def _failed(self, leave: str) -> None:
        """The end of calls that failed: the status goes into the record."""
        self.label("failed")
        self.add(f"%code = phi i32 {', '.join(self.failed)}")
        record = self.imported(3)
        wide = self.new("sext i32 %code to i64")
        for n in range(STATUS_WORDS):
            detail = self.new(f"load i64, ptr {self.new(f'getelementptr i64, ptr %status, i64 {n}')}")
            self.add(f"store i64 {detail}, ptr {self.new(f'getelementptr i64, ptr {record}, i64 {n + 1}')}")
        self.add(f"store i64 {wide}, ptr {record}")
        self.add(leave)

    # -- numbers

    def _converted(self, value: str, have: Any, want: np.dtype) -> str:
        if have == want:
            return value
        if have.kind == "f":
            return self.new(f"fpext float {value} to double")
        how = "sext" if have.kind == "i" else "zext"
        if have.itemsize >= want.itemsize:
            return value
        return self.new(f"{how} {_llvm(have)} {value} to {_llvm(want)}")

    def _store(self, value: str, dtype: np.dtype, slot: str) -> None:
        if dtype.kind == "b":
            value = self.new(f"zext i1 {value} to i8")
        self.add(f"store {_llvm(dtype, False)} {value}, ptr {slot}")

    def _load(self, slot: str, dtype: np.dtype) -> str:
        value = self.new(f"load {_llvm(dtype, False)}, ptr {slot}")
        return self.new(f"trunc i8 {value} to i1") if dtype.kind == "b" else value

    def _copy(self, to: str, source: str, nbytes: int | str) -> None:
        self.add(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {nbytes}, i1 false)")
