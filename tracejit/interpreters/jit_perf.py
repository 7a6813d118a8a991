"""Names for Linux's `perf`: with `config.perf` (TRACEJIT_PERF=1), /tmp/perf-PID.map says which addresses are which
nest.

`perf report` reads that file for code that a process has made itself (tools/perf/Documentation/jit-interface.txt of
Linux). Its lines are ranges of addresses with a name each, here such as `train: tanh f64[500,64] (train.py:12)`. Which
nest an address belongs to is in the object's table of lines: ELF's section .debug_line, in DWARF's version 4, section
6.2, whose columns are the numbers of pieces (`llvm.located`).
"""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Iterator
from typing import Any

from tracejit.interpreters.jit import Compiled
from tracejit.lowering.llvm import cpu, probes
from tracejit.lowering.llvm.located import Located
from tracejit.lowering.loops.nodes import Program
from tracejit.lowering.runtime.compile import Code
from tracejit.lowering.runtime.executable import Executable

_told: set[int] = set()  # modules that have been written down, by the address of their code


class Named(Compiled):
    """A program whose nests `perf` can name."""

    def _emit(self, program: Program) -> str:
        self.plan = probes.plan(program, everything=True)

        def located(*args: Any) -> Located:
            made = Located(*args)
            made.plan = self.plan
            return made

        return cpu.emit(program, located)

    def _executable(self) -> Executable:
        name = self.source_jaxpr.name or "program"
        pieces = [f"{name}: {_described(p)}" for p in self.plan.probes]
        tell(self.code, name, pieces)
        return super()._executable()


def _described(probe: probes.Probe) -> str:
    where = f" ({probe.source})" if probe.source is not None else ""
    return f"{probes.label(probe)}{where}"


def tell(code: Code, name: str, pieces: list[str]) -> None:
    """Write down where the functions and pieces of a module are, and those of the modules that it is linked with."""
    for other in code.linked:
        tell(other, "tracejit", [])
    base = min(code.symbols.values())
    if base in _told:
        return
    _told.add(base)
    lines = [f"{start:x} {size:x} {text}\n" for start, size, text in ranges(code, name, pieces)]
    with open(path(), "a", encoding="utf-8") as f:
        f.writelines(lines)


def path() -> str:
    """The file that `perf` looks for."""
    return os.path.join("/tmp" if os.path.isdir("/tmp") else tempfile.gettempdir(), f"perf-{os.getpid()}.map")


def ranges(code: Code, name: str, pieces: list[str]) -> list[tuple[int, int, str]]:
    """(address, size, name) of all machine code of a module."""
    elf = _Elf(code.object_bytes)
    known = next(((s, at) for s, at in code.symbols.items() if s in elf.functions), None)
    if known is None:
        return []
    base = known[1] - elf.functions[known[0]][0]
    found = []
    rows = sorted(elf.lines()) if pieces else []
    for function, (start, size) in sorted(elf.functions.items(), key=lambda item: item[1]):
        stop = start + size
        inside = [(max(a, start), min(b, stop), column) for a, b, column in rows if a < stop and b > start]
        at, plain = start, f"{name}: {'machine code' if function == 'entry' else function}"
        for a, b, column in inside:
            if a > at:
                found.append((base + at, a - at, plain))
            if b > max(a, at):
                text = pieces[column - 1] if 0 < column <= len(pieces) else plain
                found.append((base + max(a, at), b - max(a, at), text))
                at = b
        if at < stop:
            found.append((base + at, stop - at, plain))
    return _joined(found)


def _joined(found: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Neighbours of one name as one."""
    out: list[tuple[int, int, str]] = []
    for start, size, text in found:
        if out and out[-1][2] == text and out[-1][0] + out[-1][1] == start:
            out[-1] = (out[-1][0], out[-1][1] + size, text)
        else:
            out.append((start, size, text))
    return out


class _Elf:
    """What is needed of a relocatable object of 64 bits: its functions, as (offset, size) in .text, and its lines."""

    def __init__(self, data: bytes) -> None:
        self.functions: dict[str, tuple[int, int]] = {}
        self.sections: dict[str, bytes] = {}
        self.symbols: list[tuple[int, int]] = []  # section and value of each
        if data[:5] != b"\x7fELF\x02":
            return
        (at,), (size, count, names) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<3H", data, 58)
        heads = [struct.unpack_from("<2I4Q2I2Q", data, at + n * size) for n in range(count)]
        table = heads[names]
        titles = [_text(data, table[4] + h[0]) for h in heads]
        for head, title in zip(heads, titles, strict=True):
            self.sections[title] = data[head[4] : head[4] + head[5]] if head[1] != 8 else b""
        text = titles.index(".text") if ".text" in titles else -1
        strings = self.sections.get(".strtab", b"")
        for name, info, _, section, value, length in struct.iter_unpack(
            "<IBBHQQ", self.sections.get(".symtab", b"")
        ):
            self.symbols.append((section, value))
            if section == text and info & 15 == 2:
                self.functions[_text(strings, name)] = (value, length)

    def lines(self) -> Iterator[tuple[int, int, int]]:
        """(first, last, column) of the pieces of code."""
        data = bytearray(self.sections.get(".debug_line", b""))
        for offset, info, addend in struct.iter_unpack("<QQq", self.sections.get(".rela.debug_line", b"")):
            if info & 0xFFFFFFFF == _ABSOLUTE.get(_machine()):
                struct.pack_into("<q", data, offset, self.symbols[info >> 32][1] + addend)
        at = 0
        while at + 4 <= len(data):
            (length,) = struct.unpack_from("<I", data, at)
            yield from _rows(bytes(data[at + 4 : at + 4 + length]))
            at += 4 + length


#: The relocation that is a whole address, by processor.
_ABSOLUTE = {"x86_64": 1, "aarch64": 257}


def _machine() -> str:
    return os.uname().machine


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


def _rows(unit: bytes) -> Iterator[tuple[int, int, int]]:
    """The rows of a line program without its length (DWARF 4, section 6.2.5)."""
    version, header = struct.unpack_from("<HI", unit)
    if version > 4:
        return
    least, most = unit[6], unit[7] if version == 4 else 1
    at = 8 if version == 4 else 7
    width, first = struct.unpack_from("<BB", unit, at + 2)
    lengths = unit[at + 4 : at + 3 + first]
    assert most == 1  # no bundles of instructions
    reader = _Reader(unit, 6 + header)
    address, column, before = 0, 0, None
    while reader.at < len(unit):
        op, row, ended = reader.byte(), False, False
        if op >= first:
            address, row = address + (op - first) // width * least, True
        elif op == 0:
            size = reader.unsigned()
            end, kind = reader.at + size, unit[reader.at]
            if kind == 2:
                (address,) = struct.unpack_from("<Q", unit, reader.at + 1)
            reader.at, ended = end, kind == 1
        elif op == 1:
            row = True
        elif op == 2:
            address += reader.unsigned() * least
        elif op == 5:
            column = reader.unsigned()
        elif op == 8:
            address += (255 - first) // width * least
        elif op == 9:
            address += struct.unpack_from("<H", unit, reader.at)[0]
            reader.at += 2
        else:
            for _ in range(lengths[op - 1]):
                reader.unsigned()
        if row or ended:
            if before is not None and address > before[0]:
                yield before[0], address, before[1]
            before = None if ended else (address, column)
        if ended:
            address = column = 0


class _Reader:
    """Numbers of bytes, one after another."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def unsigned(self) -> int:
        """A number in base 128, least first; negative ones are only skipped."""
        value = shift = 0
        while True:
            b = self.byte()
            value |= (b & 127) << shift
            shift += 7
            if b < 128:
                return value
