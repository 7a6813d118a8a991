"""SciPy's own code, traced: values against SciPy, derivatives by differences; what can't be traced is a host call.

A few calls, drawn anew for each day, are in every run; all are in the exhaustive one.
"""

from __future__ import annotations

import importlib
import os
import random
import re
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.spatial.distance
import scipy.stats

import tracejit as tj
from tests.scipy import samples
from tracejit.errors import NumberError
from tracejit.scipy.hosting.names import FOLLOWED

CALLS = [
    (m, c) for m in samples.CALLS for c in samples.calls(m) if f"scipy.{m}.{c.partition('(')[0]}" in FOLLOWED
]
#: Results that jump, and arguments that must not move.
_JUMPING = {
    "argrelmax",
    "argrelmin",
    "argrelextrema",
    "cumfreq",
    "relfreq",
    "square",
    "freqz_sos",
    "sosfreqz",
    "to_mlab_linkage",
    "null_space",
}


def made(module: str, call: str) -> tuple[Any, list[Any]]:
    """The call as a function of the arrays that it names, and these."""
    name = call.partition("(")[0]
    used = [n for n in samples.DATA if re.search(rf"\b{n}\b", call[len(name) :])]
    space = {**samples.HELPERS, "np": np, name: getattr(importlib.import_module(f"scipy.{module}"), name)}
    function = eval(f"lambda {', '.join(used)}: {call}", space)
    return function, [samples.DATA[n].copy() for n in used]


def leaves(out: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in tj.tree.leaves(out) if isinstance(x, (np.ndarray, np.generic, float, int))]


def check(module: str, call: str) -> None:
    f, args = made(module, call)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = f(*args)
        compiled = tj.jit(f)
        got, want = leaves(compiled(*args)), leaves(want)
        assert "library_call" not in compiled.lower(*args).as_text("jaxpr")
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-11)
    floats = [n for n, a in enumerate(args) if a.dtype.kind == "f"] if "Z" not in call else []
    if (
        call.partition("(")[0] not in _JUMPING
        and "equal_var" not in call
        and floats
        and any(w.dtype.kind == "f" for w in want)
    ):
        check_slope(f, args, floats)


def check_slope(f: Any, args: list[Any], floats: list[int]) -> None:
    rng = np.random.default_rng(3)
    ways = [rng.normal(size=args[n].shape) for n in floats]

    def along(t: Any) -> Any:
        moved = list(args)
        for n, way in zip(floats, ways, strict=True):
            moved[n] = args[n] + t * way
        return sum(
            tj.numpy.sum(x) for x in tj.tree.leaves(f(*moved)) if tj.numpy.asarray(x).dtype.kind == "f"
        )

    h = 1e-6
    near = (along(h) - along(-h)) / (2 * h)
    np.testing.assert_allclose(tj.jit(tj.grad(along))(0.0), near, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("call", random.Random(0).sample(CALLS, 6), ids=lambda c: c[1])
def test_some(call: tuple[str, str]) -> None:
    check(*call)


@pytest.mark.exhaustive
@pytest.mark.parametrize("call", CALLS, ids=lambda c: c[1])
def test_all(call: tuple[str, str]) -> None:
    check(*call)


def test_every_name_has_a_sample() -> None:
    assert {f"scipy.{m}.{c.partition('(')[0]}" for m, c in CALLS} == FOLLOWED


def test_results_of_their_own_class() -> None:
    x, y = samples.DATA["x"], samples.DATA["y"]
    test = tj.jit(lambda x, y: scipy.stats.ttest_ind(x, y))(x, y)
    want = scipy.stats.ttest_ind(x, y)
    assert type(test) is type(want) and np.isclose(test.pvalue, want.pvalue)
    assert np.allclose(test.confidence_interval(), want.confidence_interval())


def test_numbers_that_are_none_are_left_to_python() -> None:
    f = tj.jit(lambda x: scipy.stats.tmean(x))
    x = samples.DATA["x"].copy()
    assert np.isclose(f(x), x.mean())
    x[3] = np.nan
    with tj.config.override(fallback=True):
        assert np.isnan(f(x))
    with pytest.raises(NumberError, match="NaN"):
        f(x)


def test_a_range_draws_no_numbers() -> None:
    """`rng` of `iqr` is a pair of percentages; elsewhere it is a random generator."""
    x = samples.DATA["x"]
    compiled = tj.jit(lambda x: scipy.stats.iqr(x, rng=(10, 90)))
    assert compiled(x) == scipy.stats.iqr(x, rng=(10, 90))


def test_options_that_lead_elsewhere_are_host_calls() -> None:
    x = samples.DATA["x"]
    f = lambda x: scipy.stats.gzscore(abs(x) + 1, nan_policy="omit")
    np.testing.assert_allclose(tj.jit(f)(x), f(x))
    with tj.config.override(fallback=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.errors.FallbackWarning)
        with pytest.raises(ValueError, match="shape"):
            tj.jit(lambda x: scipy.spatial.distance.cityblock(x, x[1:]))(x)


def test_eager_derivatives_of_code_with_branches() -> None:
    x = np.linspace(-1.0, 2.0, 12) ** 3

    def f(a: Any) -> Any:
        return scipy.stats.shapiro(a).statistic

    way, h = np.cos(np.arange(12.0)), 1e-6
    near = (f(x + h * way) - f(x - h * way)) / (2 * h)
    np.testing.assert_allclose(tj.grad(f)(x) @ way, near, rtol=1e-5)


_HELPERS = """
def array_namespace(*xs):
    import array_api_compat.numpy
    assert all(type(x).__module__ == "numpy" for x in xs)
    return array_api_compat.numpy
"""
_ALIASES = """
import numpy as np
def asarray(obj, *, dtype=None, device=None, copy=None):
    return np.array(obj, dtype=dtype, copy=copy)
"""
_ASKED = """
import numpy as np, tracejit as tj
from array_api_compat import array_namespace

def f(x):
    xp = array_namespace(x)
    out = xp.empty((2, 2))
    out[0], out[1] = xp.asarray(x, copy=True), 3.0
    return out

assert np.array_equal(tj.jit(f, fallback=False)(np.arange(2.0)), [[0.0, 1.0], [3.0, 3.0]])
"""


def test_the_package_of_the_array_api_means_numpy(tmp_path):
    """Libraries ask it which functions to call."""
    package = tmp_path / "site-packages" / "array_api_compat"
    files = {
        "__init__.py": "from array_api_compat.common._helpers import *",
        "common/__init__.py": "",
        "common/_helpers.py": _HELPERS,
        "numpy/__init__.py": "from numpy import *\nfrom array_api_compat.numpy._aliases import *",
        "numpy/_aliases.py": _ALIASES,
    }
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    place = os.pathsep.join([str(package.parent), *sys.path])
    subprocess.run([sys.executable, "-c", _ASKED], check=True, env={**os.environ, "PYTHONPATH": place})
