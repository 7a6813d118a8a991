"""Programs in which it matters which array is meant: aliases, views, layouts, kinds of arrays."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from tests.programs.observe import program

A, M = np.arange(4.0), np.arange(6.0).reshape(2, 3)


def a(n: float = 0.0) -> np.ndarray:
    """A fresh array."""
    return np.arange(4.0) + n


def m(n: float = 0.0) -> np.ndarray:
    """A fresh matrix."""
    return np.arange(6.0).reshape(2, 3) + n


@program
def returns_its_argument() -> Any:
    return lambda x: x, [(a(),), (m(),), (2.0,)], None


@program
def returns_its_argument_twice() -> Any:
    return lambda x: (x, [x, {"x": x}], x * 2), [(a(),), (m(),), (3,)], None


@program
def returns_one_result_twice() -> Any:
    def f(x):
        y = x * 2
        return y, y, (y,)

    return f, [(a(),), (a(1),), (m(),)], None


@program
def returns_a_slice() -> Any:
    return lambda x: x[1:3], [(a(),), (a(1),), (m(),)], None


@program
def returns_views_of_all_sorts() -> Any:
    def f(x):
        return (
            x.T,
            x[0],
            x[:, ::-1],
            x.reshape(-1),
            x[None],
            x[..., 1],
            x.ravel(),
            x.swapaxes(0, 1),
            np.flip(x),
        )

    return f, [(m(),), (m(1),), (np.asfortranarray(m()),)], None


@program
def returns_a_view_of_a_captured_array() -> Any:
    table = m()

    def before(n):
        table[0] = n

    return lambda x: (table[0], x + table[1]), [(a()[:3],), (a()[:3],), (1.0,)], lambda: table, before


@program
def returns_a_view_of_a_result() -> Any:
    def f(x):
        y = x * 2
        return y, y[1:], y[::-1]

    return f, [(a(),), (a(1),), (m(),)], None


@program
def returns_a_view_and_writes() -> Any:
    def f(x):
        y = x[1:3]
        y += 10
        return y

    return f, [(a(),), (a(1),), (m(),)], None


@program
def returns_view_with_traced_index() -> Any:
    return lambda x, i: x[i], [(m(), 0), (m(), 1), (m(), -1)], None


@program
def transposed_vector_is_itself() -> Any:
    def f(x):
        return x.T is x, x.T, x[:] is x, np.asarray(x) is x, np.array(x, copy=False) is x, x.view() is x

    return f, [(a(),), (a(1),), (m(),)], None


@program
def asarray_gives_the_same() -> Any:
    return lambda x: np.asarray(x), [(a(),), (m(),), ([1.0, 2.0],)], None


@program
def astype_without_copy() -> Any:
    return lambda x: x.astype(np.float64, copy=False), [(a(),), (a().astype(int),), (m(),)], None


@program
def looks_at_flags_and_strides() -> Any:
    def f(x):
        return (
            x.strides,
            x.flags.c_contiguous,
            x.flags["F_CONTIGUOUS"],
            x.flags.owndata,
            x.base is None,
            x[1:].base is x,
        )

    return f, [(m(),), (m().T,), (m()[:, ::2],)], None


@program
def broadcast_is_read_only() -> Any:
    def f(x):
        y = np.broadcast_to(x, (2, 4))
        return y, y.flags.writeable, np.broadcast_arrays(x, y)[0].shape

    return f, [(a(),), (a(1),), (np.float64(3),)], None


@program
def writes_a_broadcast() -> Any:
    def f(x):
        y = np.broadcast_to(x, (2, 4))
        try:
            y[0] = 1
        except ValueError as e:
            return str(e)
        return y

    return f, [(a(),), (a(1),), (a(2),)], None


@program
def read_only_argument() -> Any:
    def f(x):
        try:
            x[0] = 9.0
        except ValueError as e:
            return x * 2, str(e)
        return x

    frozen = a()
    frozen.flags.writeable = False
    return f, [(frozen,), (a(),), (frozen,)], None


@program
def makes_its_argument_read_only() -> Any:
    def f(x):
        x.setflags(write=False)
        return x + 1

    return f, [(a(),), (a(1),), (m(),)], None


@program
def overlapping_arguments() -> Any:
    base = np.arange(8.0)

    def f(x, y):
        x += y
        y[0] = -1.0
        return x.sum()

    return f, [(base[:4], base[2:6]), (base[:4], base[:4]), (base[:4], base[4:])], lambda: base


@program
def the_same_argument_twice() -> Any:
    x = a()

    def f(x, y):
        x[0] += 1
        y[1] += x[0]
        return x is y, x, y

    return f, [(x, x), (a(), a()), (x, x)], lambda: x


@program
def argument_is_a_captured_array() -> Any:
    table = a()

    def f(x):
        table[0] += 5
        x[1] += table[0]
        return x is table, x.sum()

    return f, [(table,), (a(),), (table[:3],)], lambda: table


@program
def overlapping_assignment() -> Any:
    def f(x):
        x[1:] = x[:-1]
        x[:2] += x[2:]
        x[::-1] = x * 2
        return x

    return f, [(a(),), (a(1),), (np.arange(12.0).reshape(4, 3),)], None


@program
def out_arguments() -> Any:
    def f(x, out):
        r = np.add(x, 1, out=out)
        s = np.multiply(out, 2, out=x)
        return r is out, s is x, r, np.sum(x, axis=0, out=out[:1].reshape(()))

    return f, [(a(), a()), (a(1), np.zeros(4)), (a(2), np.zeros(4))], None


@program
def out_of_another_dtype() -> Any:
    def f(x, out):
        np.add(x, 0.5, out=out, casting="unsafe")
        np.sqrt(x, where=x > 1, out=x)
        return out

    return f, [(a(), np.zeros(4, int)), (a(1), np.zeros(4, np.float32)), (a(2), np.zeros(4))], None


@program
def in_place_of_integers_fails() -> Any:
    def f(x, y):
        x += y
        return x

    return f, [(a(), 1), (np.arange(4), 1), (np.arange(4), 1.5)], None


@program
def dtype_changes_in_one_branch() -> Any:
    def f(x):
        if x.sum() > 7:
            x = x.astype(np.float32)
        return x

    return f, [(a(),), (a(1),), (a(2),)], None


@program
def shape_changes_in_one_branch() -> Any:
    def f(x):
        if x[0] > 0:
            x = x[:2]
        return x * 2

    return f, [(a(),), (a(1),), (a(-3),)], None


@program
def none_in_one_branch() -> Any:
    def f(x):
        y = None
        if x[0] > 0:
            y = x * 2
        return y, y is None

    return f, [(a(),), (a(1),), (a(-1),)], None


@program
def del_in_a_branch() -> Any:
    def f(x):
        y = x * 2
        if x[0] > 0:
            del y
        try:
            return y
        except NameError as e:
            return str(e)

    return f, [(a(),), (a(1),), (a(-1),)], None


@program
def chooses_what_to_write() -> Any:
    def f(x, y, c):
        z = x if c > 0 else y
        z[0] = 100.0
        return z

    return f, [(a(), a(1), 1.0), (a(), a(1), -1.0), (a(), a(1), 0)], None


@program
def chooses_by_or_and_and() -> Any:
    def f(x, y):
        z = (x if len(x) else None) or y if x.size == 1 else y
        z += 1
        return z is x, z is y

    return f, [(np.ones(1), a()), (np.zeros(1), a()), (np.ones(2), a())], None


@program
def swaps_buffers() -> Any:
    def f(x, y, n):
        for _ in range(n):
            y[1:] = x[:-1] + 1
            x, y = y, x
        return x, y

    return f, [(a(), a(), 1), (a(), a(), 2), (a(), a(), 5)], None


class Meters(np.ndarray):
    """A subclass that notes its unit."""

    unit = "m"

    def __array_finalize__(self, obj):
        self.unit = getattr(obj, "unit", "m")


@program
def subclass_of_arrays() -> Any:
    def f(x):
        return x * 2, x.sum(), x[1:], type(x).__name__, getattr(x, "unit", None)

    return f, [(a().view(Meters),), (a(),), (m().view(Meters),)], None


@program
def matrix_class() -> Any:
    return (
        lambda x: (x * x, x[0], x.T),
        [(np.matrix("1 2; 3 4"),), (np.eye(2),), (np.matrix("0 1; 1 0"),)],
        None,
    )


class Series:
    """Like a column of a table: it has `__array__`, a name, and arithmetic that keeps it."""

    def __init__(self, values, name):
        self.values, self.name = np.asarray(values), name

    def __array__(self, dtype=None, copy=None):
        return self.values if dtype is None else self.values.astype(dtype)

    def __mul__(self, other):
        return Series(self.values * other, self.name)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        return self.values[i]

    def mean(self):
        return self.values.mean()


@program
def something_like_a_series() -> Any:
    def f(s):
        return s * 2, np.exp(s), s.mean(), np.asarray(s) + 1, len(s), s[0], s.name

    return f, [(Series(a(), "one"),), (Series(a(1), "two"),), (Series(np.arange(3), "three"),)], None


@program
def wraps_in_a_series() -> Any:
    def f(x):
        s = Series(x * 2, "made")
        return s, np.sum(s), s * x

    return f, [(a(),), (a(1),), (m(),)], None


class Tagged:
    """Takes part in ufuncs by `__array_ufunc__`."""

    def __init__(self, x):
        self.x = x

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return Tagged(
            getattr(ufunc, method)(*(i.x if isinstance(i, Tagged) else i for i in inputs), **kwargs)
        )


@program
def takes_part_in_ufuncs() -> Any:
    return (
        lambda t, x: (np.add(t, x), np.exp(t).x, x * t),
        [(Tagged(a()), a()), (Tagged(a(1)), 2.0), (Tagged(1.0), a())],
        None,
    )


@program
def masked_arrays() -> Any:
    def f(x):
        y = np.ma.masked_less(x, 1)
        return y.sum(), y.filled(-1), y.mask, y.mean()

    return f, [(a(),), (a(1),), (a(-5),)], None


@program
def masked_array_as_an_argument() -> Any:
    def f(x):
        return x * 2, x.mean(), np.sqrt(x).sum()

    return f, [(np.ma.array(a(), mask=[0, 1, 0, 0]),), (a(),), (np.ma.array(a(1), mask=[1, 1, 0, 0]),)], None


@program
def structured_arrays() -> Any:
    kind = [("pos", "f8", 2), ("id", "i4")]

    def f(x):
        x["pos"] += 1
        x["id"][0] = 7
        return x["pos"].sum(axis=0), x[x["id"] > 1], x["id"]

    return f, [(np.zeros(2, kind),), (np.ones(3, kind),), (np.ones(2, kind),)], None


@program
def dates() -> Any:
    def f(d):
        return np.diff(d), d + np.timedelta64(1, "D"), d.max() - d.min(), d > d[0]

    days = np.array(["2024-01-01", "2024-03-01", "2024-02-29"], "M8[D]")
    return f, [(days,), (days[::-1],), (days[:2],)], None


@program
def object_arrays() -> Any:
    def f(x):
        x[0] = x[0] + x[1]
        return x * 2, x.sum()

    return (
        f,
        [(np.array([1, 2.5], object),), (np.array(["a", "b"], object),), (np.array([10**30, 1], object),)],
        None,
    )


@program
def arrays_of_text() -> Any:
    def f(x):
        return x == "a", np.char.upper(x), np.sort(x), x[0] + "!", np.unique(x)

    return f, [(np.array(["b", "a"]),), (np.array(["a", "a"]),), (np.array(["zz", "y", "x"]),)], None


@program
def arrays_of_no_dimensions() -> Any:
    def f(x):
        y = np.array(3.0)
        return x + 1, x[()], x[...], np.asarray(x), y, y + x, x.reshape(1), np.atleast_1d(x), x.item()

    return f, [(np.array(2.0),), (np.float64(2.0),), (np.array(7),)], None


@program
def writes_into_no_dimensions() -> Any:
    def f(x):
        x += 1
        x[()] = x * 2
        x[...] -= 1
        return x

    return f, [(np.array(2.0),), (np.array(5.0),), (np.array(7),)], None


@program
def number_plus_equals_is_no_write() -> Any:
    def f(x):
        y = x
        y += 1
        return x, y

    return f, [(np.float64(2.0),), (np.array(5.0),), (7,)], None


@program
def empty_arrays() -> Any:
    def f(x):
        return (
            x.sum(),
            x.prod(),
            x * 2,
            x.mean() if x.size else None,
            np.concatenate([x, x]),
            (x > 0).all(),
            x[1:],
        )

    return f, [(np.zeros(0),), (a(),), (np.zeros((0, 3), np.float32),)], None


@program
def maximum_of_nothing() -> Any:
    def f(x):
        return x.max(), x.argmin()

    return f, [(a(),), (np.zeros(0),), (np.zeros((2, 0)),)], None


@program
def python_scalars_stay_python() -> Any:
    def f(b, i, x, c):
        return (
            b,
            i + 1,
            x * 2,
            c.conjugate(),
            -i,
            not b,
            b + i,
            abs(c),
            i / 2,
            i**2,
            x // 1,
            i & 3,
            type(x + i).__name__,
        )

    return f, [(True, 3, 1.5, 1 + 2j), (False, -4, 0.25, 2j), (True, 2**40, 1e300, 1j)], None


@program
def numpy_scalars_stay_numpy() -> Any:
    def f(x, y):
        return x + y, x * 2, x / y, -x, abs(x), x**2, round(x, 1), x.dtype, type(x).__name__, divmod(x, y)

    return (
        f,
        [(np.float32(2.5), np.float32(0.5)), (np.int8(100), np.int8(7)), (np.float16(3), np.float64(0.1))],
        None,
    )


@program
def large_python_integers() -> Any:
    return lambda n: (n * n, n + 1, -n, n // 3, n.bit_length(), n << 2), [(5,), (2**62,), (2**70,)], None


@program
def is_and_equality_of_arguments() -> Any:
    def f(x, y):
        return x is y, x == y, x is not None, isinstance(x, np.ndarray), isinstance(x, float), id(x) == id(y)

    return f, [(2.0, 2.0), (np.float64(2), 2.0), (1, True)], None


@program
def containers_are_updated() -> Any:
    def f(d, xs):
        d["sum"] = d["x"].sum()
        d["x"] *= 2
        xs.append(d["x"][0])
        xs[0], xs[-1] = xs[-1], xs[0]
        return d, xs is not None

    return f, [({"x": a()}, [1.0]), ({"x": a(1)}, [1.0, 2.0]), ({"x": a(), "sum": 0}, [3.0])], None


@program
def containers_are_the_same_objects() -> Any:
    def f(d):
        e = d
        e["y"] = d["x"]
        return e, d["x"], [d]

    return f, [({"x": a()},), ({"x": a(1)},), ({"x": 3.0},)], None


@program
def returns_captured_objects() -> Any:
    class Box:
        def __init__(self):
            self.x, self.items = a(), [a(1), a(2)]

    box = Box()

    def f(y):
        return box, box.items, box.items[0], box.x + y

    return f, [(1.0,), (2.0,), (a(),)], lambda: box


@program
def attribute_holds_the_argument() -> Any:
    class Box:
        x = None

    box = Box()

    def f(x):
        box.x = x
        x[0] += 1
        return box.x[1:]

    return f, [(a(),), (a(1),), (m(),)], lambda: box.x


@program
def views_kept_between_calls() -> Any:
    state = {"x": np.zeros(4)}
    state["half"] = state["x"][:2]

    def f(v):
        state["x"][1:] += v
        state["half"] *= 2
        return state["half"] + 0

    return f, [(1.0,), (2.0,), (3.0,)], lambda: state


@program
def writes_by_views_of_views() -> Any:
    def f(x):
        top = x[0]
        part = top[1:].T
        part[...] = part[::-1] * 2
        flat = x.reshape(-1)
        flat[-1] = 50
        x.T[0] = 7
        x.ravel()[1] = -1
        x.flat[2] = -2
        return top, x

    return f, [(m(),), (m(1),), (np.asfortranarray(m()),)], None


@program
def fancy_indexing_copies() -> Any:
    def f(x):
        y = x[[0, 1]]
        y[0] = 99
        z = x[x > 2]
        z[:] = 0
        x[[0, 0]] += 1
        np.add.at(x, [1, 1], 5)
        return y, z, x

    return f, [(a(),), (a(1),), (a(-9),)], None


@program
def sorts_in_place() -> Any:
    def f(x):
        y = np.sort(x)
        r = x.sort()
        x.partition(1)
        x.fill(x[0]) if x[0] > 0 else x.resize(x.shape, refcheck=False)
        return r, y

    return f, [(a()[::-1].copy(),), (a(1),), (a(-2),)], None


@program
def changes_its_shape() -> Any:
    def f(x):
        x.shape = (2, 2)
        return x.shape

    return f, [(a(),), (a(1),), (m(),)], None


@program
def default_array_is_kept() -> Any:
    def f(v, out=np.zeros(3)):
        out += v
        return out

    return f, [(1.0,), (2.0,), (3.0,)], lambda: f.__defaults__


@program
def rows_of_a_matrix_in_a_list() -> Any:
    def f(x):
        rows = list(x)
        rows[0][0] = 100
        rows.reverse()
        return rows

    return f, [(m(),), (m(1),), (m(2).T,)], None


@program
def iterates_and_writes() -> Any:
    def f(x):
        for row in x:
            row -= row.mean()
        for i, v in enumerate(x[0]):
            v += 1
            x[1, i] = v
        return x

    return f, [(m(),), (m(1) ** 2,), (m(2),)], None


@program
def real_and_imaginary_parts() -> Any:
    def f(z):
        z.real += 1
        z.imag[0] = 5
        return z.real, z.conj(), z.imag

    return f, [(a() + 1j,), (a() * 1j,), (a() + 0j,)], None


@program
def real_of_real_is_itself() -> Any:
    return lambda x: (x.real, np.real(x), x.conj(), x.imag), [(a(),), (a(1),), (m(),)], None


@program
def particles_in_one_buffer() -> Any:
    class System:
        def __init__(self, n):
            self.data = np.zeros((n, 4))
            self.x, self.v = self.data[:, :2], self.data[:, 2:]
            self.time = 0.0

        def step(self, dt):
            self.v -= dt * self.x
            self.x += dt * self.v
            self.time += dt
            far = np.hypot(self.x[:, 0], self.x[:, 1]) > 2
            self.v[far] *= 0.5
            return self.x

    s = System(3)
    s.data[:] = np.arange(12.0).reshape(3, 4) / 4
    return s.step, [(0.1,), (0.2,), (0.1,)], lambda: vars(s)


@program
def ring_buffer() -> Any:
    class Ring:
        def __init__(self, n):
            self.data, self.start, self.size = np.zeros(n), 0, 0

        def push(self, v):
            end = (self.start + self.size) % len(self.data)
            self.data[end] = v
            if self.size == len(self.data):
                self.start = (self.start + 1) % len(self.data)
            else:
                self.size += 1

        def window(self):
            return np.roll(self.data, -self.start)[: self.size]

    ring = Ring(3)

    def f(values):
        for v in values:
            ring.push(v)
        return ring.window(), ring.data

    return f, [(a()[:2],), (a(5),), (a(9)[:1],)], lambda: vars(ring)


@program
def double_buffered_game() -> Any:
    grids = [np.zeros((5, 5), np.int8), np.zeros((5, 5), np.int8)]
    grids[0][2, 1:4] = 1

    def f(steps):
        now, new = grids
        for _ in range(steps):
            n = sum(np.roll(now, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
            new[:] = (n == 3) | ((now == 1) & (n == 2))
            now, new = new, now
        grids[0], grids[1] = now, new
        return now

    return f, [(1,), (2,), (1,)], lambda: grids


@program
def sliding_windows_are_views() -> Any:
    def f(x):
        w = np.lib.stride_tricks.sliding_window_view(x, 2)
        return w, w.mean(axis=1), np.diagonal(x.reshape(2, 2)), np.split(x, 2)

    return f, [(a(),), (a(1),), (a(2),)], None


@program
def view_of_another_dtype() -> Any:
    def f(x):
        bits = x.view(np.int64)
        bits[0] = 0
        return bits, x

    return f, [(a(1),), (a(2),), (m(),)], None


@program
def shared_memory_is_asked_for() -> Any:
    def f(x, y):
        return np.shares_memory(x, y), np.may_share_memory(x, x[1:]), np.shares_memory(x, x + 0)

    x = a()
    return f, [(x, x[1:]), (a(), a()), (x[:1], x[2:])], None


@program
def reduces_with_keepdims_and_writes() -> Any:
    def f(x):
        x -= x.max(axis=1, keepdims=True)
        np.exp(x, out=x)
        x /= x.sum(axis=1, keepdims=True)
        row = x[0]
        row[row < 0.1] = 0
        return row

    return f, [(m(),), (m(1) * 2,), (m(2).T.copy(),)], None


@program
def grows_by_concatenation() -> Any:
    state = {"all": np.zeros(0)}

    def f(x):
        old = state["all"]
        state["all"] = np.concatenate([old, x])
        return old, state["all"][-2:]

    return f, [(a(),), (a(1),), (a()[:1],)], lambda: state


@program
def gram_schmidt_in_place() -> Any:
    def f(q):
        n = q.shape[1]
        r = np.zeros((n, n), q.dtype)
        for j in range(n):
            v = q[:, j]
            for i in range(j):
                r[i, j] = q[:, i] @ v
                v -= r[i, j] * q[:, i]
            r[j, j] = np.sqrt(v @ v)
            v /= r[j, j]
        return q, r

    x = np.array([[2.0, 1.0], [1.0, 3.0], [0.0, 1.0]])
    return f, [(x.copy(),), (x * 2,), (np.asfortranarray(x + 1),)], None


def changed_and_given(change: Any, read: Any, held: Any, *others: Any) -> Any:
    """Calls with an object of outside that the function changes, and with others of the same structure."""

    def f(x, given):
        change(held, x)
        return read(given, x)

    first, *rest = others
    return (
        f,
        [(np.arange(3.0), first), (np.ones(3), held), (np.ones(3), [*rest, held][0]), (np.ones(3), held)],
        held,
    )


@program
def a_list_is_appended_to_and_given() -> Any:
    return changed_and_given(
        lambda held, x: held.append(x.sum()),
        lambda given, x: [a + b for a, b in zip(given, x, strict=False)],
        [1.0, -0.25],
        [1.0, 2.0],
    )


@program
def an_empty_list_is_appended_to_and_given() -> Any:
    return changed_and_given(
        lambda held, x: held.append(x.sum()), lambda given, x: len(given) * x, [], [], []
    )


@program
def a_list_in_a_list_is_appended_to_and_given() -> Any:
    held = [1.0, 2.0]

    def f(x, given):
        held.append(x.sum())
        return sum(given[0]) * x

    return (
        f,
        [(np.ones(3), [[1.0, 2.0]]), (np.ones(3), [held]), (np.ones(3), ([3.0],)), (np.ones(3), (held,))],
        held,
    )


@program
def a_dict_is_written_and_given() -> Any:
    return changed_and_given(
        lambda held, x: held.update(a=x.sum()),
        lambda given, x: given["a"] * x,
        {"a": 1.0},
        {"a": 5.0},
        {"a": 7.0},
    )


@dataclasses.dataclass
class Counted:
    count: float
    seen: list = dataclasses.field(default_factory=list)


@program
def a_dataclass_is_written_and_given() -> Any:
    def change(held, x):
        held.count += 1
        held.seen.append(x.sum())

    return changed_and_given(
        change, lambda given, x: given.count * x + len(given.seen), Counted(2.0), Counted(1.0), Counted(3.0)
    )


@program
def a_tuple_of_constants_twice() -> Any:
    def f(x):
        pair = (0.5, 1.5)
        return x, pair, pair, [pair]

    return f, [(np.ones(2),), (np.zeros(2),)], None


@program
def new_containers_twice() -> Any:
    def f(x, n):
        row = [x, n]
        table = {"a": row, "b": (row, row)}
        return table, row, (table, n * 2)

    return f, [(np.ones(2), 3), (np.zeros(2), 4), (np.zeros(3), 4.5)], None


class Holding:
    def __init__(self, items: Any) -> None:
        self.items, self.table, self.pair = list(items), {}, (1, [2.0])


@program
def parts_of_an_argument_are_handed_back() -> Any:
    def f(x, thing):
        return thing.items, x * 2, thing.table, thing.pair, thing.pair[1], [thing.items], thing

    return (
        f,
        [(np.ones(2), Holding(())), (np.zeros(2), Holding((1.0, 2.0))), (np.zeros(2), Holding(()))],
        None,
    )


@program
def a_part_of_an_argument_alone_is_handed_back() -> Any:
    def f(x, thing):
        x * 2
        return thing.items

    return f, [(np.ones(2), Holding(())), (np.zeros(2), Holding((1.0, 2.0)))], None


@program
def an_empty_container_is_handed_back() -> Any:
    def f(x, given):
        return given

    return f, [(np.ones(2), []), (np.ones(2), {}), (np.ones(2), [])], None


@program
def what_a_loop_without_steps_leaves_as_it_was() -> Any:
    def f(p, n):
        z = p * 3.0
        first = z
        for _ in range(n):
            z = z + 1.0
        return z, first, first[...]

    return f, [(np.ones(3), 0), (np.ones(3), 2)], None


@program
def numbers_chosen_among_arguments() -> Any:
    def f(x, y):
        most, best = max(x, y), x
        for v in (x, y, x + y):
            if v > best:
                best = v
        last = 0
        for k in range(3):
            if y > k:
                last = x if k % 2 else last
        return most is x, most is y, best is x, best is y, last is x, (x if x > y else None) is x, x is not y

    numbers = [(1.0, 2.0), (2.0, 1.0), (3.0, -0.5), (2.0, 3.0), (2.0, 2.0)]
    return f, [(np.float64(a), np.float64(b)) for a, b in numbers] + [(a, b) for a, b in numbers[:4]], None


@program
def chosen_arrays_in_fortran_order() -> Any:
    def f(xs):
        a, b = np.zeros((2, 3)), np.ones((3, 2)).T * xs[0]
        c = d = b * 2.0
        for v in xs:
            c = a
            a = b * 0.5
            b = a
            if v > 1:
                d = b
        return a, b, c, d, b if xs[0] > 1 else c

    return f, [(np.full(n, v),) for n, v in ((5, 1.0), (1, 2.0), (2, 0.5), (8, 1.5))], None


@program
def orders_in_memory_of_broadcast_and_chosen_arrays() -> Any:
    def f(a, b):
        given = a[[1, 0]]
        np.add(a, b, out=given)
        u = np.broadcast_to(a[0], (2, 2))
        w = np.broadcast_to(b[:, :1], (2, 2))
        c = b * 2
        if c.sum() > 30:
            c = a
        d = b if a[0, 0] > b[0, 0] else a
        e = d[[1, 0]]
        if e.sum() > 20:
            e = d
        return given, u + b, u * w, w + b.T, u.astype(float), w.T * 2, c, d, e

    x = np.arange(4.0).reshape(2, 2)
    return f, [(x, x.T + 1), (x + 5, x.T), (x.T, x + 1), (x.T + 4, x), (x + 9, x.T.copy("F") + 9)], None


@program
def lists_of_one_array_and_of_views() -> Any:
    class Held:
        def __init__(self, u):
            self.u = u

    def f(c, n, own):
        s, d = Held(c), {"u": c * 2.0 if own else c}
        rows, same, parts, pairs = [], [], [], []
        for k in range(n):
            rows.append(c[k])
            same.append(s.u)
            parts.append(d["u"][k:])
            pairs.append((k, d["u"]))
        return rows, same, parts, pairs

    def call(n, own=False):
        return np.arange(3.0 * n).reshape(n, 3), n, own

    return f, [call(8), call(8, True), call(3), call(18), call(18, True)], None


@program
def lists_of_one_array_that_is_kept() -> Any:
    class Held:
        def __init__(self):
            self.u, self.history, self.twice = np.zeros(2), [], []

    s = Held()

    def f(xs):
        for x in xs:
            s.history.append(s.u)
        u = s.u * 2.0 + xs[0]
        seen = {"u": u}
        for x in xs:
            s.twice.append(seen["u"])
        s.u = u
        return len(s.history)

    return f, [(np.full(6, v),) for v in (1.0, 2.0, -1.0)], lambda: (s.u, s.history, s.twice)


@program
def orders_of_arrays_that_are_left_behind() -> Any:
    def f(a, b):
        c = a * 2
        if b.sum() > 10:
            d = c.T
            c = a + 1
        else:
            d = b * 3
        e = np.broadcast_to(a[0], (2, 2))
        try:
            e[...] = e
        except ValueError as error:
            return d, str(error)
        return d, e

    x = np.arange(4.0).reshape(2, 2)
    return f, [(x, x), (x + 5, x + 5), (x.T, x + 1), (x.T + 4, x.T + 9), (x, x.T)], None


@program
def transposed_state_that_is_multiplied() -> Any:
    state = {"m": np.arange(6.0).reshape(2, 3)}

    def f(x, flag):
        m = state["m"].T if flag else state["m"]
        m = m * x if x > 1 else m
        state["m"] = m
        return m, m.flags.f_contiguous, m.shape

    return f, [(1.0, True), (2.0, False), (0.5, True), (3.0, True)], lambda: state
