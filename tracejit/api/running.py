"""Running the user's function over guarded names, in the session that is in force."""

from __future__ import annotations

import types
from typing import Any

from tracejit import frontend, numpy, scipy
from tracejit.frontend import math_, modules
from tracejit.tracing import caller

# What `np`, `scipy.special` and `from numpy import sin` mean to traced code.
modules.REBIND.update({"numpy": numpy, "numpy.linalg": numpy.linalg, "numpy.fft": numpy.fft})
modules.REBIND["scipy"] = types.SimpleNamespace()
modules.REBIND.update({f"scipy.{name}": getattr(scipy, name) for name in scipy.__all__})
modules.REBIND["scipy.spatial.distance"] = scipy.spatial.distance
modules.REBIND["math"] = math_.namespace
modules.BY_NAME += ["scipy.linalg", "math"]
modules.CALLABLES = numpy.NUMPY_TO_TRACEJIT
caller.run = frontend.call
caller.original = frontend.users_own
caller.outside = lambda: frontend.use(None)
caller.followed = frontend.followed


def run_user(f: Any, args: Any, kwargs: Any = None) -> Any:
    """Call `f(*args, **kwargs)` with `np` meaning tracejit.numpy; names it reads are guarded inside a jit trace."""
    return frontend.call(f, args, kwargs)


def jit_session() -> Any:
    """The session of the jit trace that is being made in this thread, or None."""
    session = frontend.current_session()
    return session if session is not None and session.guarded else None
