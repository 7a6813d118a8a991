"""Names for what a printed file has: short, of Python's rules, each once."""

from __future__ import annotations

import builtins
import keyword
import re

_RESERVED = frozenset({*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "np", "numba", "ir", "types", "intrinsic",
                       "native", "status", "given", "ctypes", "FAILURES", "failure", "one_of", "unfit"})  # fmt: skip
_OTHER = re.compile(r"\W+")
_LOOPS = "ijklmnpqrst"


class Names:
    """Gives names that are not `taken`."""

    def __init__(self, taken: frozenset[str] = frozenset()) -> None:
        self.taken = set(taken | _RESERVED)
        self.next: dict[str, int] = {}

    def fresh(self, wanted: str, number: bool = False) -> str:
        """`wanted` as a name, with a `number` where it is taken or should have one."""
        stem = _OTHER.sub("_", wanted).strip("_") or "x"
        stem = f"x_{stem}" if stem[0].isdigit() else stem
        name, n = stem, self.next.get(stem, 0)
        while number or name in self.taken:
            name, number = f"{stem}{'_' if stem[-1].isdigit() else ''}{n}", False
            n += 1
        self.next[stem] = n
        self.taken.add(name)
        return name

    def loop(self, depth: int) -> str:
        """The name of a loop variable, `depth` loops deep: siblings share it."""
        name = _LOOPS[depth] if depth < len(_LOOPS) else f"loop{depth}"
        self.taken.add(name)
        return name
