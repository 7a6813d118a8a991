"""`python -m tests.programs [--WAY] [part of a name …]`: how each program of the corpus runs, and how many of each kind.
Ways besides `jit` are `--parts` (all parts of programs that fall back are compiled, however small they are), and those of
`WAYS`: derivatives of a number that has nothing to do with the program, and by what the program is given."""

from __future__ import annotations

import collections
import contextlib
import functools
import signal
import sys
import time
from typing import Any

from tests.programs import test_corpus  # noqa: F401 - enters the programs
from tests.programs.derivatives import derived, eagerly, jitted, undone
from tests.programs.observe import PROGRAMS, all_parts, verdict

WAYS = {
    "--eager": eagerly,
    "--jit-grad": jitted,
    "--refused": undone,
    "--slopes": functools.partial(derived, compiled=False),
    "--jit-slopes": functools.partial(derived, compiled=True),
}

LIMIT = 120  # seconds for a program


def _late(*_: Any) -> None:
    raise TimeoutError(f"it took longer than {LIMIT} s")


signal.signal(signal.SIGALRM, _late)
counts: collections.Counter[str] = collections.Counter()
wanted = [a for a in sys.argv[1:] if a[:2] != "--"]
judged = next((way for name, way in WAYS.items() if name in sys.argv), verdict)
parts = all_parts if "--parts" in sys.argv else contextlib.nullcontext
for name, maker in PROGRAMS.items():
    if not wanted or any(part in name for part in wanted):
        start = time.process_time()
        signal.alarm(LIMIT)
        try:
            with parts():
                kind, why = judged(maker)
        except Exception as e:
            kind, why = "crashes", f"{type(e).__name__}: {e}"
        signal.alarm(0)
        counts[kind] += 1
        spent = time.process_time() - start
        print(
            f"{kind:10} {spent:4.1f} s {name}: {why if kind == 'different' else why.partition(chr(10))[0]}",
            flush=True,
        )
print(dict(counts))
