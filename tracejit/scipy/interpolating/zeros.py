"""Where piecewise polynomials and splines take a value: SciPy finds the places when the program runs, and how many they
are; their derivatives are those of roots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.control.custom.implicit import custom_root
from tracejit.ir.avals import Aval
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.scipy import solving
from tracejit.tracing import to_raw


def zeros_of(f: Callable[[Any], Any], find: Callable[..., Any], most: int, mostly: str, *given: Any) -> Any:
    """The places that `find(*given)` gives on the host, at most `most`, where f is zero. Python does it where `find`
    fails or warns, or a place is no number; `mostly` says what."""

    def host(_: Any, *arrays: Any) -> list[Any]:
        places = np.zeros(most)
        try:
            with np.errstate(all="ignore"):
                found = np.asarray(find(*arrays), float)
        except Exception:
            return [places, 0, True]
        if found.ndim != 1 or len(found) > most or not np.all(np.isfinite(found)):
            return [places, 0, True]
        places[: len(found)] = found
        return [places, len(found), False]

    results = [Aval((most,), np.dtype(float)), Aval((), np.dtype(np.int64)), Aval((), np.dtype(bool))]
    places, count, failed = solving.host_call(host, [], results, *lax.stop_gradient(given))
    leave_if(to_raw(failed), mostly)
    places = places[np.arange(most) < count]
    return custom_root(f, places, lambda _, p: p, lambda g, v: v / g(tnp.ones_like(v)))
