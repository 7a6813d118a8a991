"""The floor of everything: the current trace, boxes, storages, and what counts as a value."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import ArraySubclassError, LeakedTracerError, NotAnArrayError, UnknownDtypeError
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.avals import aval_of
from tracejit.tracing import (
    TRACING,
    Box,
    Storage,
    Trace,
    box,
    call_user,
    check_live,
    current_trace,
    is_tracing,
    new_trace,
    to_raw,
    unbox,
    use_trace,
    wrap,
)

X = np.ones(3)


def test_the_current_trace_is_restored_whatever_happens() -> None:
    trace = Trace(ROOT)
    with pytest.raises(ZeroDivisionError), use_trace(trace):
        assert current_trace() is trace and is_tracing()
        1 / 0
    assert current_trace() is ROOT and not is_tracing() and trace.live
    with new_trace(trace):
        pass
    assert not trace.live and trace.level == ROOT.level + 1


def test_each_thread_has_its_own() -> None:
    seen: list[bool] = []
    with use_trace(Trace(ROOT)):
        thread = threading.Thread(target=lambda: seen.append(is_tracing()))
        thread.start()
        thread.join()
    assert seen == [False]


def test_threads_that_trace_are_known_until_they_stop() -> None:
    here = threading.get_ident()
    assert here not in TRACING
    with use_trace(Trace(ROOT)):
        with use_trace(ROOT):  # as users' rules run: what surrounds them still traces
            with use_trace(Trace(ROOT)):
                assert here in TRACING
            assert here in TRACING
        assert here in TRACING and is_tracing()
    assert here not in TRACING


def test_boxes_share_storage_and_see_writes() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        view = x[1:]
        seen.append((isinstance(x.storage, Storage), view.storage is x.storage, x.storage.version))
        view[0] = 5.0
        seen.append(x.storage.version)
        return x

    assert tj.grad(lambda x: f(x).sum())(X).tolist() == [1, 0, 1]
    assert seen == [(True, True, 0), 1]


def test_wrapping_depends_on_the_trace() -> None:
    assert wrap(X) is X and unbox(X) is X
    with use_trace(StageTrace(ROOT)):
        b = wrap(X)
        assert type(b) is Box and unbox(b) is X and b.aval == aval_of(X)


@pytest.mark.parametrize(
    ("x", "kind"),
    [(1, np.int64), (1.5, np.float64), (True, np.bool_), (2j, np.complex128), (np.int8(1), np.int8)],
)
def test_scalars_become_numpys(x: Any, kind: type) -> None:
    assert type(to_raw(x)) is kind


def test_what_is_no_value() -> None:
    with pytest.raises(NotAnArrayError):
        to_raw(np.float64)
    with pytest.raises(NotAnArrayError, match="an argument is a str"):
        to_raw("text", "an argument")
    with pytest.raises(UnknownDtypeError):
        to_raw(np.array(["a"]))
    with pytest.raises(NotAnArrayError):
        to_raw(None)


def test_subclasses_and_array_likes() -> None:
    class Like:
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return np.arange(2.0)

    assert type(to_raw(np.ones(3).view(type("Sub", (np.ndarray,), {})))) is np.ndarray
    assert to_raw(Like()).tolist() == [0, 1]  # type: ignore[union-attr]


def test_python_scalars_are_weak_boxes() -> None:
    seen: list[tuple[bool, bool]] = []
    tj.make_jaxpr(lambda a, b, c: seen.extend((v.weak, v.scalar) for v in (a, b, c)) or a)(
        1.0, np.float64(1), X
    )
    assert [weak for weak, _ in seen] == [True, False, False]
    with use_trace(StageTrace(ROOT)):
        assert box(np.float64(1.0), weak=True).weak and not box(X).scalar


def test_dead_tracers() -> None:
    trace = StageTrace(ROOT)
    v = trace.arg(aval_of(X))
    check_live(v)
    with new_trace(trace):
        pass
    with pytest.raises(LeakedTracerError):
        check_live(v)


def test_user_functions_are_called_over_tracing_numpy() -> None:
    (eqn,) = tj.make_jaxpr(lambda x: call_user(lambda y: np.sin(y), x))(X).jaxpr.eqns
    assert eqn.op.name == "sin"


def test_arrays_with_other_semantics_are_refused() -> None:
    square = np.array([[1.0, 2.0], [3.0, 4.0]])
    f, g = tj.jit(np.sum), tj.jit(lambda x: x * x)
    assert f(np.ones(2)) == 2.0 and g(square).tolist() == [[1, 4], [9, 16]]
    with pytest.raises(ArraySubclassError, match="MaskedConstant"):
        f(np.ma.masked)
    with pytest.raises(ArraySubclassError, match="matrix"), pytest.warns(PendingDeprecationWarning):
        g(np.matrix(square))
