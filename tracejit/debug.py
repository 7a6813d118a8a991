"""Looking into programs while they run: `debug.print`, `debug.callback` and `debug.breakpoint`."""

from tracejit.control.callbacks.breakpoints import debug_breakpoint as breakpoint
from tracejit.control.callbacks.ops import debug_callback as callback
from tracejit.control.callbacks.printing import debug_print as print
from tracejit.docstrings import complete as _complete

__all__ = ["breakpoint", "callback", "print"]

_complete(__name__)
