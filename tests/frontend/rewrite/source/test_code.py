"""The source of functions: found, read and compiled again without a word."""

from __future__ import annotations

import gc
import importlib.util
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from tracejit.frontend.prepare import prepare

TEXT = '''
def f(x):
    """A name that looks like an escape: \\|"""
    s = "\\d"
    assert (s, "always true")
    for i in range(100):
        x = x + i
    return x
'''


def test_what_the_compiler_warns_of_is_said_once(tmp_path: Path) -> None:
    """The warnings of the import are not given again when the source is read, also if warnings are errors."""
    path = tmp_path / "with_escapes.py"
    path.write_text(TEXT)
    spec = importlib.util.spec_from_file_location("with_escapes", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.warns((DeprecationWarning, SyntaxWarning)):
        spec.loader.exec_module(module)
    before = list(warnings.filters)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inner = list(warnings.filters)
        assert tj.jit(module.f)(1.0) == 4951.0
        assert list(warnings.filters) == inner
    assert list(warnings.filters) == before and "with_escapes" not in sys.modules


def same(fn):
    return fn


@same
@same
def decorated(x):
    y = np.sin(x)

    return y * 2


def test_lines_of_decorated_functions():
    program = tj.jit(decorated).lower(np.ones(3)).jaxpr
    first = decorated.__code__.co_firstlineno
    assert [e.source.line - first for e in program.eqns] == [3, 5]


class Steps:
    def halved(self, x):
        n = 0
        while x > 1:
            x, n = x / 2, n + 1
        return Steps.named(x, n)

    @staticmethod
    def named(x, n):
        return (x, n) if isinstance(x, Steps.Inner) else (n, x)

    class Inner:
        def doubled(self, x):
            if x > 1:
                x = x * 2 + len(Steps.__name__) + len(Steps.Inner.__name__)
            return x


def test_methods_that_name_their_own_class():
    assert tj.jit(Steps().halved)(9.0) == (4, 0.5625)
    assert tj.jit(Steps.Inner().doubled)(3.0) == 16.0


class Outer:
    class Inner:
        class Innermost:
            def total(self, x):
                s = 0.0
                for k in range(len(x)):
                    s = s + x[k]
                return s


def test_loops_in_methods_of_classes_in_classes_are_captured():
    f = tj.jit(lambda x: Outer.Inner.Innermost().total(x))
    x = np.arange(1000.0)
    assert f(x) == x.sum() and f.lower(x).jaxpr.eqns[-1].op.name == "scan"


def test_a_prepared_function_that_is_gone():
    prepared = prepare(lambda x: x)
    gc.collect()
    with pytest.raises(ReferenceError, match="no longer exists"):
        prepared.function
    assert prepare(np.sin).function is np.sin
