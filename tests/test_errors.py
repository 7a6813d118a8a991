"""Every error has a page, and an example that really raises it."""

from __future__ import annotations

import functools
import pickle
import re
import textwrap
from collections.abc import Iterator

import numpy as np
import pytest

import tracejit as tj
from tests.sources import compiled
from tracejit import errors
from tracejit.errors import CODES, TracejitError
from tracejit.ir.primitive import REGISTRY

assert tj  # importing the package registers every error

CLASSES = [CODES[code] for code in sorted(CODES)]
# A user's program never raises the first; the others are raised in forked processes (test_threads).
WITHOUT_EXAMPLE = {"TJ007", "TJ195", "TJ223"}


@pytest.fixture(autouse=True)
def own_primitives() -> Iterator[None]:
    """Primitives that an example defines are gone afterwards."""
    before = dict(REGISTRY)
    yield
    for name in REGISTRY.keys() - before.keys():
        del REGISTRY[name]


def _ids(cls):
    return f"{cls.code}-{cls.__name__}"


@pytest.mark.parametrize("cls", CLASSES, ids=_ids)
def test_the_page_is_complete(cls):
    assert cls.code.startswith("TJ") and cls.code[2:].isdigit() and len(cls.code) == 5
    assert cls.__doc__ and cls.cause and 1 <= len(cls.remedies) <= 3
    assert cls.cause[0].islower() or not cls.cause[0].isalpha(), "a cause reads on after the code"
    page = cls.page()
    assert cls.code in page and errors.blanks(cls.remedies[0]) in page
    assert cls.example or cls.code in WITHOUT_EXAMPLE


@pytest.mark.parametrize("cls", [c for c in CLASSES if c.example], ids=_ids)
def test_the_example_raises_it(cls):
    source = textwrap.dedent(cls.example).strip() + "\n"
    program = compiled(source, "example.py")
    with pytest.raises(TracejitError) as caught:
        exec(program, {"__name__": "example"})
    assert type(caught.value) is cls, f"raised {caught.value}"
    message = str(caught.value)
    assert message.startswith(f"[{cls.code}] ") and f"help {cls.code}" in message
    assert "example.py:" in message, "the message names the user's line"
    assert "{" not in message.splitlines()[0] or "{" in repr(caught.value.details)
    assert tj.jit(tj.grad(lambda x: x * x))(3.0) == 6.0, "the next call is not affected"


def test_errors_are_the_exceptions_python_would_raise():
    assert issubclass(errors.AxisError, (ValueError, IndexError))
    assert issubclass(errors.IndexOutOfRangeError, IndexError)
    assert issubclass(errors.UnknownDtypeError, TypeError)


def test_errors_cross_processes():
    e = errors.ShapeError(op="add", problem="shapes (3,) and (4,)")
    copy = pickle.loads(pickle.dumps(e))
    assert type(copy) is errors.ShapeError and str(copy) == str(e)


def test_the_line_is_the_user_s():
    assert "test_errors.py:" in str(errors.ShapeError(op="add", problem="…"))


def test_python_s_own_wrappers_are_no_line_of_the_user_s():
    with pytest.raises(tj.errors.TracejitError) as caught:
        functools.singledispatch(tj.grad(np.sin))(np.ones(3))
    assert "test_errors.py:" in str(caught.value) and "functools" not in str(caught.value)


def test_codes_and_names_are_unique():
    assert len({cls.__name__ for cls in CLASSES}) == len(CLASSES)
    with pytest.raises(TypeError, match="reuses TJ003"):
        type("Again", (TracejitError,), {"code": "TJ003"})


def test_lengths_that_a_run_decides_have_no_names():
    def f(x, n):
        for _ in range(n):
            x = np.concatenate([x, x[:1]])
        return x

    with pytest.raises(
        errors.LoopTypeError, match=re.escape("is f64[4] before a step and f64[<=5] after it")
    ):
        tj.jit(f, fallback=False)(np.ones(4), np.int64(3))
