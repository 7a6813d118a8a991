"""`python -m tests.programs [part of a name …]`: how each program of the corpus runs, and how many of each kind."""

from __future__ import annotations

import collections
import sys
import time

from tests.programs import test_corpus  # noqa: F401 - enters the programs
from tests.programs.observe import PROGRAMS, verdict

counts: collections.Counter[str] = collections.Counter()
for name, maker in PROGRAMS.items():
    if len(sys.argv) == 1 or any(part in name for part in sys.argv[1:]):
        start = time.process_time()
        try:
            kind, why = verdict(maker)
        except Exception as e:
            kind, why = "crashes", f"{type(e).__name__}: {e}"
        counts[kind] += 1
        spent = time.process_time() - start
        print(
            f"{kind:10} {spent:4.1f} s {name}: {why if kind == 'different' else why.partition(chr(10))[0]}",
            flush=True,
        )
print(dict(counts))
