"""`python -m tests.storms FIRST COUNT`: how the programs of these seeds run, and what is wrong with which."""

from __future__ import annotations

import collections
import os
import re
import sys
import time

os.environ.setdefault("TRACEJIT_CACHE", "off")

from tests.storms.checking import check
from tests.storms.worlds import source

counts: collections.Counter[str] = collections.Counter()
reasons: collections.Counter[str] = collections.Counter()
first, count = int(sys.argv[1]), int(sys.argv[2])
start = time.process_time()
for seed in range(first, first + count):
    outcome = check(source(seed))
    counts[outcome.kind] += 1
    if outcome.kind == "fallback":
        reason = outcome.why.partition("compiled: ")[2].partition("\n")[0]
        reasons[re.sub(r"`[^`]*`", "`…`", reason)[:110]] += 1
        if "--lines" in sys.argv:
            at = re.search(r">:(\d+)", outcome.why)
            line = source(seed).splitlines()[int(at[1]) - 1].strip() if at else ""
            print(f"fallback {seed}: {reason[:90]} | {line}")
    elif outcome.fails:
        print(f"{outcome.kind} {seed}: {outcome.why[:700]}\n", flush=True)
for reason, n in reasons.most_common(25):
    print(f"{n:5} {reason}")
print(dict(counts), f"{time.process_time() - start:.0f} s of processor time")
