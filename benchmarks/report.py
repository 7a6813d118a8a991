"""The table, the JSON file and the picture."""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from benchmarks import bandwidth, memory
from benchmarks.peers import Peer
from benchmarks.run import Results
from benchmarks.timing import Row
from tracejit.lowering.runtime import blas


def geometric_mean(xs: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, xs)) / len(xs)) if xs else math.nan


def environment(peers: list[Peer], threads: int) -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "processor": f"{processor()} ({llvm.get_host_cpu_name()}, BLAS kernels {blas.kernels() or 'unknown'})",
        "python": platform.python_version(),
        "threads": threads,
        "versions": {p.name: p.version() for p in peers},
    }


def processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def markdown(results: Results, names: list[str], env: dict[str, Any]) -> str:
    """The tables, each if it has rows, with what they were measured on and summed up."""
    tables = [times(results.rows, names)] if results.rows else []
    if results.bandwidth:
        tables.append(bandwidth.markdown(results.bandwidth))
    if results.memory:
        tables.append(memory.markdown(results.memory))
    versions = ", ".join(f"{n} {v}" for n, v in env["versions"].items())
    note = (
        f"{env['date']}, {env['processor']}, {env['threads']} thread(s), Python {env['python']}; {versions}. "
        "Milliseconds a call, medians of interleaved samples; the last column is tracejit's own gradient "
        "beside its forward pass."
    )
    return "\n\n".join([*tables, note, *([summary(results.rows)] if results.rows else [])])


def times(rows: list[Row], names: list[str]) -> str:
    """The ratio table: times in milliseconds, and how many times faster than the best peer we are."""
    head = ["workload", "size", "dtype", *names, "best peer / tracejit", "gradient / forward"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * 3 + "---:|" * (len(names) + 2)]
    for r in rows:
        times = [_time(r.ms.get(n)) for n in names]
        ratio = "" if r.ratio is None else f"{r.ratio:.2f} ({r.best_peer})"
        dtype = {"f8": "float64", "f4": "float32"}.get(r.case.dtype, r.case.dtype)
        own = own_forward(r, rows)
        slope = "" if own is None else f"{own:.1f}"
        lines.append("| " + " | ".join([r.case.label, r.case.size, dtype, *times, ratio, slope]) + " |")
    return "\n".join(lines)


def own_forward(row: Row, rows: list[Row]) -> float | None:
    """Our time for the gradient of a workload over that for the workload itself, if both were measured."""
    case = row.case
    if case.mode not in ("grad", "value_and_grad") or "tracejit" not in row.ms:
        return None
    for r in rows:
        same = (r.case.name, r.case.size, r.case.dtype) == (case.name, case.size, case.dtype)
        if same and r.case.mode == "forward" and "tracejit" in r.ms:
            return row.ms["tracejit"] / r.ms["tracejit"]
    return None


def _time(ms: float | None) -> str:
    if ms is None:
        return ""
    return f"{ms * 1e3:.2f} us" if ms < 0.01 else f"{ms:.3g}"


def summary(rows: list[Row]) -> str:
    """Geometric means over all rows, over families, and against each peer."""
    ratios = [r.ratio for r in rows if r.ratio is not None]
    out = [f"Best peer / tracejit: geometric mean {geometric_mean(ratios):.2f} over {len(ratios)} rows,"
           f" smallest {min(ratios, default=math.nan):.2f}."]  # fmt: skip
    for family in dict.fromkeys(r.case.family for r in rows):
        some = [r.ratio for r in rows if r.case.family == family and r.ratio is not None]
        if some:
            out.append(f"- {family}: {geometric_mean(some):.2f} ({len(some)} rows, smallest {min(some):.2f})")
    slopes = [x for r in rows if (x := own_forward(r, rows)) is not None]
    if slopes:
        out.append(
            f"- gradient / forward: {geometric_mean(slopes):.2f} ({len(slopes)} rows, largest {max(slopes):.2f})"
        )
    for peer in dict.fromkeys(n for r in rows for n in r.ms if n != "tracejit"):
        both = [r.ms[peer] / r.ms["tracejit"] for r in rows if peer in r.ms and "tracejit" in r.ms]
        if both:
            out.append(
                f"- against {peer}: {geometric_mean(both):.2f} ({len(both)} rows, smallest {min(both):.2f})"
            )
    return "\n".join(out)


def write_json(path: Path, results: Results, env: dict[str, Any]) -> None:
    """Every figure, with the reasons of those that are missing."""
    data = {
        "environment": env,
        "rows": [
            {
                "workload": r.case.label,
                "family": r.case.family,
                "size": r.case.size,
                "dtype": r.case.dtype,
                "milliseconds": r.ms,
                "first_call_seconds": r.first_call,
                "missing": r.missing,
                "ratio": r.ratio,
                "best_peer": r.best_peer,
                "gradient_over_forward": own_forward(r, results.rows),
            }
            for r in results.rows
        ],
        "bandwidth": [dataclasses.asdict(r) for r in results.bandwidth],
        "memory": [
            {"workload": r.case.label, "bytes": r.peaks, "memory_analysis": r.said, "missing": r.missing}
            for r in results.memory
        ],
    }
    path.write_text(json.dumps(data, indent=1) + "\n")


def write_picture(path: Path, rows: list[Row], env: dict[str, Any]) -> None:
    """An SVG: one bar a row, the best peer's time over ours on a logarithmic axis."""
    shown = [r for r in rows if r.ratio is not None]
    line, left, width = 16, 330, 420
    height = line * (len(shown) + 3)
    span = 1.5  # decades to each side
    unit = width / (2 * span)
    middle = left + width / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 90}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        f'<text x="{left}" y="12">best peer\'s time / tracejit\'s ({env["date"]}, {env["processor"]})</text>',
    ]
    for k in (-1, 0, 1):
        x = middle + k * unit
        parts.append(
            f'<line x1="{x}" y1="18" x2="{x}" y2="{height - line}" stroke="#999" stroke-width="0.5"/>'
        )
        parts.append(f'<text x="{x}" y="{height - 4}" text-anchor="middle">{10.0**k:g}</text>')
    for n, r in enumerate(shown):
        y = 22 + n * line
        ratio = r.ratio or 1.0
        length = max(-span, min(span, math.log10(ratio))) * unit
        colour = "#2a7f4f" if ratio >= 1 else "#b5482a"
        parts.append(
            f'<text x="{left - 6}" y="{y + 11}" text-anchor="end">{r.case.label} {r.case.size} {r.case.dtype}</text>'
        )
        parts.append(
            f'<rect x="{min(middle, middle + length):.1f}" y="{y + 2}" width="{abs(length):.1f}" '
            f'height="11" fill="{colour}"/>'
        )
        parts.append(f'<text x="{left + width + 6}" y="{y + 11}">{ratio:.2f} {r.best_peer}</text>')
    path.write_text("\n".join([*parts, "</svg>"]) + "\n")
