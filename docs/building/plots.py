"""Pictures of the committed results of the benchmarks, as SVG that is the same at every run."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib as mpl

mpl.use("agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.readme import NAMES, RESULTS
from benchmarks.report import geometric_mean

OURS, THEIRS, INK, FAINT = "#1f6f9f", "#c9d3da", "#333a40", "#e4e8eb"
_STYLE: dict[str, Any] = {
    "svg.hashsalt": "tracejit", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10,
    "axes.edgecolor": "#9aa4ab", "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
}  # fmt: skip
Rows = list[dict[str, Any]]


def results() -> dict[str, Any]:
    """The committed file."""
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def svg(draw: Callable[[dict[str, Any]], Figure], data: dict[str, Any]) -> bytes:
    """A picture as a file, without a date."""
    with plt.rc_context(_STYLE):
        figure = draw(data)
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None}, bbox_inches="tight", facecolor="white")
        plt.close(figure)
    lines = (line.rstrip() for line in out.getvalue().decode().splitlines())
    return ("\n".join(lines) + "\n").encode()


def summary(data: dict[str, Any]) -> Figure:
    """How many times longer each library takes, in the geometric mean of the rows that it has."""
    rows = _rated(data["rows"])
    peers = [p for p in NAMES if any(p in r["milliseconds"] for r in rows)]
    means = sorted(((_mean(rows, p), p) for p in peers), reverse=True)
    figure, axes = plt.subplots(figsize=(7.2, 3.0))
    labels = [f"{NAMES[p]} ({sum(p in r['milliseconds'] for r in rows)} rows)" for _, p in means]
    axes.barh(
        [*labels, "tracejit"], [*(m for m, _ in means), 1], color=[*[THEIRS] * len(means), OURS], height=0.72
    )
    for k, value in enumerate([*(m for m, _ in means), 1]):
        axes.text(value * 1.04, k, f"{value:.1f}" if value != 1 else "1", va="center")
    _logarithmic(axes, 0.7, 60, (1, 2, 5, 10, 20, 50))
    axes.set_title(
        f"Time of a call over tracejit's, geometric means of {len(rows)} rows, one thread",
        fontsize=10,
        loc="left",
    )
    axes.tick_params(axis="y", length=0)
    return figure


def families(data: dict[str, Any]) -> Figure:
    """The best peer in each family: a dot a row, a line at the geometric mean."""
    rows = _rated(data["rows"])
    names = list(dict.fromkeys(r["family"] for r in rows))[::-1]
    figure, axes = plt.subplots(figsize=(7.2, 0.36 * len(names) + 1))
    for k, name in enumerate(names):
        ratios = [r["ratio"] for r in rows if r["family"] == name]
        axes.scatter(
            ratios, [k + _jitter(n) for n in range(len(ratios))], s=9, color=OURS, alpha=0.45, linewidths=0
        )
        axes.plot([geometric_mean(ratios)] * 2, [k - 0.32, k + 0.32], color=INK, linewidth=2)
    axes.axvline(1, color="#b05a3c", linewidth=1)
    axes.set_yticks(range(len(names)), names)
    _logarithmic(axes, 0.2, 60, (0.25, 0.5, 1, 2, 5, 10, 20, 50))
    axes.set_xlabel(
        "time of the fastest other library over tracejit's (right of the red line tracejit is faster)"
    )
    axes.tick_params(axis="y", length=0)
    return figure


def compiling(data: dict[str, Any]) -> Figure:
    """The seconds of the first call, which traces and compiles: ours beside JAX's and torch.compile's."""
    figure, axes = plt.subplots(figsize=(5.2, 4.4))
    for peer, colour in (("torch", "#c58b3a"), ("numba", "#7a8b5a"), ("jax", OURS)):
        pairs = [
            (r["first_call_seconds"]["tracejit"], r["first_call_seconds"][peer])
            for r in data["rows"]
            if peer in r.get("first_call_seconds", {}) and "tracejit" in r["first_call_seconds"]
        ]
        if pairs:
            axes.scatter(
                *zip(*pairs, strict=True), s=12, color=colour, alpha=0.6, linewidths=0, label=NAMES[peer]
            )
    ends = (3e-3, 40)
    axes.plot(ends, ends, color=INK, linewidth=1)
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="first call, tracejit [s]",
        ylabel="first call, the other library [s]",
    )
    axes.grid(color=FAINT)
    axes.legend(frameon=False)
    return figure


def bandwidth(data: dict[str, Any]) -> Figure:
    """Bytes a second over those of a copy of the same arrays, at ten million elements."""
    kernels = [k for k in data["bandwidth"] if k["dtype"] == "f8"]
    figure, axes = plt.subplots(figsize=(7.2, 0.30 * len(kernels) + 1))
    for peer, colour in (("numpy", THEIRS), ("jax", "#c58b3a"), ("tracejit", OURS)):
        known = [(k["rates"][peer] / k["copy"], n) for n, k in enumerate(kernels) if peer in k["rates"]]
        axes.scatter(*zip(*known, strict=True), color=colour, s=32, label=NAMES.get(peer, peer), zorder=3)
    axes.axvline(1, color=INK, linewidth=1)
    axes.set_yticks(range(len(kernels)), [k["name"] for k in kernels])
    axes.set_xlabel("bytes a second, over those of a copy")
    axes.grid(axis="y", color=FAINT)
    axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    return figure


def memory(data: dict[str, Any]) -> Figure:
    """The most bytes that a call needs beside its arguments."""
    rows = data["memory"]
    peers = [p for p in ("tracejit", *NAMES) if any(p in r["bytes"] for r in rows)]
    figure, axes = plt.subplots(figsize=(7.2, 0.22 * len(peers) * len(rows) ** 0.8 + 1))
    height = 0.8 / len(peers)
    for k, peer in enumerate(peers):
        at = [
            (n + (k - len(peers) / 2) * height, r["bytes"][peer] / 1e6)
            for n, r in enumerate(rows)
            if peer in r["bytes"]
        ]
        axes.barh(
            [y for y, _ in at],
            [b for _, b in at],
            height,
            color=_COLOURS[k % len(_COLOURS)],
            label=NAMES.get(peer, peer),
        )
    axes.set_yticks(range(len(rows)), [r["workload"] for r in rows])
    axes.invert_yaxis()
    axes.set_xlabel("megabytes")
    axes.grid(axis="x", color=FAINT)
    axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(peers), fontsize=9)
    return figure


_COLOURS = (OURS, THEIRS, "#c58b3a", "#7a8b5a", "#a05c7b", "#8f9aa3", "#5a7fb0")


def _rated(rows: Rows) -> Rows:
    return [r for r in rows if r["ratio"] is not None]


def _mean(rows: Rows, peer: str) -> float:
    times = [r["milliseconds"] for r in rows if peer in r["milliseconds"]]
    return geometric_mean([t[peer] / t["tracejit"] for t in times])


def _jitter(n: int) -> float:
    """Spread over the height of a row, without chance."""
    return 0.5 * (math.modf(n * 0.618)[0] - 0.5)


def _logarithmic(axes: Axes, low: float, high: float, ticks: Sequence[float]) -> None:
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.minorticks_off()
    axes.grid(axis="x", color=FAINT)
