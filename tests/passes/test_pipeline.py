import time

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.passes import toy
from tests.passes.toy import (
    B,
    add,
    call,
    cond,
    f64,
    i64,
    mul,
    names,
    neg,
    say,
    scan,
    sin,
    square,
    sub,
    total,
    while_,
)
from tracejit.config import config
from tracejit.passes.pipeline import PASSES, run

POINTWISE = [(add, 2), (sub, 2), (mul, 2), (neg, 1), (sin, 1), (square, 1)]


class _Programs:
    """Random programs over scalars and 3-vectors, with regions in regions."""

    def __init__(self, draw):
        self.draw = draw

    def pick(self, xs):
        return xs[self.draw(st.integers(0, len(xs) - 1))]

    def operand(self, pool, ndim):
        fit = [v for v in pool if v.aval == (f64(3) if ndim else f64())]
        if not ndim and (not fit or self.draw(st.booleans())):
            return self.pick([0.0, 1.0, -0.0, 2.0])
        return self.pick(fit) if fit else None

    def body(self, n_eqns, depth, *avals, n_out=None):
        b = B(*avals)
        pool = [v for v in b.invars if v.aval.dtype == float]
        for _ in range(n_eqns):
            pool += self.equation(b, pool, depth)
        return b, pool

    def equation(self, b, pool, depth):
        kind = self.draw(st.integers(0, 9))
        ndim = self.draw(st.integers(0, 1))
        if kind == 0 and any(v.aval == f64(3) for v in pool):
            return [b(total, self.operand(pool, 1))]
        if kind == 1:
            return [b(say, self.operand(pool, ndim) or 3.0)] if self.operand(pool, ndim) is not None else []
        if kind >= 6 and depth:
            return list(self.region(b, pool, depth - 1, kind))
        f, n = self.pick(POINTWISE)
        args = [self.operand(pool, ndim) for _ in range(n)]
        return [] if any(a is None for a in args) else [b(f, *args)]

    def region(self, b, pool, depth, kind):
        init = [self.operand(pool, 0), self.operand(pool, 0), self.operand(pool, 0)]
        if kind == 6:
            return b(call, *init[:2], jaxpr=self.closed(depth, 2, f64(), f64()))
        if kind == 7:
            branches = tuple(self.closed(depth, 2, f64(), f64(), f64()) for _ in range(2))
            index = self.pick([0, 1])
            index = index if self.draw(st.booleans()) else b(toy.lt, init[0], init[1])
            return b(cond, index, *init, branches=branches)
        if kind == 8:
            return self.loop(b, init, depth)
        body = self.closed(depth, 3, i64(), f64(), f64(), f64(), x_first=True)
        args = {"length": self.draw(st.integers(0, 3)), "bound": None, "reverse": self.draw(st.booleans())}
        return b(scan, *init, jaxpr=body, consts=1, carry=2, **args)

    def loop(self, b, init, depth):
        c = B(f64(), f64())
        test = c.done(c(toy.lt, c[0], 3.0))
        k, pool = self.body(3, depth, f64(), f64(), f64())
        body = k.done(k(add, k[1], 1.0), self.result(pool))
        return b(while_, init[0], 0.0, init[1], cond=test, body=body, cond_consts=0, body_consts=1)

    def result(self, pool):
        return self.pick([v for v in pool if not v.aval.ndim] + [0.0])

    def closed(self, depth, n_out, *avals, x_first=False):
        b, pool = self.body(self.draw(st.integers(0, 4)), depth, *avals)
        return b.done(*(self.result(pool) for _ in range(n_out)))


@st.composite
def programs(draw):
    p = _Programs(draw)
    b, pool = p.body(draw(st.integers(1, 12)), 2, f64(), f64(3))
    return b.done(*(p.pick(pool) for _ in range(draw(st.integers(1, 4)))))


def _run_logged(j, *args):
    toy.log.clear()
    with np.errstate(all="ignore"):
        out = toy.run(j, *args)
    return out, [x.tobytes() for x in toy.log]


@given(programs())
def test_random_programs_keep_values_and_effects(j):
    args = np.float64(0.7), np.array([0.5, -0.0, 2.0])
    want, want_log = _run_logged(j, *args)
    with config.override(check_types=True):
        got, got_log = _run_logged(run(j), *args)
    assert got_log == want_log
    for x, y in zip(want, got, strict=True):
        # x + 0 -> x, an identity of the toy, may turn 0.0 into -0.0: values, not bits.
        np.testing.assert_array_equal(x, y)


def test_nothing_left_to_do():
    b = B(f64(3))
    b(mul, b(sin, b[0]), 2.0)
    j = run(b.done(b(add, b(sin, b[0]), b(sin, b[0]))))
    assert names(j) == ["sin", "add"]
    assert run(j) is j


def test_watch_and_debug_show_what_changed(capsys):
    b = B(f64(3))
    b(sin, b[0])
    seen = []
    with config.override(debug=3):
        run(b.done(b[0]), lambda name, jaxpr: seen.append(name))
    assert seen == ["dce"]
    assert "-- after dce" in capsys.readouterr().err


def test_passes_are_near_linear():
    b = B(f64(3))
    x = b[0]
    for n in range(2000):
        x = b(mul if n % 2 else sin, *((x, 1.5) if n % 2 else (x,)))
    j = b.done(x)
    with config.override(check_types=False):
        for p in PASSES:
            best = min(_timed(p, j) for _ in range(3))
            assert best < 0.05 * 4, p.name  # a busy machine is given four times the goal


def _timed(p, j):
    t = time.perf_counter()
    p(j)
    return time.perf_counter() - t
