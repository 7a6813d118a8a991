"""Whether loops and branches are captured now, and what was done with each, for `explain`."""

from __future__ import annotations

from typing import Any

from tracejit.errors import user_location
from tracejit.frontend import active
from tracejit.frontend.rewrite.blocks.terms import Spec
from tracejit.tracing import is_tracing


def capturing() -> Any:
    """The session whose loops and branches become native, or None: values are concrete, or it was turned off."""
    session = active.session()
    return session if session is not None and session.guarded and session.rewrites and is_tracing() else None


def place(block: Any, line: int) -> str:
    """`file:line` of a loop or branch, of which `block` is a part (or calls one: `of`)."""
    return f"{getattr(block, 'of', block).__code__.co_filename}:{line}"


def decide(session: Any, block: Any, spec: Spec, what: str) -> None:
    """Remember what was done with a loop or branch; what happened last counts."""
    session.decisions[place(block, spec.line), spec.kind] = what


def reason_of(e: BaseException) -> str:
    """An exception as a reason, in one line."""
    text = str(e).splitlines()[0] if str(e) else ""
    line = getattr(e, "where", None) or user_location()
    return f"{text or type(e).__name__}" + (
        f" (at {line})" if line and type(e).__module__ != "builtins" else ""
    )
