"""Options that a call leaves out are those of the library's function."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT

MODULES = {
    "numpy": ("", "linalg", "fft"),
    "scipy": (
        *(
            "cluster.hierarchy",
            "cluster.vq",
            "fft",
            "integrate",
            "interpolate",
            "linalg",
            "ndimage",
            "optimize",
        ),
        *(
            "signal",
            "signal.windows",
            "sparse",
            "sparse.csgraph",
            "sparse.linalg",
            "spatial",
            "spatial.distance",
        ),
        *("special", "stats"),
    ),
}
#: The same by another name: windows of spectra are periodic, the order of sums of products is free, `fmin` by its name.
SAME = {
    ("hann", "hann_periodic"),
    (("tukey", 0.25), ("tukey_periodic", 0.25)),
    ("einsum", "optimize"),
    ("brute", "finish"),
    *[("arange", "step"), ("partition", "kind"), ("argpartition", "kind"), ("fmin_slsqp", "epsilon")],
}


def defaults() -> Iterator[tuple[str, str, Any, Any]]:
    """(function, parameter, our default, the library's)."""
    names = [f"{root}.{part}".rstrip(".") for root, parts in MODULES.items() for part in parts]
    for module in map(importlib.import_module, names):
        for name in filter(lambda n: not n.startswith("_") and callable(getattr(module, n)), dir(module)):
            theirs = getattr(module, name)
            try:
                ours: Any = NUMPY_TO_TRACEJIT.get(theirs)
                given = inspect.signature(getattr(ours, "__wrapped__", ours)).parameters
                wanted = inspect.signature(theirs).parameters
            except (TypeError, ValueError):  # no function of ours, or no signature of theirs
                continue
            for p, ours in given.items():
                if p in wanted and inspect.Parameter.empty not in (ours.default, wanted[p].default):
                    yield f"{module.__name__}.{name}", p, ours.default, wanted[p].default


def test_defaults_are_the_librarys() -> None:
    count, others = 0, []
    for name, p, ours, theirs in defaults():
        count += 1
        same = type(ours) is type(theirs) and repr(ours) == repr(theirs)
        number = isinstance(theirs, (int, float)) and type(ours) is not bool and ours == theirs
        named = (ours, theirs) in SAME or (name.rpartition(".")[2], p) in SAME
        if not (same or number or named or theirs is np._NoValue or object in (type(ours), type(theirs))):
            others.append((name, p, ours, theirs))
    assert count > 2000 and others == []
