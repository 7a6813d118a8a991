"""Running a user's plain-NumPy function under tracing, without its source and without
touching its modules: copies of functions over guarded names.

    out, guards = prepare(f).run(capture, args, kwargs)
    guards.arrays()     # later: the captured arrays as they are now, or None to retrace
    guards.why()        # "global `scale` changed from 2.0 to 3.0"

In come a function and its arguments, and out go its results with guards over all that it has read. Read `prepare`
(the door), `session` with `run` (one traced run), `shadows/` (what the function sees instead of the user's
objects), `paths`, `checks` and `guards` (what must still be so), then `rewrite/` (its loops and branches).
"""

from __future__ import annotations

from tracejit.frontend.active import session as current_session
from tracejit.frontend.active import use
from tracejit.frontend.capture import Capture, EagerCapture, Unfollowed
from tracejit.frontend.given import is_shadowed, kind_of, unseen
from tracejit.frontend.guards import GuardSet
from tracejit.frontend.prepare import Prepared, call, followed, prepare
from tracejit.frontend.rewrite.blocks.held import changed
from tracejit.frontend.session import Session
from tracejit.frontend.shadows.containers import is_container, is_derived
from tracejit.frontend.shadows.host import users_own
from tracejit.frontend.structures import handed_back
from tracejit.frontend.text.choices import text_of

__all__ = ["Capture", "EagerCapture", "GuardSet", "Prepared", "Session", "Unfollowed"]
__all__ += [
    "call",
    "changed",
    "current_session",
    "followed",
    "handed_back",
    "is_container",
    "is_derived",
    "is_shadowed",
    "kind_of",
    "prepare",
    "text_of",
    "unseen",
    "use",
    "users_own",
]
