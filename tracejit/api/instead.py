"""Transformations outside of jit of functions that only a program can serve: they are compiled then.

    tj.vmap(lambda x: x if x > 0 else 0.0)(xs)    # a branch on a batched value
    tj.grad(lambda x: float(x) ** 2)(3.0)         # a number that carries a derivative

Eagerly the user's function runs in Python, which can do neither; where it is refused, the transformed function is
jitted. What the user's code had done before it was refused happens a second time then, so this is for functions that do
nothing but compute.
"""

from __future__ import annotations

from typing import Any

from tracejit.api.jit.jitted import jit
from tracejit.api.jit.programs import Program
from tracejit.config import config
from tracejit.control.callbacks.journal import entries
from tracejit.control.transformed import Transformed
from tracejit.errors import TracejitError
from tracejit.errors.refusals import attempt
from tracejit.ir.jaxpr import JOURNAL
from tracejit.tracing import is_tracing


def compiled(f: Transformed, error: TracejitError, args: Any, kwargs: Any) -> Any:
    """The jitted function for a call of `f` that was refused with `error`; None if it can't be compiled, or if it may
    have done something already, of which the error tells then."""
    if is_tracing() or config.disable_jit:
        return None
    if f.jitted is None:
        f.jitted = jit(f, fallback=False)
    try:
        with attempt(TracejitError):
            _, program, _ = f.jitted.prepare(args, kwargs)
    except TracejitError:
        return None
    if _only_computes(program):
        return f.jitted
    error.advise(f"compile the transformed function: tj.jit(tj.{f.transformation}(f))")
    return None


def _only_computes(program: Program) -> bool:
    """Whether it changes nothing, prints nothing and draws nothing. What solvers say at their ends they had not said
    when they were refused."""
    stores = program.store is not None and program.store.writes
    quiet = program.jaxpr.effects <= {"error", JOURNAL} and all(
        getattr(entry, "ours", False) for entry in entries(program.jaxpr)
    )
    return not program.written and not stores and quiet
