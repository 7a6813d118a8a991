"""python -m benchmarks.ablation [NAME ...]: measure mechanisms, and write docs/ablation.md."""

from __future__ import annotations

import argparse
import sys
import time

from benchmarks.ablation import page
from benchmarks.ablation.measure import Effort, measure
from benchmarks.ablation.mechanisms import BY_NAME, MECHANISMS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="mechanisms to measure (default: all)")
    parser.add_argument("--list", action="store_true", help="only list the mechanisms")
    parser.add_argument("--pairs", type=int, default=Effort.pairs, help="pairs of processes for each")
    parser.add_argument("--rounds", type=int, default=Effort.rounds, help="turns of each pair at a row")
    parser.add_argument("--seconds", type=float, default=Effort.seconds, help="time for a row of a pair")
    parser.add_argument("--busy", action="store_true", help="sample as a real-time process (needs root)")
    args = parser.parse_args()
    if unknown := [n for n in args.names if n not in BY_NAME]:
        parser.error(f"unknown: {', '.join(unknown)}; known are {', '.join(BY_NAME)}")
    if args.list:
        for m in MECHANISMS:
            print(f"{m.name:34}{page.lines_of(m.files):6} {m.promise}")
        return 0
    effort = Effort(args.pairs, args.rounds, args.seconds)
    results, start = [], time.perf_counter()
    for m in [BY_NAME[n] for n in args.names] or MECHANISMS:
        results.append(measure(m, effort, args.busy))
        print(page.line(results[-1]), flush=True)
        for row in results[-1].rows:
            if row.problem:
                print(f"    {row.label}: {row.problem}", file=sys.stderr)
    print(f"{time.perf_counter() - start:.0f} seconds", file=sys.stderr)
    page.write(results, effort, " ".join(["python -m benchmarks.ablation", *sys.argv[1:]]), args.busy)
    return int(any(row.problem for r in results for row in r.rows))


if __name__ == "__main__":
    sys.exit(main())
