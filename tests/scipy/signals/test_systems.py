"""Linear systems: SciPy's forms and responses, derivatives by differences; what SciPy warns of is left to Python."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.signal as ss

import tracejit as tj

RNG = np.random.default_rng(3)
NUM, DEN, CUBIC = np.array([0.2, 0.3, 0.1]), np.array([1, -0.4, 0.1]), np.array([1.0, 2.0, 3.0, 1.5])
A, B, C, D = (
    RNG.normal(size=(3, 3)) - 3 * np.eye(3),
    RNG.normal(size=(3, 1)),
    RNG.normal(size=(1, 3)),
    np.ones((1, 1)),
)
TWO, FEED = RNG.normal(size=(3, 2)), RNG.normal(size=(1, 2))
TURN = np.array([[0, 5.0, 0], [-5, 0, 0], [0, 0, 0]])
T = np.linspace(0, 3, 25)
U, W = np.sin(T), np.logspace(-1, 1, 7)
Z = np.array([-1.0, -0.5])
SOS = np.array([[0.2, 0.3, 0.4, 1, 0.1, 0.5], [1.0, 0.2, 0.4, 1, -0.2, 0.3]])
MADE = ss.lti(NUM, CUBIC)


def system(a: Any) -> Any:
    return ss.StateSpace(a, B, C, D)


def parts(s: Any) -> Any:
    return s.A, s.B, s.C, s.D


CASES: dict[str, tuple[Any, ...]] = {
    "tf2ss": (ss.tf2ss, NUM, DEN),
    "tf2ss, fewer zeros": (ss.tf2ss, NUM, CUBIC),
    "ss2tf": (ss.ss2tf, A, B, C, D),
    "ss2tf, an input": (lambda a, b: ss.ss2tf(a, b, C, FEED, input=1), A, TWO),
    "tf2zpk": (ss.tf2zpk, np.array([1, 0.3, 2]), DEN),
    "ss2zpk": (ss.ss2zpk, A - TURN, B, C, D),
    "zpk2ss": (ss.zpk2ss, Z, Z * 2 - 0.1, 2.0),
    "zpk2tf": (lambda z, p: ss.zpk2tf([z + 1j, z - 1j], p, 2.0), -1.0, Z),
    "zpk2tf, rows": (lambda z, p: ss.zpk2tf(z, p, 2.0), np.stack([Z, Z + 1]), Z),
    "sos2zpk": (ss.sos2zpk, SOS),
    "lsim": (lambda b, a, u: ss.lsim((b, a), u, T), NUM, CUBIC, U),
    "lsim, steps": (lambda a, b, u: ss.lsim((a, b, C, D), u, T + 0.5, [1.0, 2, 3], interp=False), A, B, U),
    "impulse": (lambda b, a: ss.impulse((b, a), T=T), NUM, CUBIC),
    "impulse, times": (lambda a: ss.impulse((a, B, C, D)), A),
    "step": (lambda b, a: ss.step((b, a), N=30), NUM, CUBIC),
    "freqresp": (lambda b, a: ss.freqresp((b, a), W), NUM, CUBIC),
    "freqresp, frequencies": (lambda a: ss.freqresp((a, B, C, D), n=50), A),
    "freqresp, zeros": (lambda z, p: ss.freqresp((z, p, 2.0), W), Z, Z - 0.1),
    "bode": (lambda b, a: ss.bode((b, a)), NUM, CUBIC),
    "bode, matrices": (lambda a: ss.bode((a, B, C, D), W), A),
    "dfreqresp": (lambda b, a: ss.dfreqresp((b, a, 0.1), n=20, whole=True), NUM, DEN),
    "dbode": (lambda a: ss.dbode((a / 9, B, C, D, 0.1), n=20), A),
    "dlsim": (lambda b, a, u: ss.dlsim((b, a, 0.1), u), NUM, DEN, U),
    "dlsim, matrices": (lambda a, u: ss.dlsim((a / 9, B, C, D, 0.1), u, x0=np.ones(3)), A, U),
    "dimpulse": (lambda b, a: ss.dimpulse((b, a, 0.1), n=12), NUM, DEN),
    "dstep": (lambda a: ss.dstep((a / 9, TWO, C, FEED, 0.1), n=12), A),
    "butter": (lambda x: ss.butter(3, [x, 2 * x], "bandpass"), 0.3),
    "cheby2": (lambda x: ss.cheby2(3, 20.0, x, "high"), 0.3),
    "analog": (lambda x: ss.iirfilter(4, x, btype="low", analog=True), 0.3),
    "objects": (lambda b, a: ss.lti(b, a).impulse(T=T), NUM, CUBIC),
    "objects, conversions": (lambda b, a: parts(ss.TransferFunction(b, a).to_ss()), NUM, CUBIC),
    "objects, arithmetic": (lambda a, c: parts(2 * system(a) * system(a.T) + system(a) - c), A, 0.5),
    "objects, discrete": (lambda b, a: ss.dlti(b, a, dt=0.1).step(n=9), NUM, DEN),
    "objects, bode": (lambda b, a: ss.TransferFunction(b, a).bode(n=12), NUM, CUBIC),
    "objects, discrete bode": (lambda b, a: ss.TransferFunction(b, a, dt=0.1).bode(n=12), NUM, DEN),
    "objects, sampled": (lambda a: parts(system(a).to_discrete(0.1)), A),
    "objects, gain": (lambda z, k: ss.ZerosPolesGain(z, Z, k).output(U, T)[1], Z, 2.0),
    "objects, given": (lambda u: (ss.lsim(MADE, u, T)[1], MADE.output(u, T)[1]), U),
    "objects, poles": (lambda a: ss.lti([1.0], a).poles, np.array([1, 0.3, 2])),
    "dlsim, times": (lambda b, u: ss.dlsim((b, DEN, 0.1), u, t=[0.0, 0.3, 0.4])[1], NUM, U[:3]),
    "CZT": (lambda u: ss.CZT(25, 7)(u), U),
    "ZoomFFT": (lambda u: ss.ZoomFFT(5, [0.1, 0.3])(u.reshape(5, 5), axis=0), U),
    "a filter": (lambda x: ss.lfilter(*ss.ellip(3, 1.0, 40.0, x), U), 0.3),
}  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str, thorough: bool) -> None:
    f, *args = CASES[name]

    def along(t: Any) -> Any:
        out = f(*[x * (1 + 0.3 * t) + 0.1 * t for x in args])
        return sum(tj.numpy.sum(tj.numpy.abs(v) ** 2) for v in tj.tree.leaves(out))

    compiled = tj.jit(lambda *args: f(*args))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.BadCoefficients)
        for got, want in zip(tj.tree.leaves(compiled(*args)), tj.tree.leaves(f(*args)), strict=True):
            assert np.shape(got) == np.shape(want)
            assert np.asarray(got).dtype == np.asarray(want).dtype
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)
        near = (along(1e-6) - along(-1e-6)) / 2e-6
    assert "library_call" not in compiled.lower(*args).as_text("jaxpr")
    if thorough:
        np.testing.assert_allclose(tj.jit(tj.grad(along))(0.0), near, rtol=1e-5, atol=1e-6)


def test_many_at_once() -> None:
    many = np.stack([DEN, DEN * [1, 0.5, 2]])
    got = tj.jit(tj.vmap(lambda a: ss.dlsim((NUM, a, 0.1), U)[1]))(many)
    np.testing.assert_allclose(got, [ss.dlsim((NUM, a, 0.1), U)[1] for a in many])


def test_what_python_does() -> None:
    """Real zeros have another dtype in NumPy, zeros at the origin an order of their own."""
    for f, *args in (
        (ss.tf2zpk, np.array([1.0, 3, 2]), DEN),
        (ss.tf2zpk, np.array([1.0, 3, 0]), DEN),
        (lambda z, p: ss.zpk2tf(z, p, 1.0), np.array([1j, 2.0]), Z),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tj.errors.FallbackWarning)
            got = tj.jit(lambda *args, f=f: f(*args), fallback=True)(*args)
        for g, w in zip(got, f(*args), strict=True):
            assert np.asarray(g).dtype == np.asarray(w).dtype
            np.testing.assert_array_equal(g, w)


def test_failures() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.errors.FallbackWarning)
        with pytest.raises(ValueError, match="equally spaced"):
            tj.jit(lambda t: ss.lsim((NUM, CUBIC), U, t), fallback=True)(T**2)
    with pytest.raises(ValueError, match="Improper"):
        tj.jit(lambda b: ss.tf2ss(b, DEN))(CUBIC)
    with pytest.raises(ValueError, match="input specified"):
        tj.jit(lambda a: ss.ss2tf(a, B, C, D, input=2))(A)
    with pytest.raises(AttributeError, match="discrete-time"):
        tj.jit(lambda b: ss.dlsim(ss.lti(b, CUBIC), U))(NUM)
    with pytest.raises(AttributeError, match="continuous-time"):
        tj.jit(lambda b: ss.lsim(ss.dlti(b, CUBIC), U, T))(NUM)
    with pytest.raises(ValueError, match="SISO"):
        tj.jit(lambda a: ss.freqresp((a, TWO, C, FEED)))(A)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "kinds", [(np.float32, np.float32), (np.float32, float), (int, np.float32), (complex, float)]
)
def test_precisions_are_scipys(kinds: tuple[Any, Any]) -> None:
    b, a = (
        np.array(c).astype(kind) for c, kind in zip(([2.0, 1.0, 3.0], [4.0, 1.0, 2.0]), kinds, strict=True)
    )
    b = b * (1 + 0.5j) if kinds[0] is complex else b
    calls = {
        ss.normalize: (b, a),
        ss.tf2ss: (b, a),
        ss.zpk2tf: (b.real, a, 2.0),
        ss.freqresp: ((b.real, a, 2), W),
        ss.step: ((b, a), None, T),
    }
    for f, given in calls.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = f(*given)
        for x, y in zip(want, tj.jit(f)(*given), strict=True):
            assert (x.dtype, x.shape) == (y.dtype, y.shape)
            close = 1e-5 if x.dtype in (np.float32, np.complex64) else 1e-11
            np.testing.assert_allclose(y, x, rtol=close, atol=close)
    assert len(tj.jit(ss.freqresp)((NUM, CUBIC), 5)[0]) == 5
