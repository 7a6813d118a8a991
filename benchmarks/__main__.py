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
    _unset_processors()
    # only now, since thread pools are made on import
    from benchmarks import peers as all_peers
    from benchmarks import report, run

    names = [p.name for p in all_peers.ALL if p.quick or not args.quick]
    wanted = [*args.peers.split(","), "tracejit"] if args.peers else names
    peers = [p for p in all_peers.ALL if p.installed() and p.name in wanted]
    sizes = set(args.sizes.split(",")) if args.sizes else None
    dtypes: set[str] = set((args.dtypes or ("f8" if args.quick else "f8,f4")).split(","))
    start = time.perf_counter()
    results = run.Run(peers, args.quick, sizes).measure(dtypes, re.compile(args.only))
    env = report.environment(peers, args.threads)
    text = report.markdown(results, [p.name for p in peers], env)
    print(f"{text}\n\n{time.perf_counter() - start:.0f} seconds")
    if args.output:
        folder = Path(args.output)
        folder.mkdir(parents=True, exist_ok=True)
        report.write_json(folder / "results.json", results, env)
        report.write_picture(folder / "results.svg", results.rows, env)
        (folder / "results.md").write_text(f"{text}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="every third row of middle size, float64, few rounds: two minutes",
    )
    parser.add_argument("--only", default="", help="regular expression on workload names")
    parser.add_argument("--sizes", help="small,middle,large (default: all, PyTorch at middle)")
    parser.add_argument("--dtypes", help="f8,f4")
    parser.add_argument(
        "--peers",
        help="numpy,numba,jax,torch,torch eager,autograd,drjit (default: all installed; quick: without torch)",
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


#: By these, libraries take kernels for another processor than the one they run on.
_PROCESSORS = (
    "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "MKL_ENABLE_INSTRUCTIONS", "MKL_DEBUG_CPU_TYPE", "MKL_CBWR",
    "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "NPY_DISABLE_CPU_FEATURES",
    "NPY_ENABLE_CPU_FEATURES", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES",
)  # fmt: skip


def _unset_processors() -> None:
    """Every library chooses for itself what suits this processor."""
    for name in _PROCESSORS:
        os.environ.pop(name, None)


if __name__ == "__main__":
    sys.exit(main())
