"""`debug.breakpoint`: Python's debugger over the values that a running program has at a place."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from tracejit import tree
from tracejit.control.callbacks.host import is_array_like
from tracejit.control.callbacks.ops import debug_callback
from tracejit.errors import is_library


def debug_breakpoint(
    *,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: Any = None,
    **kwargs: Any,
) -> None:
    """Stop here when the program runs, in pdb, with the values of the caller's local variables.

    Arrays and numbers, and trees of them, have the values of that moment, further ones are given as
    keywords. `c` goes on, `q` ends the program with bdb.BdbQuit. Under vmap it stops once a lane.
    `filter_frames`, `num_frames` and `token` are JAX's, and have no meaning here.
    """
    frame = _users_frame()
    names = {} if frame is None else {k: v for k, v in frame.f_locals.items() if _is_shown(v)}
    where = "?" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
    debug_callback(_Stop(where), {**names, **kwargs}, ordered=ordered)


def _users_frame() -> FrameType | None:
    frame = sys._getframe(1)
    while frame is not None and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _is_shown(x: Any) -> bool:
    """Whether a local variable is an array, a number or a tree of them."""
    leaves = tree.leaves(x)
    return bool(leaves) and all(is_array_like(leaf) or isinstance(leaf, str) for leaf in leaves)


class _Stop:
    """Runs pdb over the values it is called with."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.__name__ = "debug.breakpoint"

    def __call__(self, values: dict[str, Any]) -> None:
        """One stop: the debugger reads sys.stdin and writes to sys.stdout. Raises BdbQuit when it is left."""
        debugger = importlib.import_module("pdb").Pdb()
        left: list[str] = []
        for name in ("do_quit", "do_q", "do_exit", "do_EOF"):
            setattr(debugger, name, _noting(left, getattr(debugger, name)))
        debugger.prompt = "(tjdb) "
        print(f"> {self.where} ({', '.join(values) or 'no variables'})", flush=True)
        place = compile("pass", os.path.basename(self.where.partition(":")[0]) or "?", "exec")
        debugger.runctx(place, {"__name__": "tjdb"}, dict(values))
        if left:  # runctx keeps it to itself
            raise importlib.import_module("bdb").BdbQuit


def _noting(left: list[str], command: Callable[[str], Any]) -> Callable[[str], Any]:
    """`command`, noted when it is given."""

    def noted(arg: str) -> Any:
        left.append(arg)
        return command(arg)

    return noted
