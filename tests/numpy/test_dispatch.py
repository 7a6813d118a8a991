"""Python's own messages about a call name NumPy's function; functions of other libraries."""

from __future__ import annotations

import inspect
import sys
import types
import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.numpy import dispatch


@pytest.mark.parametrize("name", ["sum", "max", "cumsum", "stack"])
def test_unknown_keywords(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'foo'"):
        tj.jit(lambda x: getattr(np, name)(x, foo=1))(np.ones(3))


def test_functions_of_libraries_enter_the_table_once_they_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def ours() -> None: ...

    def theirs() -> None: ...

    theirs.__module__ = "a_library.part"
    table = dispatch.Functions({np.sin: ours})
    monkeypatch.setattr(dispatch, "LIBRARIES", {"a_library": lambda m: {m.f: ours, np.sin: theirs}})
    assert table.get(theirs) is None
    assert table.get(theirs, 1) == 1
    monkeypatch.setitem(sys.modules, "a_library", types.SimpleNamespace(f=theirs))
    assert table.get(ours) is None and dispatch.LIBRARIES  # another's function: nobody is asked
    assert table[theirs] is table.get(theirs) is ours
    assert table.get(np.sin) is ours
    assert not dispatch.LIBRARIES
    with pytest.raises(KeyError):
        table[np.cos]


def test_creation_takes_a_device_as_numpys() -> None:
    for name in dispatch.DEVICES:
        assert "device" in inspect.signature(getattr(tj.numpy, name)).parameters
    x = np.ones(3)
    f = lambda x, d: np.zeros(3, device=d) + np.linspace(0, x[0], 3, device=d) + np.asarray(x, device=d)
    for run in (f, tj.jit(f, fallback=False)):
        assert run(x, "cpu").tolist() == run(x, None).tolist() == [1, 1.5, 2]
        with pytest.raises(ValueError, match='Only "cpu" is allowed, but received: gpu'):
            run(x, "gpu")


REFUSED: list[Any] = [
    lambda x: x.dot(x, np.zeros(()), 1),
    lambda x: x.dot(x, np.zeros(3)),
    lambda x: np.dot(x, x, x),
    lambda x: x.sum(0, None, x),
    lambda x: np.round(x, 1, out=np.zeros((2, 3))),
    lambda x: np.add.reduce(x, out=np.zeros(3)),
    lambda x: np.add.accumulate(x, out=np.zeros((2, 3))),
    lambda x: np.unique(x, axis=1),
    lambda x: np.unique(x, axis=-2),
    lambda x: np.isin(x, x, kind="zz"),  # type: ignore[call-overload]
    lambda x: x.ptp(),
]


@pytest.mark.parametrize("n", range(len(REFUSED)))
def test_what_numpy_refuses_is_refused(n: int) -> None:
    """`out=` of another shape, arguments that there are not, axes that there are not."""
    x = np.array([1.5, 2.0, -1.0])
    with pytest.raises((TypeError, ValueError, AttributeError)) as plain:
        REFUSED[n](x.copy())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.errors.FallbackWarning)
        with pytest.raises(plain.type) as said:
            tj.jit(REFUSED[n], fallback=True)(x.copy())
    assert isinstance(said.value, tj.TracejitError) or str(said.value) == str(plain.value)


def test_ufuncs_broadcast_into_outputs() -> None:
    def f(x: Any) -> Any:
        return np.add(x, 1, out=np.zeros((2, 3))), np.clip(x, 0, 1, out=np.zeros((2, 3)))

    x = np.array([1.5, 2.0, -1.0])
    for got, want in zip(tj.jit(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(got, want)
