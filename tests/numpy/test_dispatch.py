"""Python's own messages about a call name NumPy's function; functions of other libraries."""

from __future__ import annotations

import inspect
import sys
import types

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
