"""scan against unrolled Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.control.oracle import check, close
from tracejit import lax
from tracejit.api.autodiff.derivatives import grad, jvp
from tracejit.errors import CarryStructureError, CarryTypeError, LoopLengthError, ScanResultError

RNG = np.random.default_rng(0)
XS = RNG.normal(size=(4, 3))
C0 = np.array([1.0, 0.5, -0.3])
W = RNG.normal(size=(3, 3)) * 0.4


def unrolled(f: Any, c: Any, xs: Any, reverse: bool = False) -> Any:
    ys = []
    rows = range(len(xs))
    for k in reversed(rows) if reverse else rows:
        c, y = f(c, xs[k])
        ys.append(y)
    return c, np.stack(ys[::-1] if reverse else ys)


def step(c: Any, x: Any) -> Any:
    c = np.sin(c) * x + 0.9 * c
    return c, c * c


@pytest.mark.sample(4)
@pytest.mark.parametrize("reverse", [False, True])
def test_carry_and_slices(run: Any, reverse: bool) -> None:
    check(
        lambda c, xs: lax.scan(step, c, xs, reverse=reverse),
        lambda c, xs: unrolled(step, c, xs, reverse),
        C0,
        XS,
        run=run,
    )


@pytest.mark.sample(2)
def test_constants_accumulate_cotangents(run: Any) -> None:
    def loop(scan: Any) -> Any:
        def f(w: Any, c: Any, xs: Any) -> Any:
            def body(c: Any, x: Any) -> Any:
                c = np.tanh(w @ c + x)
                return c, c[0]

            return scan(body, c, xs)

        return f

    check(loop(lax.scan), loop(unrolled), W, C0, XS, run=run)


def test_scalar_carry_and_python_start(run: Any) -> None:
    def f(scan: Any) -> Any:
        return lambda xs: scan(lambda c, x: (c + x * x, c), 0.0, xs)

    def oracle(xs: Any) -> Any:
        c, ys = f(unrolled)(xs)
        return np.float64(c), np.asarray(ys, np.float64)

    check(f(lax.scan), oracle, XS[:, 0], run=run)


@pytest.mark.sample(2)
def test_two_carries_of_which_one_gets_its_tangent_late(run: Any) -> None:
    def loop(scan: Any) -> Any:
        def f(x: Any) -> Any:
            def body(c: Any, _: Any) -> Any:
                a, b, d = c
                return (x * 1.0, a * a, b + d), d * 2.0

            one = np.float64(1.0)
            return scan(body, (one, one, one), np.zeros(4))

        return f

    check(loop(lax.scan), loop(unrolled), np.float64(0.7), run=run)


@pytest.mark.sample(2)
def test_nested(run: Any) -> None:
    def loop(scan: Any) -> Any:
        def outer(c: Any, x: Any) -> Any:
            c, ys = scan(lambda d, z: (d * 0.5 + z * c[0], d[1] * z), c, x)
            return c, ys

        return lambda c, xs: scan(outer, c, xs)

    check(loop(lax.scan), loop(unrolled), C0[:2], RNG.normal(size=(3, 2)), run=run, second=False)


def test_length_zero(run: Any) -> None:
    def f(c: Any, xs: Any) -> Any:
        return lax.scan(step, c, xs)

    empty = np.zeros((0, 3))
    c, ys = run(f)(C0, empty)
    close((c, ys), (C0, np.zeros((0, 3))))
    g = run(grad(lambda c, xs: lax.reduce_sum(f(c, xs)[0], (0,)), (0, 1)))(C0, empty)
    close(g, (np.ones(3), empty))


@pytest.mark.sample(2)
def test_no_xs(run: Any) -> None:
    def f(c: Any) -> Any:
        return lax.scan(lambda c, _: (c * 1.1, None), c, length=3)[0]

    check(f, lambda c: c * 1.1 * 1.1 * 1.1, C0, run=run)


@pytest.mark.sample(2)
def test_writes_into_the_carry_stay_inside(run: Any) -> None:
    start = np.zeros(4)

    def f(c: Any, xs: Any) -> Any:
        def body(c: Any, x: Any) -> Any:
            c[0] += x
            c[1:] = c[:-1] * 1.0
            return c, c[3]

        return lax.scan(body, c, xs)

    def oracle(c: Any, xs: Any) -> Any:
        c = c.copy()
        ys = []
        for x in xs:
            c[0] += x
            c[1:] = c[:-1].copy()
            ys.append(c[3])
        return c, np.array(ys)

    check(f, oracle, start + 0.5, np.arange(5.0), run=run)
    assert (start == 0).all()


def test_tree_of_everything(run: Any) -> None:
    xs = {"a": XS, "n": np.arange(4)}

    def f(scan: Any) -> Any:
        def body(c: Any, x: Any) -> Any:
            return {"k": c["k"] + x["n"], "v": c["v"] + x["a"]}, (x["n"] * 2, None, c["v"][0])

        return scan(body, {"k": np.int64(0), "v": C0}, xs)

    c, ys = run(lambda: f(lax.scan))()
    close(c, {"k": np.int64(6), "v": C0 + XS.sum(0)})
    close(ys[0], np.arange(4) * 2)
    assert ys[1] is None


def test_integers_have_no_tangents(run: Any) -> None:
    def f(x: Any) -> Any:
        def body(c: Any, k: Any) -> Any:
            n, v = c
            return (n + k, v * x), n

        (_, v), _ = lax.scan(body, (np.int64(0), np.float64(1.0)), np.arange(4))
        return v

    assert run(grad(f))(2.0) == pytest.approx(4 * 2.0**3)
    assert run(lambda: jvp(f, (2.0,), (1.0,)))()[1] == pytest.approx(32.0)


def test_promotes_python_scalars(run: Any) -> None:
    total, _ = run(lambda xs: lax.scan(lambda c, x: (c + x, None), 0, xs))(np.ones(3, np.float32))
    assert total == 3
    assert total.dtype == np.float32


def test_errors() -> None:
    with pytest.raises(CarryTypeError, match=r"carry\[0\].*f64\[3\].*f64\[2\]"):
        lax.scan(lambda c, x: ((c[0][:2],), None), (C0,), XS)
    with pytest.raises(CarryStructureError):
        lax.scan(lambda c, x: ((c, c), None), C0, XS)
    with pytest.raises(LoopLengthError):
        lax.scan(lambda c, x: (c, None), C0)
    with pytest.raises(LoopLengthError, match="length 3"):
        lax.scan(lambda c, x: (c, None), C0, (np.ones(4), np.ones(3)))
    with pytest.raises(ScanResultError):
        lax.scan(lambda c, x: c, C0, XS)


@pytest.mark.sample(2)
def test_map(run: Any) -> None:
    def f(x: Any) -> Any:
        return np.sin(x) * x[0]

    check(lambda xs: lax.map(f, xs), lambda xs: np.stack([f(x) for x in xs]), XS, run=run)
