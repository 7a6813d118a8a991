import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import CapturedWriteError

A = np.array([1.0, 2.0, 2.5])


class Model:
    calls, total, gone = 0, 0.0, 1

    def step(self, x):
        Model.calls += 1
        type(self).total += float(x.sum())
        return x * Model.calls


def test_a_class_that_counts_is_compiled_once():
    step = tj.jit(Model().step)
    Model.calls, Model.total = 0, 0.0
    for n in range(1, 10_001):
        assert step(A)[0] == n
    assert (Model.calls, Model.total) == (10_000, 55_000.0) and step.trace_count == 1


def test_derivatives_read_a_class_and_write_it_as_the_function_does():
    class Filter:
        state, gain = 1.0, 3.0

        def step(self, x):
            Filter.state = Filter.state * self.gain + x[0] ** 2
            return Filter.state

    f = Filter()
    slope = tj.jit(lambda x: tj.grad(lambda x: f.gain * x.sum())(x))
    assert slope(A).tolist() == [3.0] * 3

    def loss(x):
        f.step(x)
        return f.step(x * 2) ** 2

    found = []
    for run in (loss, tj.grad(loss), tj.jit(tj.grad(loss)), tj.jit(tj.grad(loss), fallback=False)):
        Filter.state = 1.0
        found.append((run(A), Filter.state))
    (_, left), (slope, _), *compiled = found
    for got, state in compiled:
        np.testing.assert_allclose(got, slope)
        assert type(state) is type(left) and np.isclose(state, left)


def test_what_can_not_be_written_is_refused_and_stays():
    def deletes(x):
        del Model.gone
        return x

    def replaces(x):
        Model.step = deletes
        return x

    for f in (deletes, replaces):
        with pytest.raises(CapturedWriteError, match="class attribute"):
            tj.jit(f)(A)
    assert Model.gone == 1 and Model.step.__name__ == "step"


def test_a_new_attribute_is_there_when_the_program_has_run():
    class Named:
        pass

    @tj.jit
    def f(x):
        had = hasattr(Named, "other"), hasattr(Named(), "other")
        Named.other = x.sum()
        return had, Named().other * x

    try:
        for n in range(3):
            had, out = f(A + n)
            assert had == (n > 0, n > 0) and np.array_equal(out, (A + n).sum() * (A + n))
            assert Named.other == (A + n).sum()
    finally:
        del Named.other
    assert f(A)[0] == (False, False)
