"""Modules: NumPy rebound, the user's guarded, imports inside functions."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
from numpy import sin, sqrt

from tests.frontend.fake import FakeCapture, Marked, module, traced
from tracejit.errors import CapturedWriteError, RandomStateError
from tracejit.frontend import Session
from tracejit.frontend.shadows import modules
from tracejit.ir.avals import Aval
from tracejit.tracing import Box, Storage, current_trace


@pytest.fixture(autouse=True)
def ours(monkeypatch):
    """A namespace in the place of tracejit.numpy."""
    namespace = types.SimpleNamespace(sin=lambda x: ("our sin", x), linalg=None)
    linalg = types.SimpleNamespace(norm=lambda x: ("our norm", x))
    monkeypatch.setattr(modules, "REBIND", {"numpy": namespace, "numpy.linalg": linalg})
    monkeypatch.setattr(modules, "_stand_ins", {})  # they remember what they found
    table = {np.sin: namespace.sin, np.linalg.norm: linalg.norm, np.empty: np.empty}
    monkeypatch.setattr(modules, "CALLABLES", table)


def test_numpy_is_rebound():
    assert traced(lambda: np.sin(1))[0] == ("our sin", 1)
    assert traced(lambda: np.linalg.norm(1))[0] == ("our norm", 1)
    assert traced(lambda: np.float64(2.0))[0] == 2.0
    assert traced(lambda: np.pi)[0] == np.pi
    with pytest.raises(AttributeError, match=r"module 'numpy' has no attribute 'nothing'"):
        traced(lambda: np.nothing)


def test_names_imported_from_numpy():
    assert traced(lambda: sin(1))[0] == ("our sin", 1)
    assert traced(lambda: sqrt(4.0))[0] == 2.0


def test_imports_inside_functions():
    def f():
        import numpy as xp
        import numpy.linalg as la
        from numpy import linalg, sin

        again = __import__("numpy")
        return xp.sin(1), la.norm(2), linalg.norm(3), sin(4), again.sin(5)

    assert traced(f)[0] == (
        *(("our sin", 1), ("our norm", 2), ("our norm", 3)),
        *(("our sin", 4), ("our sin", 5)),
    )


def test_numpy_in_a_cell():
    def make():
        import numpy as xp

        return lambda: xp.sin(1)

    assert traced(make())[0] == ("our sin", 1)


def test_isinstance_of_ndarray_holds_for_boxes():
    b = Box(Storage(np.ones(2), current_trace()), (), Aval((2,), np.dtype(float)))
    f = lambda x: (isinstance(x, np.ndarray), type(x) is np.ndarray, type(x) == np.ndarray)  # noqa: E721
    assert traced(f, b)[0] == (True, True, True)
    assert traced(f, 1.0)[0] == (False, False, False)
    assert traced(lambda: np.ndarray((2, 3)).shape)[0] == (2, 3)
    assert traced(lambda: np.ndarray.sum(np.ones(3)))[0] == 3


def test_random_numbers_are_told_and_noticed():
    capture = FakeCapture()
    with pytest.raises(RandomStateError, match="not followed"):
        Session(capture).run(lambda: np.random.rand())
    assert capture.things[0].path == "numpy.random"
    assert "once" in capture.things[0].reason


def test_users_modules_are_guarded():
    helpers = module("helpers", "LR = 0.1\nW = None\ndef f(x): return x * LR, W", np=np)
    helpers.W = np.ones(2)
    m = module("m", "def g(x): return helpers.f(x), helpers.LR", helpers=helpers)
    out, guards, capture = traced(m.g, 2.0)
    assert out[0][0] == 0.2 and out[1] == 0.1 and isinstance(out[0][1], Marked)
    assert capture.paths == ["helpers.W"]
    helpers.LR = 0.2
    assert guards.why() == "global `helpers.LR` changed from 0.1 to 0.2"


def test_writing_to_a_module_is_refused():
    helpers = module("helpers", "n = 0")
    m = module("m", "def g(x): helpers.n = x", helpers=helpers)
    with pytest.raises(CapturedWriteError, match=r"global `helpers\.n`"):
        traced(m.g, 2.0)


def test_relative_and_user_imports(tmp_path, monkeypatch):
    package = tmp_path / "pkg_of_test"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "conf.py").write_text("LR = 0.5\n")
    (package / "main.py").write_text(
        "def f(x):\n    from .conf import LR\n    from . import conf\n    return LR, conf.LR\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import pkg_of_test.main as main

    out, guards, _ = traced(main.f, 1)
    assert out == (0.5, 0.5)
    sys.modules["pkg_of_test.conf"].LR = 0.6
    assert guards.why() == "global `pkg_of_test.conf.LR` changed from 0.5 to 0.6"
    for name in [n for n in sys.modules if n.startswith("pkg_of_test")]:
        monkeypatch.delitem(sys.modules, name)


def test_module_attribute_that_is_missing():
    helpers = module("helpers", "")
    m = module("m", "def g(): return getattr(helpers, 'x', 3)", helpers=helpers)
    out, guards, _ = traced(m.g)
    assert out == 3
    helpers.x = 4
    assert not guards.check()
