"""`python -m tests.programs [--parts | --eager] [part of a name …]`: how each program of the corpus runs, and how many of
each kind. `--parts`: all parts of programs that fall back are compiled, however small they are. `--eager`: not by
`jit`, but in a function of another number that `value_and_grad` runs; results are told apart by their containers, too,
which such a transformation makes anew."""

from __future__ import annotations

import collections
import contextlib
import sys
import time

from tests.programs import test_corpus  # noqa: F401 - enters the programs
from tests.programs.observe import PROGRAMS, all_parts, eagerly, verdict

counts: collections.Counter[str] = collections.Counter()
wanted = [a for a in sys.argv[1:] if a not in ("--parts", "--eager")]
judged = eagerly if "--eager" in sys.argv else verdict
parts = all_parts if "--parts" in sys.argv else contextlib.nullcontext
for name, maker in PROGRAMS.items():
    if not wanted or any(part in name for part in wanted):
        start = time.process_time()
        try:
            with parts():
                kind, why = judged(maker)
        except Exception as e:
            kind, why = "crashes", f"{type(e).__name__}: {e}"
        counts[kind] += 1
        spent = time.process_time() - start
        print(
            f"{kind:10} {spent:4.1f} s {name}: {why if kind == 'different' else why.partition(chr(10))[0]}",
            flush=True,
        )
print(dict(counts))
