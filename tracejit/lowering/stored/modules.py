"""Modules of machine code in a file: their LLVM text and object, and which others each is linked with.

An object runs wherever the system is the same and the processor has all features for which it was made. Elsewhere the
text is compiled. The vector functions that programs share are in the file as well, so that results do not
change with the version of tracejit that loads it.
"""

from __future__ import annotations

import platform
import sys
import zlib
from typing import Any

from tracejit.errors import InternalTypeError
from tracejit.errors.refusals import attempt
from tracejit.lowering._lazy import llvm
from tracejit.lowering.linking import processor
from tracejit.lowering.runtime import cache, pool, results, shell, threads
from tracejit.lowering.runtime import compile as machine
from tracejit.lowering.runtime.compile import Code
from tracejit.lowering.stored.container import Malformed

#: Bytes of the text of a module that is read.
_LARGEST = 1 << 30


class Blocks:
    """Blocks of bytes that are written: each content once."""

    def __init__(self) -> None:
        self.all: list[bytes] = []
        self._numbers: dict[bytes, int] = {}

    def add(self, data: bytes) -> int:
        number = self._numbers.setdefault(data, len(self.all))
        if number == len(self.all):
            self.all.append(data)
        return number


class Modules:
    """Modules that are written: `add` gives the number of one."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.described: list[dict[str, Any]] = []
        self._numbers: dict[int, int] = {}
        self._codes: list[Code] = []  # alive, so that each has an id of its own

    def add(self, code: Code) -> int:
        if id(code) not in self._numbers:
            needs = [[self.add(other), sorted(names)] for other, names in code.linked.items()]
            self.described.append({
                "text": self.blocks.add(zlib.compress(code.text.encode(), 6)),
                "object": self.blocks.add(code.object_bytes),
                "needs": needs,
            })  # fmt: skip
            self._numbers[id(code)] = len(self.described) - 1
            self._codes.append(code)
        return self._numbers[id(code)]


def host() -> dict[str, Any]:
    """What decides whether machine code of this process runs somewhere."""
    features = sorted(name for name, there in llvm.get_host_cpu_features().items() if there)
    return {
        "platform": sys.platform,
        "machine": platform.machine(),
        "cpu": llvm.get_host_cpu_name(),
        "features": features,
        "words": processor.words(),
    }


def fits(made_for: dict[str, Any]) -> bool:
    """Whether machine code that was made for another host runs on this one."""
    if (made_for["platform"], made_for["machine"]) != (sys.platform, platform.machine()):
        return False
    here, wanted = processor.words(), made_for.get("words")
    if here is not None and wanted is not None:
        return len(here) == len(wanted) and processor.covers(here, wanted)
    return set(made_for["features"]) <= set(host()["features"])


def read(
    described: list[dict[str, Any]], blocks: list[bytes], wanted: int, made: dict[int, Code], fit: bool
) -> Code:
    """Module `wanted` of a file, and those that it needs, loaded (`made` has those that are already). Raises
    Malformed."""
    if wanted not in made:
        module = described[wanted]
        linked = {}
        for n, names in module["needs"]:
            if not 0 <= n < wanted:
                raise Malformed("its modules need each other in a circle")
            other = read(described, blocks, n, made, fit)
            if not all(name in other.symbols for name in names):
                raise Malformed("a module has no function that another one needs")
            linked[other] = list(names)
        made[wanted] = _loaded(
            _text(blocks[module["text"]]), blocks[module["object"]] if fit else None, linked
        )
    return made[wanted]


def _text(block: bytes) -> str:
    unpacked = zlib.decompressobj()
    text = unpacked.decompress(block, _LARGEST)
    if not unpacked.eof:
        raise Malformed("the text of a module is not whole")
    return text.decode()


def _loaded(text: str, made: bytes | None, linked: dict[Code, list[str]]) -> Code:
    try:
        with attempt(InternalTypeError):
            return machine.restored(text, made, linked)
    except (RuntimeError, InternalTypeError) as e:
        raise Malformed(f"its machine code can't be loaded ({e})") from None


# ---------------------------------------------------------------- what every call of a program goes through


def helpers(blocks: Blocks) -> dict[str, Any]:
    """The objects of the runtime's own modules, for processes in which no disk cache has them: who made them, and
    [digest of the key, block] of each."""
    codes = [shell.code(), shell.signal_code(), results.code(), threads.code(), pool.code()]
    maker = machine.made_by()
    return {
        "maker": maker,
        "objects": [[cache.key_of(maker, c.text).digest.hex(), blocks.add(c.object_bytes)] for c in codes],
    }


def offer(described: dict[str, Any], blocks: list[bytes]) -> None:
    """Let the runtime take its own modules from a file, if it is one of this version and processor."""
    machine.offer(described["maker"], {bytes.fromhex(key): blocks[n] for key, n in described["objects"]})
