"""Ways of looking at things that programs seldom use: classes of objects that change, identity without a source,
NumPy's functions with what they refuse."""

from __future__ import annotations

import dataclasses
import fractions
import itertools
from typing import Any

import numpy as np

from tests.programs.observe import program


class First:
    rate = 1
    inner: Any = None

    def grow(self, x: Any) -> Any:
        return x + self.rate


class Second:
    rate = 2

    def grow(self, x: Any) -> Any:
        return x * 10 * self.rate


class Derived(First):
    pass


@program
def objects_of_another_class() -> Any:
    one, held, listed = First(), First(), [First()]
    one.inner = held

    def f(x):
        return one.grow(x), one.inner.grow(x), listed[0].grow(x), isinstance(one, First), type(one) is Second

    def before(n):
        for o in (one, held, listed[0])[: n + 1]:
            o.__class__ = Second if n else First  # type: ignore[assignment]

    return f, [(1.0,), (2.0,), (3.0,)], lambda: type(one).__name__, before


@program
def class_with_other_bases() -> Any:
    class Own(Derived):
        pass

    o = Own()

    def f(x):
        return o.grow(x)

    def before(n):
        Own.__bases__ = ((Derived,), (Second,), (First,))[n]

    return f, [(1.0,), (2.0,), (3.0,)], None, before


@program
def class_attribute_set_by_type() -> Any:
    class Counted:
        n = 0

    def f(x):
        type.__setattr__(Counted, "n", Counted.n + 1)
        return x * Counted.n

    return f, [(1.0,), (2.0,), (3.0,)], lambda: Counted.n


@program
def errors_by_number() -> Any:
    def f(n):
        try:
            raise OSError(n, "no")
        except FileNotFoundError as e:
            return "file", e.errno, type(e).__name__
        except PermissionError as e:
            return "permission", e.args
        except OSError as e:
            return "other", type(e).__name__, type(OSError(n, "yes")).__name__

    return f, [(2,), (13,), (17,), (9999,)], None


@program
def errors_by_number_uncaught() -> Any:
    def f(n, x):
        x[0] = n
        raise OSError(n, "no", "file")

    return f, [(2, np.ones(2)), (13, np.ones(2)), (17, np.ones(2))], None


@program
def keys_are_objects() -> Any:
    @dataclasses.dataclass(eq=False)
    class Named:
        v: float

    a, b = Named(1.0), Named(2.0)
    table, listed = {a: 1.0, b: 2.0}, [a]

    def f(o, p):
        found = table.get(o)
        return found, o in listed, listed.count(o), o == a, o in [p], [o] == [p], len({o, p}), {o: 1}.get(p)

    return f, [(a, b), (b, b), (Named(1.0), a), (a, a)], None


@program
def missing_key_is_an_object() -> Any:
    @dataclasses.dataclass(eq=False)
    class Named:
        v: float

    table = {Named(1.0): 1.0}

    def f(o):
        return table[o]

    return f, [(Named(1.0),), (Named(2.0),)], None


@program
def chains_of_identity() -> Any:
    v, w = np.ones(2), np.zeros(2)

    def f(x, y, z):
        return x is y is z, x is y is not z, x is not None is not y

    return f, [(v, v, v), (v, w, w), (v, v, w)], None


@program
def chains_of_membership() -> Any:
    def f(x, y):
        return 0 < x in [1.0, 2.0], x in [1.0, y] in [[1.0, 2.0]], x not in [y] == True  # noqa: E712

    return f, [(1.0, 2.0), (2.0, 2.0), (3.0, 1.0)], None


def _without_source(text: str) -> Any:
    names: dict[str, Any] = {"np": np}
    exec(text, names)
    return names["f"]


@program
def identity_without_a_source() -> Any:
    v = np.ones(2)
    f = _without_source("def f(x, y):\n    return x is y, x is not y, [x] is [x], x is None")
    return f, [(v, v), (v, 2 * v), (1.0, 1.0)], None


@program
def matches_without_a_source() -> Any:
    f = _without_source(
        "def f(x):\n    match x:\n        case int(): return 'int'\n        case float(): return 'float'\n"
        "    return 'array'"
    )
    return f, [(1,), (2.0,), (np.ones(1),)], None


@program
def classes_of_itertools() -> Any:
    def f(x):
        c, p = itertools.count(), itertools.product([1], [2])
        known = isinstance(c, itertools.count), isinstance(p, itertools.product), type(c) is itertools.count
        pairs = isinstance(itertools.pairwise([1, 2]), (itertools.pairwise, int))
        return known, pairs, isinstance(p, (zip, itertools.count)), x

    return f, [(1.0,), (2.0,)], None


@program
def fractions_of_integers() -> Any:
    def f(n, d):
        return float(fractions.Fraction(n, d) + 1), fractions.Fraction(n, d) > fractions.Fraction(1, 2)

    return f, [(2, 4), (3, 6), (5, 7)], None


@program
def times_of_integers() -> Any:
    def f(n):
        return np.timedelta64(n), np.datetime64("2020-01-01") + np.timedelta64(n, "D"), np.datetime64(n, "s")

    return f, [(2,), (3,), (np.int64(5),)], None


@program
def partitions() -> Any:
    def f(x, k):
        y = x[: k + 1]
        return np.partition(x, k), np.argpartition(x, k), np.partition(y, k)

    x = np.array([3.0, 1.0, 2.0])
    return f, [(x, 1), (x, 3), (x, 2), (x, 7), (x, -4)], None


@program
def partition_in_place() -> Any:
    def f(x, k):
        x.partition(k, axis=0)
        return x

    x = np.array([[3.0, 1.0], [2.0, 0.0]])
    return f, [(x.copy(), 1), (x.copy(), 2), (x.copy(), -2)], None


@program
def taken_by_truth() -> Any:
    def f(x, b):
        return np.take(x, b), x.take(x[0] > 0), np.take(x, [b, not b], mode="clip")

    return f, [(np.arange(3.0), True), (np.arange(3.0) + 1, False), (np.arange(3.0), np.bool_(True))], None


@program
def broadcast_by_a_number() -> Any:
    def f(x, n):
        wide = np.broadcast_to(x, (2, n))
        own = np.broadcast_to(x * 1, n)
        return wide, wide.flags.writeable, wide.T, wide[0], own, np.broadcast_arrays(x, np.ones(n)), wide + 1

    return f, [(np.ones(1), 2), (np.ones(1), 3), (np.zeros(1), 3)], None


@program
def open_meshes() -> Any:
    def f(x, m, a):
        i, j = np.ix_(x, x)
        return a[np.ix_(x, m)], i, j, np.ix_([], x)

    a, m = np.arange(12.0).reshape(3, 4), np.array([True, False, True, False])
    return f, [(np.array([0, 2]), m, a), (np.array([0, 1]), ~m, a)], None


@program
def mesh_that_is_written() -> Any:
    def f(x):
        i, j = np.ix_(x, x)
        i[0] = 7
        return i, j, x

    return f, [(np.array([0, 2]),), (np.array([0, 1]),)], None


@program
def complex_sinc() -> Any:
    def f(x):
        return np.sinc(x), np.sinc(x * 0)

    return f, [(1 + 2j,), (np.complex128(1j),), (np.array(1j),), (np.array([1j]),)], None


@program
def taken_along() -> Any:
    def f(x, i, axis):
        return np.take_along_axis(x, i, axis)

    x = np.arange(6.0).reshape(3, 2)
    given = [
        ([[0, 1]], 0),
        ([[0], [1], [0]], 1),
        ([0, 1], None),
        ([[0, 1]], None),
        ([0, 1], 0),
        ([[0.0, 1]], 0),
    ]
    return f, [*((x, np.array(i), axis) for i, axis in given), (x, 2, 0), (x, [[0]], 0)], None


@program
def splits_of_too_few_axes() -> Any:
    def f(x, n):
        if n < 0:
            return np.vsplit(x, 2)
        return np.dsplit(x, 2) if n else np.hsplit(x[0], 2)

    return f, [(np.arange(4.0), -1), (np.arange(4.0), 1), (np.arange(4.0), 0)], None


@program
def tiles_by_arrays() -> Any:
    def f(x, r):
        return np.tile(x, r)

    given = [2, 3, True, 2.0, np.array([2, 1]), np.array([1, 3]), np.array(2), np.array([2.0])]
    return f, [(np.ones(2), r) for r in given], None


@program
def dtype_of_an_array() -> Any:
    def f(x):
        return np.dtype(x)

    return f, [(np.ones(2),), (1,), (np.float64(1.0),)], None


@program
def views_of_an_array_without_dimensions() -> Any:
    def f(x):
        z = np.array(x * 2)
        y, w = z[None], np.atleast_2d(z)
        y[0] += 5
        return z, y, w, z[...], z.reshape(1)

    return f, [(np.array(1.0),), (np.array(2.0),)], None


@program
def products_with_numbers() -> Any:
    def f(x, n):
        whole = np.dot(x, n), np.dot(n, x), np.inner(x, n), np.tensordot(x, n, 0), np.einsum("i,->i", x, n)
        return whole, x.dot(n), x.dot(x) * n, np.vdot(x[0], n), np.outer(x, n), np.kron(x, n)

    xs = np.ones(3, np.float32), np.ones(3, np.int32), np.ones(3, np.complex64), np.array([True, False])
    return f, [(x, n) for x in xs for n in (2.0, 2, True)], None


@program
def numbers_joined() -> Any:
    def f(x, n):
        return np.r_[x, n], np.r_[x[0], n], np.c_[x[0], n], np.r_[n, x, [n, 1]], np.r_[x, 0:2]

    xs = np.ones(3, np.float32), np.ones(3, np.int32), np.array([True, False])
    return f, [(x, n) for x in xs for n in (2.0, 2, True)], None


@program
def histograms_in_handlers() -> Any:
    """The check that a range is finite raises nothing here."""

    def f(x):
        try:
            counts = np.histogram(x)
        except Exception:
            counts = "caught"
        try:
            edges = np.histogram_bin_edges(x, 3)
        except ValueError as e:
            edges = str(e)
        return counts, edges

    return f, [(np.array([1.0, 2.0, 4.0]),), (np.array([1.0, np.inf, 4.0]),), (np.ones(3),)], None


@program
def what_numpy_does_not_raise() -> Any:
    """Where a function of ours raises what NumPy does not, no handler sees it."""

    def f(x, n):
        found = []
        for call in (
            lambda: np.linalg.multi_dot([x, n]),
            lambda: np.full(x, 1.0).shape,
            lambda: np.broadcast_to(x, x).shape,
            lambda: np.diff(n > 1, n > 5),
            lambda: np.iterable([x, 1]),
            lambda: np.fft.fftn(x, x),
            lambda: np.unstack(x[0]),
            lambda: np.squeeze(x[0], 2),
            lambda: np.matvec(x, x),
        ):
            try:
                found.append(call())
            except Exception:
                found.append("caught")
        return found

    return f, [(np.array([1, 2, 1]), n) for n in (3, 1, 7)], None


@program
def numpys_answers_to_odd_arguments() -> Any:
    def f(x, n, b):
        out = []
        for call in (
            lambda: np.issubdtype(x, np.floating),
            lambda: np.promote_types(x, x),
            lambda: np.issubdtype(x[0], np.floating),
            lambda: np.promote_types(x[0], np.float32),
            lambda: np.dtype(x, True),
            lambda: np.delete(b, b),
            lambda: np.histogramdd(n),
            lambda: np.nan_to_num(x[0], False),
            lambda: np.polyint(n, 0),
            lambda: np.unstack([x, x]),
            lambda: [(p, np.shares_memory(q, q)) for p, q in np.nditer([x, 1])],
            lambda: list(np.nditer(x, n)),
        ):
            try:
                out.append(call())
            except (TypeError, ValueError, AttributeError) as e:
                out.append((type(e).__mro__[-3], str(e)))
        return out, np.histogram2d(x, x, 3)[0], np.histogramdd(np.stack([x, x], 1), 2)[0]

    return f, [(np.array([1.5, n, 0.5]), n, np.bool_(n > 2)) for n in (2, 3, 5)], None
