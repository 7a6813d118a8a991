"""Second-order sections of `scipy.signal`: `tf2sos zpk2sos`. SciPy pairs poles and zeros when the program runs; the
derivatives are those of the sections' coefficients by their poles and zeros."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.ir.avals import Aval
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.ops._lazy import scipy_signal
from tracejit.scipy import solving
from tracejit.scipy.hosting import calls
from tracejit.scipy.hosting.likeness import refuse
from tracejit.tracing import to_raw

__all__ = ["tf2sos", "zpk2sos"]
_TOLD = "what SciPy tells about poles and zeros that it can't pair"


def zpk2sos(z: Any, p: Any, k: Any, pairing: Any = None, *, analog: bool = False) -> Any:
    """The second-order sections of a filter with these zeros, poles and gain."""
    if analog or pairing == "minimal":
        return _called("zpk2sos", (z, p, k), pairing, analog)
    z, p, k = tnp.atleast_1d(z), tnp.atleast_1d(p), tnp.asarray(k)
    if not max(z.size, p.size):
        refuse("zpk2sos", "a gain without poles and zeros", "write np.array([[k, 0, 0, 1, 0, 0]])")
    return _paired(lambda *zpk: scipy_signal().zpk2sos(*zpk, pairing), (z, p, k), z, p, k)


def tf2sos(b: Any, a: Any, pairing: Any = None, *, analog: bool = False) -> Any:
    """The second-order sections of a transfer function."""
    if analog or pairing == "minimal":
        return _called("tf2sos", (b, a), pairing, analog)
    b, a = tnp.atleast_1d(b).astype(float), tnp.atleast_1d(a).astype(float)
    if b.ndim != 1 or a.ndim != 1 or max(b.size, a.size) < 2:
        refuse("tf2sos", "coefficients of this shape", "give vectors of two and more")
    z, p = (tnp.roots(c, strip_zeros=False) if c.size > 1 else tnp.zeros(0) for c in (b, a))
    return _paired(lambda *ba: scipy_signal().tf2sos(*ba, pairing), (b, a), z, p, b[0] / a[0])


def _called(name: str, args: tuple[Any, ...], pairing: Any, analog: bool) -> Any:
    """SciPy's own, of analog filters."""
    return calls.stand_in(getattr(scipy_signal(), name), f"scipy.signal.{name}")(
        *args, pairing=pairing, analog=analog
    )


def _paired(convert: Any, given: tuple[Any, ...], z: Any, p: Any, k: Any) -> Any:
    """The sections that `convert(*given)` makes of the zeros `z`, the poles `p` and the gain `k`."""
    n = (max(z.size, p.size) + 1) // 2

    def host(_: Any, z: Any, p: Any, *given: Any) -> list[Any]:
        none = np.zeros(2 * n, np.int64)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("error")
                sos = convert(*given)
                return [sos, _places(sos[:, :3], z), _places(sos[:, 3:], p), sos.shape != (n, 6)]
        except Exception:
            return [np.zeros((n, 6)), none, none, True]

    places = Aval((2 * n,), np.dtype(np.int64))
    results = [Aval((n, 6), np.dtype(float)), places, places, Aval((), np.dtype(bool))]
    found, zeros, poles, failed = solving.host_call(host, [], results, *lax.stop_gradient((z, p, *given)))
    leave_if(to_raw(failed), _TOLD)
    b, a = _polynomials(z, zeros, n), _polynomials(p, poles, n)
    gains = tnp.concatenate([tnp.asarray(k).real.reshape(1, 1), np.ones((n - 1, 1))])
    own = tnp.concatenate([b * gains, a], axis=1)
    return found + (own - lax.stop_gradient(own))


def _polynomials(roots: Any, places: Any, n: int) -> Any:
    """Real coefficients of the polynomials with two of the roots each; a root past the last one is zero."""
    both = tnp.concatenate([roots, tnp.zeros(1, roots.dtype)])[places].reshape(n, 2)
    first, second = both[:, 0], both[:, 1]
    return tnp.stack([tnp.ones(n), -(first + second).real, (first * second).real], axis=1)


def _places(rows: Any, roots: Any) -> Any:
    """Which of the roots each polynomial of degree two has, as far as there are any left; else the place after them."""
    left = list(range(len(roots)))
    out = np.full((len(rows), 2), len(roots))
    # What SciPy put at the origin besides is found last.
    found = [(k, m, r) for k, row in enumerate(rows) for m, r in enumerate(_two(row))]
    for k, m, r in sorted(found, key=lambda x: -abs(x[2])):
        if left:
            out[k, m] = min(left, key=lambda i: abs(roots[i] - r))
            left.remove(out[k, m])
    return out.reshape(-1)


def _two(row: Any) -> Any:
    found = np.roots(row)
    return [*found, *[0.0] * (2 - len(found))]
