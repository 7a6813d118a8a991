"""What the processor can do, as it says itself (`cpuid`): what LLVM takes its names of processors and features from.

Asking LLVM loads its library, which takes longer than to load a program whose machine code is there."""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Iterable

from tracejit.lowering._lazy import llvm
from tracejit.lowering.linking import elf

#: void (leaf, subleaf, out[4]), and the same for the register that says which registers the system keeps.
_CPUID = bytes.fromhex("53 4989d0 89f8 89f1 0fa2 418900 41895804 41894808 4189500c 5b c3")
_XGETBV = bytes.fromhex("4989d0 31c9 0f01d0 418900 41895004 c3")
#: (leaf, subleaf, which of the four registers) in which features are.
_FEATURES = (
    *((1, 0, n) for n in (2, 3)),
    *((7, 0, n) for n in (1, 2, 3)),
    *((7, 1, n) for n in (0, 1, 2, 3)),
    *((0x80000001, 0, n) for n in (2, 3)),
    *((0xD, 1, 0), (0x14, 0, 1), (0x19, 0, 1), (0x1E, 1, 0), (0x24, 0, 1), (0x80000008, 0, 1)),
)
_AVX, _AVX512 = 0x6, 0xE6  # what the system keeps
_AVX512VL = 31  # the bit of AVX-512 for vectors of all widths


@functools.cache
def words() -> tuple[int, ...] | None:
    """The features as numbers, each bit of which is something that the processor can do and the system lets it; None
    where the processor is not asked here."""
    found = _asked()
    return None if found is None else found[1]


@functools.cache
def kind() -> str:
    """Which processor it is; empty where it is not asked here."""
    found = _asked()
    return "" if found is None else " ".join(map(str, (*found[0], *found[1])))


def covers(here: Iterable[int], wanted: Iterable[int]) -> bool:
    """Whether all features in `wanted` are in `here`."""
    return all(w & ~h == 0 for h, w in zip(here, wanted, strict=True))


@functools.cache
def vector_bits() -> int:
    """The width of this host's widest vector registers."""
    found = words()
    if found is None:
        features = llvm.get_host_cpu_features()
        return 512 if features.get("avx512vl") else 256 if features.get("avx2") else 128
    wide, kept = found[_FEATURES.index((7, 0, 1))], found[-1]
    if wide >> _AVX512VL & 1 and kept & _AVX512 == _AVX512:
        return 512
    return 256 if wide >> 5 & 1 and kept & _AVX == _AVX else 128


@functools.cache
def _asked() -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The numbers of maker and model, and those of the features."""
    memory = elf.code_of(_CPUID.ljust(64, b"\xcc") + _XGETBV) if elf.is_here() else None
    if memory is None:
        return None
    out = (ctypes.c_uint32 * 4)()
    ask = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(memory.address)
    kept = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(memory.address + 64)

    def leaf(number: int, inner: int = 0) -> tuple[int, ...]:
        ask(number, inner, ctypes.addressof(out))
        return tuple(out)

    first, extended = leaf(0), leaf(0x80000000)
    model = leaf(1)
    found = []
    for number, inner, register in _FEATURES:
        last = extended[0] if number >> 31 else first[0]
        inners = leaf(7)[0] if number == 7 else inner
        found.append(leaf(number, inner)[register] if number <= last and inner <= inners else 0)
    if model[2] >> 27 & 1:
        kept(0, 0, ctypes.addressof(out))
        found.append(struct.unpack("<Q", bytes(out)[:8])[0])
    else:
        found.append(0)
    return (*first[1:], model[0]), tuple(found)
