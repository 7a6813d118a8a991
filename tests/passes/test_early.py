"""early: checks come first, as far as nothing that is overwritten is in their way."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj
from tracejit.passes.early import early


def _ops(jaxpr: Any) -> list[str]:
    return [e.op.name for e in jaxpr.eqns]


def _program(f: Any, *args: Any) -> Any:
    jitted = tj.jit(f)
    jitted(*args)
    ((program,),) = jitted._programs.values()
    return program


def test_a_check_comes_before_what_it_does_not_need():
    def f(u: Any, dt: Any, dx: Any) -> Any:
        u *= 2
        u += dt / dx

    program = _program(f, np.ones(1000), 1.0, 2.0)
    moved = early(program.jaxpr)
    assert moved.eqns != program.jaxpr.eqns and sorted(_ops(moved)) == sorted(_ops(program.jaxpr))
    checks = [n for n, e in enumerate(moved.eqns) if e.effects]
    assert checks and all(not e.outvars[0].aval.shape for e in moved.eqns[: checks[-1]])
    (compiled,) = program.machine_code.values()
    assert compiled.lowered.temporary_bytes == 0  # in place
    assert early(moved) is moved


def test_a_check_of_what_was_updated_stays():
    def f(u: Any, i: Any) -> Any:
        first = u[i[0]]
        i[1] = 2 * i[0]
        return first + u[i[1]]

    program = _program(f, np.ones(100), np.array([3, 4]))
    moved = early(program.jaxpr)
    checks = [n for n, e in enumerate(moved.eqns) if e.effects]
    assert checks[0] < _ops(moved).index("slice_update") < checks[-1]


def test_programs_that_call_out_keep_their_order():
    def f(u: Any, i: Any) -> Any:
        u[0] = 5
        tj.debug.callback(lambda x: None, u)
        return u[i]

    program = _program(f, np.ones(100), 3)
    assert early(program.jaxpr) is program.jaxpr


def test_calls_that_write_and_may_fail_have_a_fast_path():
    def f(u: Any, d: Any) -> Any:
        u += 1 / d

    jitted = tj.jit(f, fallback=True)
    u = np.zeros(3)
    for _ in range(3):
        jitted(u, 2.0)
    assert jitted._near and u.tolist() == [1.5] * 3
