"""Running the user's function over guarded names, in the session that is in force."""

from __future__ import annotations

import importlib
import operator
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import frontend, numpy, scipy
from tracejit.control.transformed import Transformed
from tracejit.frontend.drawing.sources import of_module
from tracejit.frontend.lists import heaps
from tracejit.frontend.paths import root
from tracejit.frontend.raw import hashes
from tracejit.frontend.rewrite.hooks import nests
from tracejit.frontend.run import ROOM
from tracejit.frontend.shadows import builtins_, modules
from tracejit.frontend.shadows.classes import traced_class
from tracejit.frontend.text import warned, written
from tracejit.interpreters.autodiff.jvp import JVPTrace
from tracejit.interpreters.autodiff.linearize import LinearizeTrace
from tracejit.lazily import LazyModule
from tracejit.numpy.dispatch import LIBRARIES, OBJECTS, OTHERS
from tracejit.scipy.hosting.names import COMPUTING
from tracejit.tracing import Box, caller, current_trace, is_tracing
from tracejit.tree import sparse


def _entries(name: str, ours: str = "") -> Callable[[Any], dict[Any, Any]]:
    """What enters the table of functions when SciPy's module `name` is there: `ours` is imported then, and knows."""

    def entries(module: Any) -> dict[Any, Any]:
        importlib.import_module(f"tracejit.{ours or name}")
        return LIBRARIES[name](module)

    return entries


def _hosted(function: Any) -> Any:
    """A function of SciPy's that has no traced form, as a call that the program makes; None for others."""
    return importlib.import_module("tracejit.scipy.hosting.calls").of(function)


def _foreign(function: Any) -> Any:
    """A function of another library as such a call; None for others."""
    return importlib.import_module("tracejit.scipy.hosting.foreign").of(function)


def _adopted(value: Any) -> Any:
    """How the counterpart of an object of SciPy's is made; None for others."""
    return importlib.import_module("tracejit.scipy.hosting.objects").adopted(value)


def _instead(*refused: Any) -> Any:
    """The jitted function for a call of a transformed one that was refused; None if there is none."""
    return importlib.import_module("tracejit.api.instead").compiled(*refused)


# What `np`, `scipy.special` and `from numpy import sin` mean to traced code. Counterparts of modules that a program
# may not use are imported when it does.
modules.REBIND["numpy"] = numpy
modules.REBIND.update({f"numpy.{part}": LazyModule(f"tracejit.numpy.{part}") for part in ("fft", "linalg")})
modules.REBIND["numpy.ma"] = LazyModule("tracejit.numpy.ma", "namespace")
modules.REBIND["scipy"] = types.SimpleNamespace()
modules.REBIND.update({f"scipy.{part}": LazyModule(f"tracejit.scipy.{part}") for part in scipy.TRACED})
modules.REBIND["math"] = LazyModule("tracejit.frontend.shadows.math_", "namespace")
LIBRARIES["statistics"] = lambda module: importlib.import_module(
    "tracejit.frontend.standard.statistics_"
).entries(module)
LIBRARIES.update({f"scipy.{part}": _entries(f"scipy.{part}") for part in scipy.TRACED})
modules.REBIND["scipy.cluster"] = types.SimpleNamespace()
modules.REBIND.update({f"scipy.sparse.{n}": types.SimpleNamespace() for n in ("_sparsetools", "csgraph")})
LIBRARIES.update(
    {
        f"scipy.sparse.{n}": _entries(f"scipy.sparse.{n}", "scipy.sparse")
        for n in ("_sparsetools", "csgraph", "linalg")
    }
)
OTHERS["scipy"] = _hosted
OTHERS |= dict.fromkeys(COMPUTING, _foreign)
OBJECTS["scipy"] = _adopted
LIBRARIES["scipy._lib._array_api"] = _entries("scipy._lib._array_api", "scipy.hosting.following")
LIBRARIES["array_api_compat"] = _entries("array_api_compat", "scipy.hosting.following")
# What other libraries, and SciPy's functions before and since 1.18, call NumPy.
for _place in ("", "scipy._lib.", "scipy._external."):
    modules.REBIND[f"{_place}array_api_compat.numpy"] = numpy
modules.REBIND["itertools"] = nests.OF_ITERTOOLS
modules.BY_NAME += ["math", "itertools"]
modules.CALLABLES = numpy.NUMPY_TO_TRACEJIT
modules.CALLABLES |= heaps.FORMS
modules.CALLABLES |= written.FORMS | hashes.FORMS
modules.REBIND |= written.MODULES | hashes.MODULES
modules.CALLABLES |= {np.ndindex: nests.ndindex, np.ndenumerate: nests.ndenumerate}
modules.CALLABLES |= {
    **dict.fromkeys((operator.concat, operator.iconcat), builtins_.concat),
    **builtins_.IDENTITY,
    callable: builtins_.STAND_INS["callable"],
    weakref.ref: builtins_.weak_reference,
}
modules.REBIND["heapq"] = types.SimpleNamespace(**{f.__name__: f for f in heaps.FORMS.values()})
modules.REBIND["weakref"] = types.SimpleNamespace(ref=builtins_.weak_reference)
modules.REBIND["operator"] = types.SimpleNamespace(
    concat=builtins_.concat,
    iconcat=builtins_.concat,
    **{f.__name__: ours for f, ours in builtins_.IDENTITY.items()},
)
caller.run = frontend.call
caller.changed = frontend.changed
caller.original = frontend.users_own
caller.outside = lambda: frontend.use(None)
caller.followed = frontend.followed
caller.text_of = frontend.text_of
caller.warn = warned.of_library
Transformed.instead = staticmethod(_instead)


def _sparse(cls: type, data: Any) -> type:
    """The class of a sparse array that traced code gets as an argument."""
    return (traced_class(cls) if type(data) is Box else None) or cls


sparse.class_for = _sparse


def run_user(f: Any, args: Any, kwargs: Any = None, has_aux: bool = False) -> Any:
    """Call `f(*args, **kwargs)` with `np` meaning tracejit.numpy; names it reads are guarded inside a jit trace. With
    `has_aux`, the second part of its result is not differentiated."""
    return frontend.call(f, args, kwargs, has_aux)


def differentiates_eagerly() -> bool:
    """Whether a derivative is being taken outside of jit, of one operation after the other, whose values are known:
    none of it is staged, or done for lanes."""
    trace = current_trace()
    while isinstance(trace, (JVPTrace, LinearizeTrace)) and trace.parent is not None:
        trace = trace.parent
    return is_tracing() and trace.parent is None


def jit_session() -> Any:
    """The session of the jit trace that is being made in this thread, or None."""
    session = frontend.current_session()
    return session if session is not None and session.guarded else None


def _does_over() -> bool:
    """Whether Python does calls over in which a check fails; the program depends on it from then on."""
    session = jit_session()
    if session is None:
        return False
    session.asked_over = True
    return session.over


def _room() -> int:
    """How many times as much room as at first the program has; it is made again with more where that is not enough."""
    session = jit_session()
    if session is None:
        return 1
    session.has_buffers = True
    return session.room // ROOM


def _shared(owner: Any) -> Any:
    """What stands for the generator from which a distribution of SciPy's draws, in the jit trace that is being made:
    programs are for calls in which it still draws from that of `np.random`, or from one of its own. None where there
    is no such trace."""
    session = jit_session()
    if session is None:
        return None
    shared, name = np.random.mtrand._rand, type(owner).__name__.removesuffix("_gen")
    node = root(owner, "distribution", name).attr("_random_state")
    if owner._random_state is not shared:
        return session.wrap(node, owner._random_state)
    session.check(node, "is", shared)
    return of_module(shared, "np.random")


caller.does_over = _does_over
caller.shared = _shared
caller.room = _room
