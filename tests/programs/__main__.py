"""`python -m tests.programs [part of a name …]`: how each program of the corpus runs, and how many of each kind."""

from __future__ import annotations

import collections
import sys

from tests.programs import test_corpus  # noqa: F401 - enters the programs
from tests.programs.observe import PROGRAMS, verdict

counts: collections.Counter[str] = collections.Counter()
for name, maker in PROGRAMS.items():
    if len(sys.argv) == 1 or any(part in name for part in sys.argv[1:]):
        kind, why = verdict(maker)
        counts[kind] += 1
        print(f"{kind:10} {name}: {why if kind == 'different' else why.partition(chr(10))[0]}", flush=True)
print(dict(counts))
