"""python -m benchmarks.readme: writes the summary of results/results.json into README.md, between its two marks."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.report import geometric_mean

RESULTS = Path(__file__).parent / "results" / "results.json"
README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"
NAMES = {
    "numpy": "NumPy", "numba": "Numba", "jax": "JAX", "jax loops": "JAX's loops", "autograd": "autograd",
    "drjit": "Dr.Jit", "torch": "torch.compile", "torch eager": "PyTorch", "tracejit by numba": "our other target",
}  # fmt: skip
#: Below this a row is named as one where a peer is faster.
FAST_ENOUGH = 0.9
#: How many of those are named.
WORST = 12


def block(data: dict[str, Any]) -> str:
    """Markdown: what was measured where, a table of geometric means, the rows in which a peer is faster."""
    env, rows = data["environment"], [r for r in data["rows"] if r["ratio"] is not None]
    peers = [p for p in env["versions"] if p != "tracejit" and any(p in r["milliseconds"] for r in rows)]
    sizes = ", ".join(dict.fromkeys(r["size"] for r in rows))
    kinds = " and ".join(
        {"f8": "float64", "f4": "float32"}.get(k, k) for k in dict.fromkeys(r["dtype"] for r in rows)
    )
    versions = ", ".join(f"{NAMES[p]} {env['versions'][p]}" for p in peers)
    threads = "one thread" if env["threads"] == 1 else f"{env['threads']} threads"
    lines = [
        f"{env['date']}, {env['processor']}, {threads}, {kinds}, sizes: {sizes}; {versions}. "
        "A peer's time over ours, geometric means (above 1, we are faster)"
        + ("; JAX's loops are the programs as `fori_loop` with `.at`:" if "jax loops" in peers else ":"),
        "",
        "| | rows | best peer | " + " | ".join(NAMES[p] for p in peers) + " |",
        "|---|---:|---:|" + "---:|" * len(peers),
        _line("**all**", rows, peers),
    ]
    for family in dict.fromkeys(r["family"] for r in rows):
        lines.append(_line(family, [r for r in rows if r["family"] == family], peers))
    slower = sorted((r for r in rows if r["ratio"] < FAST_ENOUGH), key=lambda r: r["ratio"])
    if slower:
        several = len({(r["size"], r["dtype"]) for r in rows}) > 1
        worst = ", ".join(_name(r, several) for r in slower[:WORST])
        lines += ["", f"{len(slower)} rows are below {FAST_ENOUGH}, first of all {worst}."]
    return "\n".join(lines)


def _line(title: str, rows: list[dict[str, Any]], peers: list[str]) -> str:
    cells = [f"{geometric_mean([r['ratio'] for r in rows]):.2f}"]
    for peer in peers:
        times = [r["milliseconds"] for r in rows if peer in r["milliseconds"]]
        cells.append(f"{geometric_mean([t[peer] / t['tracejit'] for t in times]):.2f}" if times else "")
    return f"| {title} | {len(rows)} | " + " | ".join(cells) + " |"


def _name(row: dict[str, Any], several: bool) -> str:
    where = f", {row['size']} {row['dtype']}" if several else ""
    return f"{row['workload']} {row['ratio']:.2f} ({NAMES[row['best_peer']]}{where})"


def updated(readme: str, data: dict[str, Any]) -> str:
    """`readme` with the block between its marks; raises ValueError without them."""
    before, rest = readme.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{block(data)}\n{END}{after}"


def main() -> int:
    README.write_text(updated(README.read_text(), json.loads(RESULTS.read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
