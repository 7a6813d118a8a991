"""What linear systems answer: `lsim impulse step freqresp bode` and their discrete kin, of systems as tuples,
differentiable in coefficients and inputs."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from tracejit import lax, tree
from tracejit import numpy as tnp
from tracejit.ir.avals import Aval
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.ops._lazy import scipy_signal
from tracejit.scipy import solving
from tracejit.scipy.hosting.likeness import floats, refuse
from tracejit.scipy.linalg import expm
from tracejit.scipy.signals.systems import is_single, state_space, tf2zpk
from tracejit.tracing import Box, to_raw

__all__ = ["bode", "dbode", "dfreqresp", "dimpulse", "dlsim", "dstep", "freqresp", "impulse", "lsim", "step"]
_TIMES = "an error of SciPy's about times that are negative or not equally spaced"


def lsim(system: Any, U: Any, T: Any, X0: Any = None, interp: bool = True) -> tuple[Any, Any, Any]:
    """Times, outputs and states of a continuous system with the inputs `U` at the equally spaced times `T`."""
    a, b, c, d = state_space(system, complex_outputs=True)
    n, inputs = a.shape[0], b.shape[1]
    t = tnp.asarray(T)
    if t.ndim != 1:
        raise ValueError("T must be a rank-1 array.")
    steps = t.size
    x0 = tnp.zeros(n) if X0 is None else floats(X0).reshape(n)
    leave_if(to_raw(t[0] < 0), _TIMES)
    u = tnp.zeros((steps, inputs)) if U is None or (type(U) in (int, float) and U == 0) else floats(U)
    u = u[:, None] if u.ndim == 1 else u
    if u.shape != (steps, inputs):
        raise ValueError("U must have the same number of rows as elements in T, and a column for each input.")
    x0 = tnp.where(t[0] > 0, x0 @ expm(a.T * t[0]), x0)
    if steps == 1:
        return t, tnp.squeeze(x0[None] @ c.T + u @ d.T), tnp.squeeze(x0[None])
    h = t[1] - t[0]
    uneven = tnp.abs(tnp.diff(t) - h) > 1e-8 + 1e-5 * tnp.abs(h)
    leave_if(to_raw(tnp.any(uneven)), _TIMES)
    size = n + inputs * (2 if interp else 1)
    top = tnp.concatenate([a * h, b * h, *([tnp.zeros((n, inputs))] if interp else [])], axis=1)
    rest = np.zeros((size - n, size))
    if interp:
        rest[:inputs, n + inputs :] = np.eye(inputs)
    whole = expm(tnp.concatenate([top, rest])).T
    ahead, first = whole[:n, :n], whole[n : n + inputs, :n]
    if interp:
        second = whole[n + inputs :, :n]
        moves = u[:-1] @ (first - second) + u[1:] @ second
    else:
        moves = u[:-1] @ first
    x = _walk(ahead, x0, moves)
    return t, tnp.squeeze(x @ c.T + u @ d.T), tnp.squeeze(x)


def _walk(ahead: Any, x0: Any, moves: Any) -> Any:
    """The states x[i + 1] = x[i] ahead + moves[i]."""

    def go(x: Any, move: Any) -> tuple[Any, Any]:
        x = x @ ahead + move
        return x, x

    _, rest = lax.scan(go, x0, moves)
    return tnp.concatenate([x0[None], rest])


def _times(a: Any, n: Any) -> Any:
    slow = tnp.min(tnp.abs(tnp.linalg.eigvals(a.astype(complex)).real))
    slow = tnp.where(slow == 0, 1.0, slow)
    return (7.0 / slow) * np.linspace(0.0, 1.0, 100 if n is None else int(n))


def impulse(system: Any, X0: Any = None, T: Any = None, N: Any = None) -> tuple[Any, Any]:
    """Times and outputs after an impulse at time 0."""
    a, b, c, d = state_space(system, complex_outputs=True)
    start = tnp.squeeze(b, -1) if X0 is None else tnp.squeeze(b + floats(X0)[:, None], -1)
    t = _given_times(a, T, N)
    t, y, _ = lsim((a, b, c, d), 0.0, t, start, interp=False)
    return t, y


def step(system: Any, X0: Any = None, T: Any = None, N: Any = None) -> tuple[Any, Any]:
    """Times and outputs where the input is 1 from time 0 on."""
    own = state_space(system, complex_outputs=True)
    t = _given_times(own[0], T, N)
    t, y, _ = lsim(own, tnp.ones((t.size, own[1].shape[1])), t, X0, interp=False)
    return t, y


def _given_times(a: Any, t: Any, n: Any) -> Any:
    return _times(a, n) if t is None else tnp.asarray(t)


def freqresp(system: Any, w: Any = None, n: int = 10000) -> tuple[Any, Any]:
    """Angular frequencies and the complex answers to them."""
    own = state_space(system)
    if own[3].shape != (1, 1):
        raise ValueError("freqresp() requires a SISO (single input, single output) system.")
    w = None if w is None else tnp.asarray(w)
    if w is not None and not w.ndim and w.dtype.kind in "iu":  # for SciPy a number of them
        n, w = operator.index(w), None
    w = tnp.atleast_1d(_frequencies(system, n) if w is None else w)
    y = _answers(system, own, 1j * w)
    leave_if(to_raw(~tnp.all(tnp.isfinite(y))), "what SciPy makes of a frequency near a pole, or of NaN")
    return w, y


def _answers(system: Any, own: tuple[Any, ...], s: Any) -> Any:
    """num(s) / den(s) of a transfer function, else c (s - a)^-1 b + d. SciPy takes what has single precision to zeros
    and poles of such precision."""
    if len(system) < 4 and any(is_single(tnp.asarray(c)) for c in system):
        zeros, poles, gain = tf2zpk(*system) if len(system) == 2 else system
        above, below = (tnp.prod(s[:, None] - tnp.asarray(r), axis=1) for r in (zeros, poles))
        return gain * above / below
    if len(system) == 2:
        num, den = (tnp.asarray(c) for c in system)
        if num.ndim == 1 and den.ndim == 1:
            return tnp.polyval(num, s) / tnp.polyval(den, s)
    a, b, c, d = own
    matrix = s[:, None, None] * np.eye(a.shape[0]) - a
    right = tnp.broadcast_to(b.astype(complex), (s.shape[0], *b.shape))
    return (c @ tnp.linalg.solve(matrix, right) + d)[:, 0, 0]


def _frequencies(system: Any, n: int) -> Any:
    """SciPy's choice, powers of ten at its ends: small changes of the system do not move it."""

    def host(_: Any, *own: Any) -> list[Any]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                return [scipy_signal().freqresp(own, n=n)[0], False]
        except Exception:
            return [np.zeros(n), True]

    own = tuple(map(tnp.asarray, system))
    results = [Aval((n,), np.dtype(float)), Aval((), np.dtype(bool))]
    w, failed = solving.host_call(host, [], results, *lax.stop_gradient(own))
    leave_if(to_raw(failed), "what SciPy tells about a system whose frequencies it chooses")
    return w


def bode(system: Any, w: Any = None, n: int = 100) -> tuple[Any, Any, Any]:
    """Angular frequencies, magnitudes in decibels and phases in degrees."""
    w, y = freqresp(system, w, n)
    phase = tnp.unwrap(tnp.arctan2(y.imag, y.real)) * 180.0 / np.pi
    return w, 20.0 * tnp.log10(tnp.abs(y)), phase


# ---------------------------------------------------------------- discrete time


def _discrete(system: Any) -> tuple[tuple[Any, ...], Any, bool]:
    """The matrices, the time of a step, and whether the system was given by them."""
    return state_space(tuple(system[:-1])), system[-1], len(system) == 5


def dlsim(system: Any, u: Any, t: Any = None, x0: Any = None) -> tuple[Any, ...]:
    """Times and outputs, and states if the system is given by matrices, of a discrete system with the inputs `u`."""
    (a, b, c, d), dt, tells = _discrete(system)
    u = tnp.atleast_1d(floats(u))
    u = u[:, None] if u.ndim == 1 else u
    if t is not None:
        u = _at_steps(u, t, dt)
    steps = u.shape[0]
    x0 = tnp.zeros(a.shape[0]) if x0 is None else floats(x0).reshape(-1)
    x = _walk(a.T, x0, u[:-1] @ b.T)
    y, times = x @ c.T + u @ d.T, tnp.linspace(0.0, (steps - 1) * dt, num=steps)
    return (times, y, x) if tells else (times, y)


def _at_steps(u: Any, t: Any, dt: Any) -> Any:
    """The inputs at each step of a length `dt`, of those at the times `t`: on the lines between them."""
    if type(dt) is Box or any(type(x) is Box for x in tree.leaves(t)):
        refuse(
            "dlsim", "times that are traced, which say how many steps there are", "give none, or constants"
        )
    times = np.asarray(t, float)
    at = np.linspace(0.0, times[-1], num=int(np.floor(times[-1] / dt)) + 1)
    return tnp.stack([tnp.interp(at, times, u[:, k]) for k in range(u.shape[1])], axis=1)


def _each_input(system: Any, x0: Any, t: Any, n: Any, signal: Any) -> tuple[Any, tuple[Any, ...]]:
    (a, b, c, d), dt, _ = _discrete(system)
    if t is not None:
        refuse("dimpulse and dstep", "given times", "give their number `n`")
    inputs, outs, times = b.shape[1], [], None
    for i in range(inputs):
        u = np.zeros((100 if n is None else int(n), inputs))
        signal(u, i)
        times, y = dlsim((a, b, c, d, dt), u, x0=x0)[:2]
        outs.append(y)
    return times, tuple(outs)


def dimpulse(system: Any, x0: Any = None, t: Any = None, n: Any = None) -> tuple[Any, tuple[Any, ...]]:
    """Times, and the outputs after an impulse of each input."""

    def signal(u: Any, i: int) -> None:
        u[0, i] = 1.0

    return _each_input(system, x0, t, n, signal)


def dstep(system: Any, x0: Any = None, t: Any = None, n: Any = None) -> tuple[Any, tuple[Any, ...]]:
    """Times, and the outputs where one of the inputs is 1."""

    def signal(u: Any, i: int) -> None:
        u[:, i] = 1.0

    return _each_input(system, x0, t, n, signal)


def dfreqresp(system: Any, w: Any = None, n: int = 10000, whole: bool = False) -> tuple[Any, Any]:
    """Frequencies (radians a sample) and the complex answers to them."""
    own, _, _ = _discrete(system)
    if own[3].shape != (1, 1):
        raise ValueError("dfreqresp requires a SISO (single input, single output) system.")
    if w is None:
        w = np.linspace(0, 2 * np.pi if whole else np.pi, n, endpoint=False)
    w = tnp.atleast_1d(tnp.asarray(w))
    if any(is_single(tnp.asarray(x)) for x in system[:-1]):
        refuse("dfreqresp", "single precision")
    return w, _answers(system[:-1], own, tnp.exp(1j * w))


def dbode(system: Any, w: Any = None, n: int = 100) -> tuple[Any, Any, Any]:
    """Angular frequencies, magnitudes in decibels and phases in degrees of a discrete system."""
    w, y = dfreqresp(system, w, n)
    _, dt, _ = _discrete(system)
    phase = tnp.unwrap(tnp.angle(y)) * (180.0 / np.pi)
    return w / dt, 20.0 * tnp.log10(tnp.abs(y)), phase
