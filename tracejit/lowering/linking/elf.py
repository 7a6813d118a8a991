"""Objects of LLVM's linked into this process without LLVM, whose library takes longer to load than this.

Relocatable ELF objects for x86-64 Linux, of the small position-independent code model, are linked here: sections are
laid out in one block of memory, with stubs for functions of the process (`memcpy`) and a table of addresses. What else
an object may have (other systems and relocations, symbols that nobody has) is left to LLVM's linker. There are no
tables for unwinding: nothing throws through our code.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import struct
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

_PAGE = 4096
_READ, _WRITE, _EXECUTE = 1, 2, 4
_SECTION, _SYMBOL, _RELOCATION = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ"), struct.Struct("<QQq")
_RELA, _NOBITS, _SYMTAB = 4, 8, 2
_ALLOCATED, _WRITABLE, _CODE = 2, 1, 4
_ABSOLUTE, _COMMON = 0xFFF1, 0xFFF2
#: Bytes of a block, in which distances have 32 bits.
_MOST = 1 << 30
#: Relocations: an address, a distance, that to a function, and to a place in the table of addresses.
_ADDRESS, _DISTANCE, _CALL, _FAR = 1, 2, 4, 24
_TABLE = frozenset({9, 41, 42})
#: A jump to the address behind it.
_STUB = b"\xff\x25\x02\x00\x00\x00\x66\x90"


class Memory:
    """A block of memory of the process, which is given back when nobody holds it."""

    def __init__(self, size: int) -> None:
        self.size = -(-size // _PAGE) * _PAGE
        self._release = _system().munmap  # modules may be gone when the last one is
        self.address = _system().mmap(None, self.size, _READ | _WRITE, _PRIVATE, -1, 0)
        if self.address in (None, ctypes.c_void_p(-1).value):
            self.address = 0
            raise MemoryError

    def protect(self, start: int, stop: int, how: int) -> bool:
        """Let pages be read, and `how` says executed; whether the system lets them."""
        return stop == start or not _system().mprotect(self.address + start, stop - start, how)

    def __del__(self) -> None:
        if self.address and not sys.is_finalizing():  # threads may still be in it then
            self._release(self.address, self.size)


_PRIVATE = 0x22  # and anonymous


@functools.cache
def is_here() -> bool:
    """Whether this process is of a kind for which objects are linked here."""
    return sys.platform == "linux" and platform.machine() == "x86_64" and sys.maxsize > 1 << 32


@functools.cache
def _system() -> Any:
    library = ctypes.CDLL(None)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
    library.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    library.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return library


def code_of(text: bytes) -> Memory | None:
    """Machine code without relocations in memory; None where the system does not let memory be executed."""
    memory = Memory(len(text))
    ctypes.memmove(memory.address, text, len(text))
    return memory if memory.protect(0, memory.size, _READ | _EXECUTE) else None


class _Section(NamedTuple):
    """A section's header."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry: int


class _Unknown(Exception):
    """What is left to LLVM."""


def link(image: bytes, given: Mapping[str, int]) -> tuple[dict[str, int], Memory] | None:
    """The addresses of an object's symbols, and the memory that has to live as long; `given` are those of other
    modules. None: LLVM's linker has to do it."""
    if not is_here() or image[:6] != b"\x7fELF\x02\x01" or image[16:20] != b"\x01\x00\x3e\x00":
        return None
    try:
        return _Linker(image, given).run()
    except (_Unknown, struct.error, MemoryError, LookupError, ValueError, OverflowError):
        return None


class _Linker:
    """Links one object."""

    def __init__(self, image: bytes, given: Mapping[str, int]) -> None:
        self.image, self.given = image, given
        start, size, count = *struct.unpack_from("<Q", image, 40), *struct.unpack_from("<HH", image, 58)
        if size != _SECTION.size:
            raise _Unknown
        self.sections = [_Section(*_SECTION.unpack_from(image, start + n * size)) for n in range(count)]
        table = next((s for s in self.sections if s.kind == _SYMTAB), None)
        if table is None:
            raise _Unknown
        names = self.sections[table.link]
        self.names = image[names.offset : names.offset + names.size]
        self.symbols = list(_SYMBOL.iter_unpack(image[table.offset : table.offset + table.size]))
        self.places: dict[int, int] = {}  # of sections, in the block
        self.common: dict[int, int] = {}
        self.stubs: dict[str, int] = {}
        self.table: dict[int, int] = {}

    def name(self, symbol: int) -> str:
        at = self.symbols[symbol][0]
        return self.names[at : self.names.index(b"\0", at)].decode()

    def run(self) -> tuple[dict[str, int], Memory]:
        moves = [
            (s.info, [*_RELOCATION.iter_unpack(self.image[s.offset : s.offset + s.size])])
            for s in self.sections
            if s.kind == _RELA and self._is_kept(self.sections[s.info])
        ]
        bounds = self._lay_out([m for _, found in moves for m in found])
        if bounds[-1] > _MOST:
            raise _Unknown
        self.memory = Memory(bounds[-1])
        self.bytes = bytearray(self.memory.size)
        for n, at in self.places.items():
            s = self.sections[n]
            if s.kind != _NOBITS:
                if s.offset + s.size > len(self.image):
                    raise _Unknown
                self.bytes[at : at + s.size] = self.image[s.offset : s.offset + s.size]
        for name, at in self.stubs.items():
            self.bytes[at : at + 16] = _STUB + struct.pack("<Q", self._outside(name))
        for symbol, at in self.table.items():
            struct.pack_into("<Q", self.bytes, at, self._address(symbol))
        for n, found in moves:
            self._move(self.places[n], found)
        ctypes.memmove(self.memory.address, bytes(self.bytes), len(self.bytes))
        code, constants, _ = bounds
        if not (
            self.memory.protect(0, code, _READ | _EXECUTE) and self.memory.protect(code, constants, _READ)
        ):
            raise _Unknown
        shown = {
            self.name(n): self._address(n)
            for n, (_, info, _, section, _, _) in enumerate(self.symbols)
            if section and info >> 4
        }
        return shown, self.memory

    def _is_kept(self, s: _Section) -> bool:
        return bool(s.flags & _ALLOCATED) and not self._section_name(s).startswith(".eh_frame")

    def _section_name(self, s: _Section) -> str:
        (number,) = struct.unpack_from("<H", self.image, 62)
        at = self.sections[number].offset + s.name
        return self.image[at : self.image.index(b"\0", at)].decode()

    def _lay_out(self, moves: list[Any]) -> tuple[int, int, int]:
        """Places for the sections, with code first, then constants, then variables; where each of the three ends."""
        for _, info, _ in moves:
            symbol, kind = info >> 32, info & 0xFFFFFFFF
            if kind in _TABLE:
                self.table.setdefault(symbol, 0)
            elif kind == _CALL and not self.symbols[symbol][3]:
                self.stubs.setdefault(self.name(symbol), 0)
            elif kind not in (_ADDRESS, _DISTANCE, _CALL, _FAR):
                raise _Unknown
        at, ends = 0, []
        for wanted in (_CODE, 0, _WRITABLE):
            for n, s in enumerate(self.sections):
                if self._is_kept(s) and s.flags & (_CODE | _WRITABLE) == wanted:
                    at = -(-at // max(s.align, 1)) * max(s.align, 1)
                    self.places[n] = at
                    at += s.size
            at = -(-at // 16) * 16
            if wanted == _CODE:
                self.stubs = {name: at + 16 * n for n, name in enumerate(self.stubs)}
                at += 16 * len(self.stubs)
            elif not wanted:
                self.table = {symbol: at + 8 * n for n, symbol in enumerate(self.table)}
                at += 8 * len(self.table)
            else:
                for n, (_, _, _, section, align, size) in enumerate(self.symbols):
                    if section == _COMMON:
                        at = -(-at // max(align, 1)) * max(align, 1)
                        self.common[n] = at
                        at += size
            at = -(-at // _PAGE) * _PAGE
            ends.append(at)
        if any(self._is_kept(s) and n not in self.places for n, s in enumerate(self.sections)):
            raise _Unknown  # code that is written
        return ends[0], ends[1], max(ends[2], _PAGE)

    def _address(self, symbol: int) -> int:
        _, _, _, section, value, _ = self.symbols[symbol]
        if not section:
            return self._outside(self.name(symbol))
        if section == _ABSOLUTE:
            return int(value)
        if section == _COMMON:
            return int(self.memory.address + self.common[symbol])
        if section not in self.places:
            raise _Unknown
        return int(self.memory.address + self.places[section] + value)

    def _outside(self, name: str) -> int:
        """The address of a symbol of another module or of the process."""
        if name in self.given:
            return self.given[name]
        try:
            found: Callable[..., Any] = getattr(_system(), name)
        except AttributeError:
            raise _Unknown from None
        return ctypes.cast(found, ctypes.c_void_p).value or 0  # type: ignore[arg-type]

    def _move(self, start: int, moves: list[Any]) -> None:
        base, data = self.memory.address, self.bytes
        for offset, info, addend in moves:
            symbol, kind = info >> 32, info & 0xFFFFFFFF
            at = start + offset
            if kind == _ADDRESS:
                struct.pack_into("<Q", data, at, (self._address(symbol) + addend) & (1 << 64) - 1)
            elif kind == _FAR:
                struct.pack_into("<q", data, at, self._address(symbol) + addend - base - at)
            else:
                if kind in _TABLE:
                    target = base + self.table[symbol]
                elif kind == _CALL and not self.symbols[symbol][3]:
                    target = base + self.stubs[self.name(symbol)]
                else:
                    target = self._address(symbol)
                struct.pack_into("<i", data, at, target + addend - base - at)  # struct.error if it is too far
