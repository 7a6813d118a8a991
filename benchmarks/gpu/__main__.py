"""python -m benchmarks.gpu [--output FOLDER] [--only NAME]: measure on the card, or try it on the emulated device."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tj
from benchmarks.gpu import peers
from benchmarks.gpu.workloads import WORKLOADS, Workload

NO_CARD = (
    "There is no card: {why}\nThe emulated device runs the benchmark for small sizes. That shows that it runs to its "
    "end; the times are those of this machine's processors and say nothing about a card.\n"
)
HOW = "milliseconds of a call until its results are there, the median of several / of calls in a row"


def card() -> tuple[str, str]:
    """The name of the first card, and why there is none."""
    with tj.config.override(cuda="auto"):  # the emulated device is no card
        try:
            device = tj.device_put(np.zeros(1), "cuda").device
        except tj.errors.NoDeviceError as e:
            return "", str(e).splitlines()[0]
    runtime = __import__("cupy").cuda.runtime
    return runtime.getDeviceProperties(device.id)["name"].decode(), ""


_MADE: dict[Any, Any] = {}
_IN_A_ROW, _QUEUED = 0.03, 8e9  # seconds, and bytes of results, of calls that do not wait for one another


def made(w: Workload, n: int, on_card: bool) -> Any:
    """The arrays of a workload, on the card if there is one; those of the last workload are kept."""
    if (w.make, n) not in _MADE:
        _MADE.clear()
        arrays = w.make(np.random.default_rng(0), n)
        _MADE[w.make, n] = [tj.device_put(x, "cuda") for x in arrays] if on_card else arrays
    return _MADE[w.make, n]


def measure(w: Workload, on_card: bool, repeats: int, among: Any) -> dict[str, Any]:
    """A row: the workload's size, bytes and launches, and the seconds of each library, or why there are none: of a call
    until its results are there (`seconds`), of calls in a row, and between events."""
    n = w.large if on_card else w.small
    arrays = made(w, n, on_card)
    row: dict[str, Any] = {
        "workload": w.name,
        "elements": n,
        "bytes": w.moved(n),
        "seconds": {},
        "in a row": {},
        "events": {},
        "missing": {},
    }
    want: Any = None
    for name, peer in among.items():
        try:
            call = peer(w, arrays)
            if call is None:
                row["missing"][name] = "it has no such transformation"
                continue
            if name == "tracejit":
                row["launches"] = launches(call)
            if not on_card:
                row["seconds"][name] = peers.by_process(call, repeats)
                continue
            wait = peers.waiting(name)
            wait(out := call())
            found = peers.sample(out)
            del out
            if problem := peers.differ(found, want := want or found):
                row["missing"][name] = f"its result is another one: {problem}"
                continue
            peers.warm(call, wait)
            took = row["seconds"][name] = peers.by_clock(call, wait, repeats)
            count = int(max(1, min(100, _IN_A_ROW / took, _QUEUED / w.moved(n))))
            row["in a row"][name] = peers.in_a_row(call, wait, count)
            if name in peers.ON_STREAM:
                row["events"][name] = peers.by_events(call, repeats)
        except Exception as e:  # a library that fails is a hole in the table, not its end
            if name == "tracejit" and not on_card:
                raise
            row["missing"][name] = f"{type(e).__name__}: {e}".splitlines()[0]
    return row


def launches(call: peers.Call) -> int:
    """The kernels that a call of ours launches."""
    call()
    device = tj.devices()[0]
    before = device.launches
    call()
    return device.launches - before


def table(rows: list[dict[str, Any]], names: list[str], on_card: bool) -> str:
    """The rows in Markdown: of each library the time of a call, and on a card behind a stroke that of calls in a row.
    There also the share of the copy's bandwidth, and the best other library's time divided by ours, of calls in a
    row."""
    head = ["workload", "elements", "MB moved", "launches", *[f"{n} (ms)" for n in names]]
    copies = [r["in a row"]["tracejit"] for r in rows if r["workload"] == "copy" and r.get("in a row")]
    copy = next((r["bytes"] for r in rows if r["workload"] == "copy"), 0) / copies[0] if copies else None
    head += ["of copy's bandwidth", "best other / ours"] if on_card else []
    lines = [" | ".join(head), " | ".join(["---"] + ["---:"] * (len(head) - 1))]
    for r in rows:
        got, row = r["seconds"], r.get("in a row", {})
        cells = [r["workload"], f"{r['elements']:,}", f"{r['bytes'] / 1e6:.3g}", str(r.get("launches", "—"))]
        for n in names:
            again = f" / {row[n] * 1e3:.3g}" if n in row else ""
            cells.append(f"{got[n] * 1e3:.3g}{again}" if n in got else "—")
        if on_card:
            ours, others = row.get("tracejit"), [t for n, t in row.items() if n != "tracejit"]
            cells.append(f"{r['bytes'] / ours / copy:.0%}" if ours and copy else "—")
            cells.append(f"{min(others) / ours:.2f}" if ours and others else "—")
        lines.append(" | ".join(cells))
    return "\n".join(f"| {line} |" for line in lines)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print the table, write JSON and the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--output", default="build/gpu", help="folder of gpu.json and gpu.md")
    parser.add_argument("--only", default="", help="workloads whose name has this in it")
    parser.add_argument(
        "--peers",
        default="cupy,jax,torch",
        help="the libraries besides this one, by commas: cupy, jax, torch",
    )
    parser.add_argument("--repeats", type=int, default=0, help="calls of which the median counts")
    args = parser.parse_args(arguments)
    name, why = card()
    print(f"{name}: {HOW}\n" if name else NO_CARD.format(why=why))
    with tj.config.override(cuda="auto" if name else "emulate"):
        rows = []
        among = peers.installed(args.peers) if name else {"tracejit": peers.tracejit}
        for w in WORKLOADS:
            if args.only in w.name:
                rows.append(measure(w, bool(name), args.repeats or (20 if name else 1), among))
                print(f"  {w.name}: {rows[-1]['seconds']} {rows[-1]['missing']}", file=sys.stderr, flush=True)
    names = list(among)
    text = table(rows, names, bool(name))
    print(text)
    folder = Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    facts = {"card": name or None, "date": datetime.date.today().isoformat(), "version": tj.__version__}
    (folder / "gpu.json").write_text(json.dumps(facts | {"no card": why, "rows": rows}, indent=1) + "\n")
    said = f"{name}: {HOW}" if name else NO_CARD.format(why=why)
    (folder / "gpu.md").write_text(f"# Speed on a card\n\n{said}\n\n{text}\n")
    print(f"\nwritten to {folder}/gpu.json and gpu.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
