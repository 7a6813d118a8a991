"""Printed files run without tracejit, and compute what the LLVM target computes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from examples.programs import PROGRAMS
from tests.cases import CASES
from tests.lowering.printing import check, check_function, loaded
from tests.lowering.running import trace_closed
from tracejit.errors import NotPrintableError
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.expand import expand
from tracejit.passes import pipeline
from tracejit.tracing import use_trace

QUICK = ["binary_search"]
QUICK_GRADS = ["upwind"]
#: Rule cases of several kinds of kernels.
SAMPLE = ["imag"]


def _sum_of_floats(f: Any) -> Any:
    def g(*args: Any) -> Any:
        return sum(np.sum(x) for x in tj.tree.leaves(f(*args)) if np.asarray(x).dtype.kind == "f")

    return g


def _check_program(name: str, differentiated: bool) -> None:
    p = PROGRAMS[name]
    f = tj.grad(_sum_of_floats(p.f), argnums=p.wrt) if differentiated else p.f
    check_function(f, *p.make(np.random.default_rng(1), p.size), static_argnums=p.static or None)


@pytest.mark.parametrize("name", QUICK)
def test_programs(name: str) -> None:
    _check_program(name, False)


@pytest.mark.parametrize("name", QUICK_GRADS)
def test_gradients_of_programs(name: str) -> None:
    _check_program(name, True)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_programs(name: str) -> None:
    _check_program(name, False)
    if PROGRAMS[name].wrt:
        _check_program(name, True)


@pytest.mark.parametrize("name", SAMPLE)
def test_rule_cases(name: str) -> None:
    _check_cases(name, 1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", sorted(CASES))
def test_all_rule_cases(name: str) -> None:
    _check_cases(name, len(CASES[name]))


def _check_cases(name: str, count: int) -> None:
    for case in CASES[name][:count]:
        args = [np.asarray(a) for a in case.args()]
        jaxpr, consts = trace_closed(case.fn, *args)
        with use_trace(ROOT):
            jaxpr = pipeline.run(expand(jaxpr))
        try:
            check(jaxpr, *consts, *args)
        except NotPrintableError:
            continue


def test_files_run_without_tracejit(tmp_path: Path) -> None:
    """Loops, a branch, a check that fails, a captured array and a written argument, in a process of its own."""
    weights = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    def model(x: Any, counts: Any, at: int) -> Any:
        counts[at] += 1
        total = 0.0
        for v in x:
            if v < 0:
                break
            total += np.tanh(v) * counts[at]
        return np.exp(-x) @ weights, total

    x, counts = np.array([0.5, 1.5, -2.0]), np.array([3, 4])
    tj.export_numba(model, x, counts, 1, path=tmp_path / "printed.py")
    text = (tmp_path / "printed.py").read_text(encoding="utf-8")
    assert (
        text.startswith('"""') and "model(f64[3], i64[2]" in text.splitlines()[0] and tj.__version__ in text
    )
    assert "# counts[at] += 1  (test_module.py:" in text and "import tracejit" not in text
    script = """
import sys, numpy as np
from printed import model
x, counts = np.array([0.5, 1.5, -2.0]), np.array([3, 4])
out = model(x, counts, 1)
assert "tracejit" not in sys.modules
try:
    model(x, counts, 2)
except IndexError as e:
    print(e)
print(repr([x.tolist() for x in out[:2]]), counts.tolist())
"""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    message, results = done.stdout.splitlines()
    assert message == "index 2 is out of bounds for axis 0 with size 2."
    want = model(x, counts, 1)
    got = eval(results.rpartition(" [")[0])
    assert np.allclose(got[0], want[0], rtol=1e-14) and np.isclose(got[1], want[1], rtol=1e-14)
    assert results.endswith(" [3, 5]")


def test_functions_of_numpy_are_called_as_such() -> None:
    """Those without native code, and NumPy's sorting; what their params make another thing is refused."""

    def f(a: Any, x: Any) -> Any:
        return np.linalg.svd(a, full_matrices=False), np.fft.rfft(x, norm="ortho"), np.sort(x), np.argsort(x)

    rng = np.random.default_rng(0)
    check_function(f, rng.normal(size=(6, 4)), rng.normal(size=300))
    quiet = tj.jit(tj.lax.linalg.svd).lower(np.eye(6)).compile()  # NaN instead of exceptions
    with pytest.raises(NotPrintableError, match="'svd'"):
        quiet.as_text("numba")


def test_large_whole_numbers_and_dtypes_that_numpy_does_not_have(tmp_path: Path) -> None:
    check_function(lambda x: (x.astype(np.uint64), x.astype(np.uint32)), np.array([0.0, 1.5, 3e9]))
    check_function(lambda x: x.astype(np.uint64), np.array([1.8e19, 2.0**63, 7.0]))
    with pytest.raises(NotPrintableError, match="bfloat16"):
        tj.export_numba(lambda x: x + x, np.ones(3, tj.dtypes.bfloat16), path=tmp_path / "printed.py")


def test_what_calls_python_is_refused() -> None:
    compiled = tj.jit(lambda x: tj.pure_callback(np.sort, x, x)).lower(np.ones(3)).compile()
    with pytest.raises(NotPrintableError, match="a call of Python's"):
        compiled.as_text("numba")


def test_loops_that_threads_share_are_said_to_be_parallel() -> None:
    compiled = tj.jit(lambda x: np.exp(x) * np.sin(x)).lower(np.ones(400_000)).compile()
    text = compiled.as_text("numba")
    assert "numba.prange(400000)" in text and "parallel=True" in text


def outcome(f: Any, *args: Any) -> Any:
    try:
        return [np.asarray(x).tolist() for x in f(*args)]
    except Exception as e:
        return type(e), str(e)


def test_a_function_is_not_the_type_of_its_name() -> None:
    """`i1` is a Bessel function, and int8."""

    def f(x: Any, k: Any) -> Any:
        return tj.scipy.special.i1(x), x.astype(np.int8) + k.astype(np.int8)

    args = np.array([0.25, -0.9, 1.2]), np.array([1, 2, 300])
    space = loaded(tj.jit(f).lower(*args).compile().as_text("numba"))
    got = outcome(space["f"], *args)
    assert got == outcome(tj.jit(f), *args) == outcome(tj.jit(f, backend="numba"), *args)
    np.testing.assert_allclose(got, outcome(f, *args), rtol=1e-15)


def test_exceptions_that_depend_on_the_number_are_numpys() -> None:
    def f(value: Any, x: Any, n: Any, k: Any) -> Any:
        v = x.astype(np.int32)
        v[::-2] = value
        return v, n // k

    x, n = np.arange(4.0), np.int64(7)
    printed = loaded(tj.jit(f).lower(np.float64(1), x, n, n).compile().as_text("numba"))["f"]
    for value in (np.nan, np.inf, 1e300, -2.5e9, 5.0):
        args = np.float64(value), x, n, np.int64(2)
        assert outcome(printed, *args) == outcome(f, *args), value


def test_a_check_of_several_things_says_which_it_was() -> None:
    def f(x: Any) -> Any:
        n = int(x[0])
        return x * n, x + n

    printed = loaded(tj.jit(f).lower(np.ones(2)).compile().as_text("numba"))["f"]
    for value in (np.nan, np.inf, -np.inf, -2.5):
        assert outcome(printed, np.full(2, value)) == outcome(f, np.full(2, value)), value
