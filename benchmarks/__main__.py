"""python -m benchmarks: measure, print the table, write JSON and a picture."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    args = _parser().parse_args()
    _limit_threads(args.threads)
    # only now, since thread pools are made on import
    from benchmarks import compiling, processes, report, timing, workloads
    from benchmarks import peers as all_peers

    wanted = args.peers.split(",") if args.peers else None
    peers = [
        p for p in all_peers.ALL if p.installed() and (wanted is None or p.name in (*wanted, "tracejit"))
    ]
    sizes = (
        set(args.sizes.split(","))
        if args.sizes
        else ({"middle"} if args.quick else {"small", "middle", "large"})
    )
    dtypes = set(args.dtypes.split(",")) if args.dtypes else ({"f8"} if args.quick else {"f8", "f4"})
    every = [c for w in workloads.load() for c in w.cases(sizes, dtypes)]
    every += compiling.cases(sizes, dtypes)
    every += [c for c in processes.CASES if c.size in sizes and c.dtype in dtypes]
    cases = [c for c in every if re.search(args.only, c.label)]
    rows = []
    start = time.perf_counter()
    for n, case in enumerate(cases):
        if isinstance(case, processes.ProcessCase):
            row = case.measure(peers, 3 if args.quick else 11, 12.0 if args.quick else 60.0)
        elif isinstance(case, compiling.CompileCase):
            row = case.measure(peers, 2 if args.quick else 9, 1.0 if args.quick else 10.0)
        else:
            row = timing.measure(case, peers, 7 if args.quick else 21, 0.5 if args.quick else 3.0)
        rows.append(row)
        ratio = "" if row.ratio is None else f"{row.ratio:6.2f}x {row.best_peer}"
        times = "  ".join(f"{k} {v:.4g}" for k, v in row.ms.items())
        problems = "  ".join(
            f"[{k}: {v}]" for k, v in row.missing.items() if "differs" in v or "Error" in v or k == "tracejit"
        )
        print(
            f"{n + 1:3}/{len(cases)} {case.label:40} {case.size:6} {case.dtype}  {ratio:18} ms: {times} {problems}",
            file=sys.stderr,
        )
    env = report.environment(peers, args.threads)
    print(report.markdown(rows, [p.name for p in peers], env))
    print(f"\n{time.perf_counter() - start:.0f} seconds", file=sys.stderr)
    if args.output:
        Path(args.output).mkdir(parents=True, exist_ok=True)
        report.write_json(Path(args.output) / "results.json", rows, env)
        report.write_picture(Path(args.output) / "results.svg", rows, env)
        (Path(args.output) / "results.md").write_text(
            report.markdown(rows, [p.name for p in peers], env) + "\n"
        )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="middle sizes, float64, few rounds: two minutes")
    parser.add_argument("--only", default="", help="regular expression on workload names")
    parser.add_argument("--sizes", help="small,middle,large")
    parser.add_argument("--dtypes", help="f8,f4")
    parser.add_argument(
        "--peers", help="numpy,numba,jax,torch,torch eager,autograd,drjit (default: all installed)"
    )
    parser.add_argument("--threads", type=int, default=1, help="processors that all libraries may use")
    parser.add_argument(
        "--output", default=str(HERE / "results"), help="folder for results.json, .svg and .md"
    )
    return parser


def _limit_threads(count: int) -> None:
    """The same processors for everyone: by affinity, which all libraries respect, and by their variables. No
    disk caches."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])
    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "TRACEJIT"):
        os.environ[f"{name}_NUM_THREADS"] = str(count)
    os.environ["TRACEJIT_CACHE"] = "off"  # as JAX's and Numba's are; `processes` turns all of them on


if __name__ == "__main__":
    sys.exit(main())
