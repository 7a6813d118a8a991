"""Linear systems of `scipy.signal` in their forms: (num, den), (zeros, poles, gain), and the matrices (A, B, C, D)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from tracejit import dtypes
from tracejit import numpy as tnp
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.scipy.hosting.likeness import floats, refuse
from tracejit.tracing import is_tracing, to_raw

__all__ = ["normalize", "sos2zpk", "ss2tf", "ss2zpk", "tf2ss", "tf2zpk", "zpk2ss", "zpk2tf"]
F = TypeVar("F", bound=Callable[..., Any])
_BAD = "what SciPy makes of a system whose first coefficients are zero"


def _doubles(x: Any) -> Any:
    """An array of doubles or complex numbers. SciPy computes in single precision what is given so."""
    x = tnp.asarray(x)
    if is_single(x):
        refuse("linear systems", "single precision")
    return floats(x)


def is_single(x: Any) -> bool:
    """Whether an array has numbers of less than double precision."""
    return x.dtype.kind in "fc" and x.dtype.itemsize < (16 if x.dtype.kind == "c" else 8)


def _numbers(x: Any) -> Any:
    """An array of doubles or complex numbers; single precision, which coefficients keep, stays."""
    x = tnp.asarray(x)
    return x if x.dtype in (np.float32, np.complex64) else _doubles(x)


def _normalized(num: Any, den: Any) -> tuple[Any, Any]:
    """The coefficients over the first one of `den`; `num` has a row for each output. Coefficients that SciPy
    would leave away, and warn of, are left to Python."""
    den, num = tnp.atleast_1d(_numbers(den)), tnp.atleast_1d(_numbers(num))
    if den.ndim != 1 or num.ndim > 2:
        raise ValueError("Denominator polynomial must be rank-1 array, numerator of rank 1 or 2.")
    leave_if(to_raw(den[0] == 0), _BAD)
    num, den = tnp.atleast_2d(num) / den[0], den / den[0]
    leave_if(to_raw(tnp.all(tnp.abs(num[:, 0]) <= 1e-14)), _BAD)
    return num, den


def normalize(b: Any, a: Any) -> tuple[Any, Any]:
    """The coefficients of a transfer function over the first one of the denominator."""
    num, den = _normalized(b, a)
    return (num[0] if num.shape[0] == 1 else num), den


def tf2ss(num: Any, den: Any) -> tuple[Any, Any, Any, Any]:
    """The matrices of a transfer function, in the controller canonical form."""
    num, den = _normalized(num, den)
    k = den.size
    if num.shape[1] > k:
        raise ValueError("Improper transfer function. `num` is longer than `den`.")
    num = tnp.concatenate([tnp.zeros((num.shape[0], k - num.shape[1]), num.dtype), num], axis=1)
    d = num[:, :1]
    if k == 1:
        return tnp.zeros((1, 1)), tnp.zeros((1, 1)), tnp.zeros((num.shape[0], 1)), d
    a = tnp.concatenate([-den[None, 1:], np.eye(k - 2, k - 1)])
    return a, tnp.asarray(np.eye(k - 1, 1)), num[:, 1:] - num[:, :1] * den[1:], d


def ss2tf(A: Any, B: Any, C: Any, D: Any, input: int = 0) -> tuple[Any, Any]:
    """The transfer function from one input to all outputs."""
    a, b, c, _ = matrices(A, B, C, D)
    d = tnp.atleast_2d(_numbers(D))  # of which SciPy takes 1 away in the precision that it has
    if input >= d.shape[1]:
        raise ValueError("System does not have the input specified.")
    b, d = b[:, input : input + 1], d[:, input : input + 1]
    den = _characteristic(a)
    rows = [_characteristic(a - b @ c[k : k + 1]) + (d[k] - 1) * den for k in range(c.shape[0])]
    return tnp.stack(rows), den


def _characteristic(a: Any) -> Any:
    """The coefficients of the polynomial whose zeros are the eigenvalues of a real matrix."""
    roots = tnp.linalg.eigvals(a.astype(complex))
    c = product(roots)
    return tnp.array(c.real)


def product(roots: Any) -> Any:
    """The coefficients of the product of `x - r` for all roots."""
    c = tnp.ones(1, roots.dtype)
    for k in range(roots.shape[0]):
        c = tnp.concatenate([c[:1], c[1:] - roots[k] * c[:-1], -roots[k] * c[-1:]])
    return c


def matrices(a: Any, b: Any, c: Any, d: Any, complex_outputs: bool = False) -> tuple[Any, Any, Any, Any]:
    """Matrices of doubles, of fitting shapes. They are real, or those of the states are, if outputs may be complex."""
    a, b = (tnp.atleast_2d(_doubles(m)) for m in (a, b))
    c, d = (tnp.atleast_2d(floats(_numbers(m))) for m in (c, d))
    if any(dtypes.is_complex(m.dtype) for m in ((a, b) if complex_outputs else (a, b, c, d))):
        refuse("linear systems", "complex matrices")
    n = a.shape[0]
    if a.shape[1] != n or b.shape[0] != n or c.shape[1] != n or d.shape != (c.shape[0], b.shape[1]):
        raise ValueError("The input arrays have incompatible shapes.")
    return a, b, c, d


def tf2zpk(b: Any, a: Any) -> tuple[Any, Any, Any]:
    """Zeros, poles and gain of a transfer function. Zeros at the origin are left to Python."""
    num, den = _normalized(b, a)
    if num.shape[0] != 1:
        raise ValueError("a transfer function of one output is wanted")
    if num.dtype != den.dtype and (is_single(num) or is_single(den)):
        refuse("tf2zpk", "coefficients of two precisions")
    num = num[0]
    gain = num[0]
    return _roots(num / gain), _roots(den), gain


def _roots(c: Any) -> Any:
    """The zeros of a polynomial; none may be zero, and some must not be real, or NumPy gives another dtype."""
    c = _numbers(c)
    n = c.size - 1
    if n < 1:
        return tnp.zeros(0)
    if c.dtype == np.complex64:
        refuse("linear systems", "single precision")
    if n == 1 and not dtypes.is_complex(c.dtype):
        return -c[1:] / c[0]
    out = tnp.roots(c, strip_zeros=False)
    leave_if(to_raw((c[-1] == 0) | (tnp.all(out.imag == 0))), "the dtype, or the order, of real zeros")
    return out


def ss2zpk(A: Any, B: Any, C: Any, D: Any, input: int = 0) -> tuple[Any, Any, Any]:
    """Zeros, poles and gain of a system of one output."""
    return tf2zpk(*ss2tf(A, B, C, D, input))


def zpk2tf(z: Any, p: Any, k: Any) -> tuple[Any, Any]:
    """The transfer function with these zeros, poles and gains. Complex coefficients are left to Python."""
    z, p = tnp.atleast_1d(z), tnp.atleast_1d(p)
    kind = tnp.result_type(z.real.dtype, p.real.dtype, k)
    k = tnp.asarray(k, dtype=kind if kind.kind in "fc" else float)
    if z.ndim > 1 and k.ndim == 0:
        k = tnp.broadcast_to(k, z.shape[:1])
    if z.ndim > 1:
        b = tnp.stack([k[i] * _polynomial(z[i]) for i in range(z.shape[0])])
    else:
        b = k * _polynomial(z)
    return b, tnp.atleast_1d(_polynomial(p))


def _polynomial(roots: Any) -> Any:
    """The coefficients of the polynomial with these zeros, which are real if the complex ones come in pairs."""
    if roots.dtype.kind not in "fc" and roots.dtype != np.int64:
        refuse("zpk2tf", "zeros or poles of this type")
    roots = roots if roots.dtype == np.int64 else _numbers(roots)
    c = product(roots)
    if dtypes.is_complex(roots.dtype):
        same = tnp.sort(roots) == tnp.sort(tnp.conjugate(roots))
        leave_if(to_raw(~tnp.all(same)), "complex coefficients of a polynomial")
        return tnp.array(c.real)
    return c


def zpk2ss(z: Any, p: Any, k: Any) -> tuple[Any, Any, Any, Any]:
    """The matrices of the system with these zeros, poles and gain."""
    return tf2ss(*zpk2tf(z, p, k))


def sos2zpk(sos: Any) -> tuple[Any, Any, Any]:
    """Zeros, poles and gain of second-order sections."""
    sos = _doubles(sos)
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    lead = (sos[:, 0] == 0) | (sos[:, 3] == 0) | (tnp.abs(sos[:, 0]) <= 1e-14 * tnp.abs(sos[:, 3]))
    leave_if(to_raw(tnp.any(lead | (sos[:, 2] == 0) | (sos[:, 5] == 0))), _BAD)
    out = []
    for part in (sos[:, :3], sos[:, 3:]):
        roots = [tnp.roots(row, strip_zeros=False) for row in part]
        out.append(tnp.concatenate(roots).astype(complex))
    return out[0], out[1], tnp.prod(sos[:, 0] / sos[:, 3])


def state_space(system: Any, complex_outputs: bool = False) -> tuple[Any, Any, Any, Any]:
    """The matrices of a system given as a tuple of any form."""
    if len(system) == 2:
        return matrices(*tf2ss(*system), complex_outputs=complex_outputs)
    if len(system) == 3:
        return matrices(*zpk2ss(*system), complex_outputs=complex_outputs)
    if len(system) == 4:
        return matrices(*system, complex_outputs=complex_outputs)
    raise ValueError("Needs 2, 3 or 4 arguments: a system as (num, den), (z, p, k) or (A, B, C, D)")


def of_tuples(fn: F, name: str, discrete: bool) -> F:
    """`fn` of a system, for objects of SciPy's classes as well: traced code gives it their tuples."""

    @functools.wraps(fn)
    def call(system: Any, *args: Any, **kwargs: Any) -> Any:
        if is_tracing() and not isinstance(system, (tuple, list)):
            system = _tuple_of(system, name, discrete)
        return fn(system, *args, **kwargs)

    return call  # type: ignore[return-value]


def _tuple_of(system: Any, name: str, discrete: bool) -> tuple[Any, ...]:
    forms = ("A", "B", "C", "D"), ("num", "den"), ("zeros", "poles", "gain")
    form = next((f for f in forms if hasattr(system, f[0])), None)
    if form is None:
        raise TypeError(f"{name}: a system is a tuple, or an object of one of SciPy's classes")
    if (system.dt is not None) != discrete:
        kind = "discrete" if discrete else "continuous"
        raise AttributeError(f"{name} can only be used with {kind}-time systems.")
    held = tuple(getattr(system, n) for n in form)
    return (*held, system.dt) if discrete else held
