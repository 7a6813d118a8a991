"""What is told on the way: to stderr by `config.debug`, to the logger 'tracejit' by `config.log_compiles`."""

from __future__ import annotations

import contextlib
import importlib
import sys
from typing import Any

from tracejit.config import config
from tracejit.ir.jaxpr import Jaxpr
from tracejit.lazily import LazyModule

_slow: Any = LazyModule("tracejit.bars.slow")
_NOTHING = contextlib.nullcontext()


def debug(level: int, text: Any) -> None:
    """Print `text` to stderr if `config.debug` is at least `level`."""
    if config.debug >= level:
        print(text, file=sys.stderr, flush=True)


def log(text: str) -> None:
    """A warning to the logger 'tracejit', if `config.log_compiles`. `logging` is imported with the first."""
    if config.log_compiles:
        tell(text)


def tell(text: str) -> None:
    """A warning to the logger 'tracejit', which goes to stderr if nobody has set up logging."""
    importlib.import_module("logging").getLogger("tracejit").warning("%s", text)


def patience(jaxpr: Jaxpr) -> Any:
    """A context in which `jaxpr` is compiled. If that takes more than a second, a terminal on stderr is told."""
    stream = sys.stderr
    try:
        seen = stream is not None and stream.isatty()
    except (AttributeError, ValueError):  # closed, or no stream of Python's
        seen = False
    return _slow.telling(jaxpr.name or "a region") if seen else _NOTHING


def tell_compiled(jaxpr: Jaxpr, seconds: float) -> None:
    """`jaxpr` has been compiled."""
    name = jaxpr.name or "a region"
    log(f"Compiling {name} for ({', '.join(map(str, jaxpr.in_avals))}) in {seconds * 1e3:.1f} ms")
    debug(1, f"tracejit: compiled {name} in {seconds * 1e3:.1f} ms")
