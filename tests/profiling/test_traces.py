"""The trace-event format: parsed, with slices that nest."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np

import tracejit as tj
from tests.profiling.test_profile import operands, step


def nested(events):
    """Whether complete events of one thread lie in each other or apart."""
    open_ = []
    for e in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        while open_ and open_[-1] <= e["ts"] + 1e-9:
            open_.pop()
        end = e["ts"] + e["dur"]
        if open_ and end > open_[-1] + 1e-3:
            return False
        open_.append(end)
    return True


def test_slices_nest_in_each_thread():
    f = tj.jit(lambda x: np.sin(np.exp(-x * x)) * np.cos(x))
    with tj.config.override(num_threads=2), tj.profile() as p:
        tj.jit(step)(*operands())
        f(np.linspace(0, 1, 500_000))
    trace = json.loads(json.dumps(p.trace()))
    threads = defaultdict(list)
    for e in trace["traceEvents"]:
        assert e["ph"] in "XM" and isinstance(e["pid"], int) and isinstance(e["tid"], int)
        if e["ph"] == "X":
            assert e["dur"] >= 0 and e["ts"] >= -1 and e["ts"] + e["dur"] <= p.seconds * 1e6 + 100
            threads[e["tid"]].append(e)
    assert all(nested(events) for events in threads.values())
    names = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    assert names[1] == "MainThread" and set(threads) <= set(names)
    own = threads[1]
    (call,) = [e for e in own if e["cat"] == "call" and e["name"] == "step"]
    inside = [
        e for e in own if call["ts"] <= e["ts"] and e["ts"] + e["dur"] <= call["ts"] + call["dur"] + 1e-3
    ]
    assert {"trace", "pass", "llvm", "native", "entry", "loop", "blas"} >= {e["cat"] for e in inside} & {
        "blas",
        "loop",
    }
    product = next(e for e in inside if e["cat"] == "blas")
    assert (
        product["args"]["line"].startswith(operands.__code__.co_filename) and "dot_general" in product["name"]
    )
    (loop,) = [e for e in own if e["cat"] == "loop"]
    assert loop["ts"] <= product["ts"] and product["ts"] + product["dur"] <= loop["ts"] + loop["dur"] + 1e-3
