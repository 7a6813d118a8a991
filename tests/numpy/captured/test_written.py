"""Arrays of outside that a differentiated function writes into: values, views and derivatives, outside of `jit`."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import tracejit as tj
from tracejit.errors import TracerArrayError, UnfollowedError
from tracejit.numpy.captured import written

X = np.array([0.4, -0.3, 0.8])


class Held:
    """Arrays that lie in memory in several ways, and share it."""

    def __init__(self) -> None:
        self.line = np.array([1.0, 2.0, 3.0])
        self.part = self.line[1:]
        self.back = self.line[::-1]
        self.table = np.arange(6.0).reshape(2, 3)
        self.turned = self.table.T
        self.fortran = np.asfortranarray(np.ones((2, 3)))
        self.many = [np.zeros(3), {"a": np.ones(3)}, (np.full(3, 2.0),)]
        self.crowd = [np.ones(3) for _ in range(300)]
        self.cube = np.zeros((2, 2, 3)).transpose(2, 0, 1)

    def state(self) -> list[Any]:
        named = [x for x in vars(self).values() if isinstance(x, np.ndarray)]
        return [*named, self.many[0], self.many[1]["a"], self.many[2][0]]


WRITES: dict[str, Callable[[Held, Any], Any]] = {}


def write(f: Callable[[Held, Any], Any]) -> Callable[[Held, Any], Any]:
    WRITES[f.__name__] = f
    return f


@write
def into_a_part_that_the_whole_shows(h, x):
    h.part[0] = x.sum()
    return (h.line * h.line).sum() + h.back[1] * 3


@write
def into_the_whole_that_parts_show(h, x):
    h.line[:] = x * x
    return h.part.sum() * h.back[0]


@write
def backwards(h, x):
    h.back += x
    return (h.line**2).sum()


@write
def into_a_transposed_table(h, x):
    h.turned[:, 1] = x
    h.turned[0] *= 2
    return (h.table**2).sum() + h.table[1] @ x


@write
def into_one_in_fortrans_order(h, x):
    h.fortran[1] -= x
    h.fortran[:, 0] = x[:2]
    return (h.fortran**3).sum() + h.fortran.ravel().dot(h.fortran.ravel())


@write
def into_axes_in_another_order(h, x):
    h.cube[:, 0, 1] = x
    h.cube[..., 1] += x[:, None]
    return (h.cube * np.arange(12.0).reshape(3, 2, 2)).sum()


@write
def into_those_in_lists_and_dicts(h, x):
    h.many[0] += x
    h.many[1]["a"][1:] *= x[1:]
    h.many[2][0][:] = x * 3
    return h.many[0] @ h.many[1]["a"] + (h.many[2][0] ** 2).sum()


@write
def what_was_read_before_stays(h, x):
    before = x @ h.line
    squares = h.line * x
    h.line[:] = 7.0
    h.line[0] = x[0]
    return before + squares.sum() + (h.line * x).sum()


@write
def what_was_read_before_by_a_part(h, x):
    before = x[:2] @ h.part
    h.line *= 2
    return before * (x @ h.line)


@write
def several_times(h, x):
    for n in range(3):
        h.line[n] = h.line.sum() * x[n]
    return h.line.mean() + h.line.max() + h.line.std()


@write
def numbers_replace_what_was_traced(h, x):
    h.line[:] = x
    h.line[1] = 4.0
    h.line *= 0.5
    return (h.line**2).sum()


@write
def by_positions_and_a_mask(h, x):
    h.line[np.array([2, 0])] = x[:2]
    h.line[h.line > 1.0] = x[2]
    return (h.line**2).sum()


@write
def by_methods(h, x):
    h.line.fill(x[0])
    h.table[0].put([1, 2], x[:2] ** 2)
    return h.line @ x + (h.table**2).sum() + h.table.mean(0).sum()


@write
def by_functions(h, x):
    np.add(h.line, x, out=h.line)
    np.add.at(h.table, ([0, 0, 1], [1, 1, 2]), x)
    np.multiply(x, 3.0, out=h.many[0])
    return h.line @ h.many[0] + (h.table**2).sum()


@write
def a_step_of_a_loop_reads_what_the_last_one_wrote(h, x):
    total = 0.0
    for row in h.table:
        row += x
        total = total + (row**2).sum()
    for value in h.line:
        total = total + value * x[0]
    return total


@write
def sorted_in_place(h, x):
    h.line[:] = x
    h.line.sort()
    return h.line @ np.array([1.0, 10.0, 100.0])


@write
def copied_and_changed(h, x):
    h.line[:2] = x[:2]
    c = h.line.copy()
    c[0] = 5.0
    d = h.line + 0
    h.line[1] = 9.0
    return c @ x + d.sum() * h.line.sum()


@write
def by_functions_that_write_at_places(h, x):
    np.put(h.line, [0, 2], x[0])
    np.put_along_axis(h.table, np.array([[0], [2]]), x[1] * 3, 1)
    np.copyto(dst=h.many[0], src=x, where=x > 0)
    np.place(h.fortran, h.fortran > 0.5, x[:2])
    np.fill_diagonal(h.turned, x[:2])
    np.putmask(h.many[2][0], x < 0, x)
    return h.line @ x + (h.table**2).sum() + h.many[0].sum() + (h.fortran**2 * x).sum() + h.many[2][0] @ x


@write
def one_after_the_other(h, x):
    before = (h.table * x).sum()
    h.table.flat[2] = 7.0
    before = before + (h.table * x).sum()
    h.table[0] = x
    h.line.flat = x
    total = sum(value * value for value in h.line.flat) + h.table.flat[1]
    for (i, j), value in np.ndenumerate(h.table):
        total = total + i * value + j * value**2
    steps: Any = np.nditer(h.table)
    return before + total + sum(value * 2 for value in steps)


@write
def what_nditer_writes(h, x):
    before = h.line @ x
    steps: Any = np.nditer(h.line, op_flags=["readwrite"])
    with steps:
        for value in steps:
            value[...] = 2 * value
    return before + h.line @ x


@write
def arrays_of_arrays_are_the_same(h, x):
    line = np.asarray(h.line)
    before = line @ x
    line[0] = 5.0
    line += x
    wide = np.asarray(h.table, dtype=np.float32)
    wide[0] = 1.0
    return before + np.asanyarray(h.line) @ np.array([h.line, h.back]).sum(0) + np.ascontiguousarray(line)[1]


@write
def functions_of_scipy_see_what_was_written(h, x):
    h.line[:] = x
    return (
        scipy.special.logsumexp(h.line)
        + scipy.linalg.norm(h.line)
        + np.vectorize(lambda v: v * v)(h.line).sum()
    )


@write
def arrays_that_only_numpy_has_made(h, x):
    twice = h.line * 2
    total = (twice * x).sum()
    for _ in range(3):
        twice -= 0.1 * twice
        total = total + (twice * x**2).sum()
    drawn = np.random.default_rng(0).normal(size=3)
    total = total + drawn @ x
    drawn *= 3
    return total + drawn @ x


@write
def one_of_many_arrays(h, x):
    many = h.crowd
    total = (many[5] * x).sum()
    many[5] *= 3
    many[5][0] = 2.0
    return total + (many[5] * x).sum()


@write
def a_result_does_not_fit(h, x):
    for function, given, out in ((np.cumsum, (x,), h.table), (np.add, (h.table, x), h.line)):
        try:
            function(*given, out=out)
        except ValueError:
            h.line += 1
    return h.table.sum() * x.sum() + h.line @ x


@write
def returned_itself(h, x):
    h.line += x
    return h.line[0]


def differences(f: Callable[[Any], Any]) -> np.ndarray:
    step = 1e-6
    return np.array([(f(X + step * e) - f(X - step * e)) / (2 * step) for e in np.eye(3)])


def after(f: Callable[[Held, Any], Any], n: int, x: Any) -> Any:
    """What the plain function gives in call `n`."""
    held = Held()
    for k in range(n):
        f(held, X + 0.1 * k)
    return f(held, x)


@pytest.mark.sample(2)
@pytest.mark.parametrize("how", ["copied", "watched"])
@pytest.mark.parametrize("name", WRITES)
def test_values_are_pythons_and_slopes_are_those_of_differences(
    name: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "watched":  # as large arrays are
        monkeypatch.setattr(written, "SMALL", -1)
    f = WRITES[name]
    plain, eager, compiled = Held(), Held(), Held()
    by_jit = tj.jit(tj.value_and_grad(lambda x: f(compiled, x)))
    for n in range(2):
        x = X + 0.1 * n
        want = f(plain, x)
        value, slope = tj.value_and_grad(lambda x: f(eager, x))(x)
        slopes = differences(lambda moved, n=n: after(f, n, moved + 0.1 * n))
        np.testing.assert_allclose(value, want, rtol=1e-13)
        np.testing.assert_allclose(slope, slopes, rtol=1e-6, atol=1e-7)
        for got, left in zip(eager.state(), plain.state(), strict=True):
            assert type(got) is np.ndarray
            np.testing.assert_allclose(got, left, rtol=1e-13)
        value, slope = by_jit(x)
        np.testing.assert_allclose(value, want, rtol=1e-13)
        np.testing.assert_allclose(slope, slopes, rtol=1e-6, atol=1e-7)
    assert eager.part.base is eager.line and np.shares_memory(eager.turned, eager.table)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", WRITES)
def test_derivatives_of_derivatives(name: str) -> None:
    f = WRITES[name]

    def slope(x: Any) -> Any:
        return tj.grad(lambda x: f(Held(), x))(x)

    rows = np.array([differences(lambda x, n=n: slope(x)[n]) for n in range(3)])
    once, by_jvp, plain = Held(), Held(), Held()
    f(plain, X)
    second = tj.grad(lambda x: tj.grad(lambda x: f(once, x))(x).sum())(X)
    np.testing.assert_allclose(second, rows.sum(0), rtol=1e-5, atol=1e-6)
    _, along = tj.jvp(tj.grad(lambda x: f(by_jvp, x)), (X,), (np.ones(3),))
    np.testing.assert_allclose(along, rows.sum(1), rtol=1e-5, atol=1e-6)
    for got in (once, by_jvp):  # the function has run once
        for a, b in zip(got.state(), plain.state(), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13)


def test_writes_that_nobody_sees_leave_what_was_read_before() -> None:
    def f(x, kept, rng):
        total = (x * kept).sum()
        rng.standard_normal(out=kept)
        total = total + (x**2 * kept).sum()
        struct.pack_into("d", kept, 0, 2.0)
        return total + (x * kept).sum()

    def run(transform):
        kept, rng = np.array([1.0, 2.0, 3.0]), np.random.default_rng(0)
        return transform(lambda x: f(x, kept, rng))(X)

    step = 1e-6
    moved = [[run(lambda g, s=s, e=e: lambda x: g(x + s * e)) for s in (step, -step)] for e in np.eye(3)]
    np.testing.assert_allclose(run(tj.grad), [(a - b) / (2 * step) for a, b in moved], rtol=1e-7)


@pytest.mark.parametrize("how", ["filled", "by its buffer"])
def test_writes_that_nobody_sees_into_large_arrays_are_refused(how: str) -> None:
    rng = np.random.default_rng(0)

    def write(kept):
        if how == "filled":
            rng.standard_normal(out=kept)
        else:
            memoryview(kept).cast("B")[:] = bytes(kept.nbytes)

    def read_first(x, kept):
        total = (x * kept).sum()
        write(kept)
        return total

    def not_kept(x, kept):
        for _ in range(3):
            write(kept)
            x = x + kept
        return x.sum()

    x, kept = np.ones(5000), np.ones(5000)
    with pytest.raises(UnfollowedError, match="wrote into it since"):
        tj.value_and_grad(lambda x: read_first(x, kept))(x)
    np.testing.assert_array_equal(tj.grad(lambda x: not_kept(x, kept))(x), x)


def test_an_inner_derivative_is_over_when_the_outer_one_goes_on() -> None:
    kept = np.zeros(3)

    def inner(y):
        kept[:] = y * y
        return kept.sum()

    def outer(x):
        slope = tj.grad(inner)(x * 2)  # kept = 4 x**2, slope = 4 x
        return kept @ slope  # 16 x**3

    np.testing.assert_allclose(tj.grad(outer)(X), 48 * X**2)
    np.testing.assert_array_equal(kept, 4 * X**2)


def test_jitted_functions_read_what_was_written() -> None:
    kept = np.zeros(3)

    @tj.jit
    def square():
        return (kept**2).sum()

    def f(x):
        kept[1:] = x[1:] * 3
        return square() + tj.jit(np.sum)(kept)

    for _ in range(2):
        np.testing.assert_allclose(tj.grad(f)(X), [0.0, *(18 * X[1:] + 3)])


def test_state_is_there_when_an_exception_comes() -> None:
    total, log = np.zeros(3), []

    def f(x):
        total[:] += x * x
        log.append(total.sum())
        raise ValueError(total[0])

    for n in (1, 2):
        with pytest.raises(ValueError) as found:
            tj.grad(f)(X)
        np.testing.assert_allclose(total, n * X**2)
        assert log[-1] == total.sum() and found.value.args == (total[0],) and type(log[-1]) is np.float64


def test_what_can_not_be_known_is_refused_and_writes_nothing() -> None:
    kept, wide = np.zeros(3), np.zeros((2, 3))
    with pytest.raises(TracerArrayError):  # one lane of several

        def lanes(x):
            kept[:] = x
            return x.sum()

        tj.vmap(lanes)(np.ones((2, 3)))

    def bits(x):
        kept[0] = x[0]
        return kept.view(np.int64)[0] * x[0]

    with pytest.raises(TracerArrayError):
        tj.grad(bits)(X)

    def repeats(x):
        np.lib.stride_tricks.as_strided(wide, (2, 3), (0, 8))[0] = x
        return x.sum()

    with pytest.raises(TracerArrayError):
        tj.grad(repeats)(X)

    def shuffled(x):
        kept[:] = x
        np.random.default_rng(0).random(out=kept)
        return kept[0]

    with pytest.raises(TracerArrayError):
        tj.grad(shuffled)(X)

    def pickled(x):
        kept[:] = x
        return pickle.loads(pickle.dumps(kept))[0]

    with pytest.raises(TracerArrayError):
        tj.grad(pickled)(X)
    with pytest.raises(ValueError, match="could not broadcast"):
        tj.grad(lambda x: kept.__setitem__(slice(2), x))(X)
    assert not wide.any()
