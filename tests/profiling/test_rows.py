"""Rows: names, sums by hand, and (exhaustive) sums beside clocks on ten programs."""

from __future__ import annotations

import copy
import time

import numpy as np
import pytest

import tracejit as tj
from examples.programs import PROGRAMS
from tracejit.interpreters.jit_profiled import Probe, label
from tracejit.profiling.rows import Row, by_line

#: Programs at sizes at which a call takes about a thousandth of a second or more.
LARGE = {
    "asian_option": 300,
    "cholesky": 300,
    "conjugate_gradient": 500,
    "deriche": 300,
    "fdtd_2d": 300,
    "floyd_warshall_rows": 150,
    "lasso": 100,
    "mandelbrot": 200,
    "plasma": 200,
    "error_diffusion": 200,
}


def test_names():
    named = lambda kind, what: label(Probe(kind, what))
    assert named("nest", "let c:f64[3,4] = tanh b   # a.py:3") == "tanh f64[3,4]"
    assert named("loop", "let a:f64[] b:i64[2] = scan[length=3, jaxpr=<for>] c") == "loop: scan f64[]"
    assert named("copy", "let a:f64[9] = scan[x=1] c") == "copy for scan f64[9]"
    assert named("nest", "main") == "main"
    assert named("entry", "main") == "machine code"


def test_no_time_is_counted_twice():
    """Python's functions are inside of the callbacks that call them, in the program and in what it is called by."""
    shape = tj.ShapeDtypeStruct((), float)

    def slow(x):
        time.sleep(0.02)
        return x + 1

    @tj.jit
    def f(x):
        y = tj.pure_callback(slow, shape, x)
        return tj.pure_callback(lambda a: a * 2, shape, y) + y

    with tj.profile() as p:
        for n in range(4):
            assert f(float(n)) == 3 * (n + 1)
    (whole,) = [r.total for r in p.rows if r.kind == "call"]
    assert 0.08 <= sum(r.own for r in p.rows) <= 1.1 * whole
    assert sum(r.own for r in p.rows if r.kind == "callback" and r.name.startswith("Python")) >= 0.08


def test_lines():
    rows = [
        Row("nest", "a", "f.py", line, "f", 1, 2.0, own, 0, 0, 0, 0)
        for line, own in ((3, 1.0), (3, 0.5), (4, 2.0))
    ]
    assert by_line(rows) == {("f.py", 3): 1.5, ("f.py", 4): 2.0}


def _calls(name):
    p = PROGRAMS[name]
    args = p.make(np.random.default_rng(0), LARGE[name])
    f = tj.jit(p.f, static_argnums=p.static)
    f(*copy.deepcopy(args))
    return lambda: f(*args)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", LARGE)
def test_sums_are_within_five_percent_of_the_clock(name):
    with tj.config.override(num_threads=1):
        call = _calls(name)
        with tj.profile():
            call()  # the twin is compiled
        with tj.profile() as p:
            start = time.perf_counter()
            for _ in range(10):
                call()
            wall = time.perf_counter() - start
    assert sum(r.own for r in p.rows) == pytest.approx(wall, rel=0.05)
    entry = sum(r.total for r in p.rows if r.kind == "entry")
    unnamed = sum(r.own for r in p.rows if r.kind == "entry")
    assert unnamed <= 0.05 * entry  # what is in no nest, loop or call


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", LARGE)
def test_measuring_costs_five_percent_at_most(name):
    """A probe costs some 40 ns; clocks of a busy machine don't tell a twentieth, so it is counted how many ran."""
    with tj.config.override(num_threads=1):
        call = _calls(name)
        with tj.profile() as p:
            for _ in range(5):
                call()
    total = sum(r.total for r in p.rows if r.kind == "entry")
    native = ("entry", "part", "loop", "nest", "blas", "copy", "branch", "call")
    probes = sum(r.count for r in p.rows if r.kind in native)
    assert probes * 60e-9 <= 0.05 * total
