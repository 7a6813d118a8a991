"""The bounds of docs/accuracy.md hold: one table, `benchmarks.accuracy.bounds`, for the page and for the tests."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.special

from benchmarks.accuracy import measure
from benchmarks.accuracy.bounds import ROWS, SINGLE, Row
from benchmarks.accuracy.page import Line
from tracejit.lowering.llvm.vecmath import FUNCTIONS
from tracejit.lowering.llvm.vecmath.functions import special

PAGE = Path(__file__).parents[3] / "docs" / "accuracy.md"
UNARY = [name for name in SINGLE if not any(r.others for r in ROWS if r.name == name)]
#: What float32 is compared with: other people's float64.
OTHERS = {"erf": scipy.special.erf, "erfc": scipy.special.erfc, "logistic": scipy.special.expit}


@pytest.mark.sample(6)
@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r.name}-{r.domain}")
def test_float64(row: Row) -> None:
    xs = measure.arguments(row, 60)
    errors = measure.exact_errors(row, xs)
    worst = int(np.argmax(errors))
    assert errors[worst] <= row.bound, [float(x[worst]) for x in xs]


@pytest.mark.parametrize("row", [r for r in ROWS if r.others], ids=lambda r: r.name)
def test_float32_of_two_arguments(row: Row) -> None:
    assert measure.exact_errors(row, measure.arguments(row, 200, measure.F32)).max() <= SINGLE[row.name]


@pytest.mark.parametrize("name", UNARY)
def test_float32_on_numbers_of_all_sizes(name: str) -> None:
    (x,) = measure.every_single(step=65521, chunk=1 << 17)
    fn = OTHERS.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        exact, got = fn(x.astype(np.float64)), measure.run(name, x)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(exact))
    fits = np.abs(exact) <= np.finfo(np.float32).max
    assert np.isinf(got[~fits & ~np.isnan(exact)]).all()
    unit = np.ldexp(1.0, np.maximum(np.frexp(exact[fits])[1] - 1, -126) - 23)
    assert (np.abs(got[fits] - exact[fits]) / unit).max() <= SINGLE[name]


@pytest.mark.parametrize("name", measure.SYMMETRIC + measure.POSITIVE)
def test_what_positive_numbers_say_of_negative_ones(name: str) -> None:
    """So that the sweep of every float32 may leave these out."""
    (x,) = measure.every_single(step=65521, chunk=1 << 17, count=1 << 31)
    plus, minus = measure.run(name, x), measure.run(name, -x)
    if name in measure.POSITIVE:
        assert np.isnan(minus[x > 0]).all()
        return
    kept = ~np.isnan(plus)
    np.testing.assert_array_equal(np.isnan(minus), ~kept)
    minus = minus if name in ("cos", "cosh") else -minus
    np.testing.assert_array_equal(minus[kept].view(np.uint32), plus[kept].view(np.uint32))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", UNARY)
def test_every_float32(name: str) -> None:
    """A minute each, of one processor."""
    worst, where = measure.worst_single(name)
    assert worst <= SINGLE[name], where


def test_the_error_kernel_sees_errors() -> None:
    """A function that is one unit off, has the wrong sign or is NaN where it should not be."""
    x = np.linspace(0.5, 4.0, 1001).astype(np.float32)
    (kernel,) = (measure.single_error("exp"),)

    class Wrong:
        """A builder that spoils the first call of exp."""

        def __init__(self, k, spoil):
            self.k, self.spoil = k, spoil

        def __getattr__(self, name):
            return getattr(self.k, name)

        def math(self, name, v):
            y = self.k.math(name, v)
            return self.spoil(self.k, y) if y.dtype == np.float32 else y

    def error(spoil):
        return measure.mapped(lambda k, v: kernel(Wrong(k, spoil), v), measure.F32, x)

    def next_up(k, y):
        return k.bitcast(k.bitcast(y, np.int32) + 2, np.float32)

    assert error(lambda k, y: y).max() < 1
    assert error(next_up).min() > 0.5 and error(next_up).max() > 1.5
    assert error(lambda k, y: k.neg(y)).min() > 1e6
    assert np.isinf(error(lambda k, y: y / 0.0)).all()


def test_the_page_states_these_bounds() -> None:
    """Every line, in the order of the table, and nothing measured is above its bound."""
    lines = [
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| \w+ \| float", line)
    ]
    stated = []
    for row in ROWS:
        stated.append(Line(row.name, "float64", row.domain, row.bound, 0, "", row.against).stated())
        single = Line(row.name, "float32", row.domain, SINGLE.get(row.name, 0), 0, "", "").stated()
        if row.name in SINGLE and single.split("|")[1:3] not in [s.split("|")[1:3] for s in stated]:
            stated.append(single)
    assert [line[: len(s)] for line, s in zip(lines, stated, strict=True)] == stated
    for line in lines:
        bound, worst = (float(line.split("|")[n]) for n in (4, 5))
        assert 0.4 < worst <= bound


def test_every_function_is_in_the_table() -> None:
    promised = set(FUNCTIONS) - set(special.FUNCTIONS) | {"erfc", "lgamma", "digamma", "hypot", "logaddexp"}
    assert {r.name for r in ROWS} == promised
    assert set(SINGLE) == promised - {"lgamma", "digamma"}
