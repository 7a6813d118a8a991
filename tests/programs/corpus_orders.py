"""Arrays that do not lie in C order, and programs that look at how arrays lie."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.observe import program

C = np.arange(12.0).reshape(3, 4)


def _orders() -> list[tuple[Any]]:
    """Matrices of one shape in C order, in Fortran's, as a transposed array and with gaps."""
    gaps = np.zeros((6, 8))[::2, ::2]
    gaps[:] = C
    return [(C.copy(),), (np.asfortranarray(C),), (C.T.copy().T,), (gaps,), (np.asfortranarray(C)[::-1],)]


@program
def arithmetic() -> Any:
    return lambda x: (x + 1, 2 * x.T, x**2, x**0.5, -x, x > 3, np.divmod(x, 2)), _orders(), None


@program
def mixed_operands() -> Any:
    w = np.asfortranarray(C)
    return lambda x: (x + w, C * x, x * x[0], x[:3, :3] + x[:3, :3].T, x + w.T.reshape(3, 4)), _orders(), None


@program
def copies() -> Any:
    def f(x):
        return (
            x.copy(),
            np.copy(x),
            x.astype(int),
            x.copy("F"),
            x.T.copy("A"),
            np.array(x),
            np.array(x, order="F"),
        )

    return f, _orders(), None


@program
def made_alike() -> Any:
    def f(x):
        out = np.zeros_like(x)
        out[1:] = x[:-1]
        empty = np.empty_like(x, order="C")  # of any numbers, NaN too
        empty[:] = 0
        return out, np.ones_like(x.T), np.full_like(x, 2), empty

    return f, _orders(), None


@program
def made_in_an_order() -> Any:
    def f(x):
        z = np.zeros(x.shape, order="F")
        z[:] = x
        return z, np.ones((2, 3), int, "F") * x[0, 0], np.asfortranarray(x), np.ascontiguousarray(x.T)

    return f, _orders(), None


@program
def looked_at() -> Any:
    def f(x):
        y = x + 1
        if y.flags.f_contiguous:
            y = 2 * y
        return y.strides, y.T.strides, y.flags.c_contiguous, x.strides, y.ravel("K"), y.ravel("A"), y.ravel()

    return f, _orders(), None


@program
def views_of_computed_arrays() -> Any:
    def f(x):
        y = x + 1
        y[0] = 7
        flat = y.reshape(-1)
        flat[1] = -1
        return y, y[1:], y.T, y, flat

    return f, _orders(), None


@program
def axes_of_three() -> Any:
    d = np.arange(24.0).reshape(2, 3, 4)
    given = [(d,), (d.transpose(2, 0, 1),), (d.transpose(1, 0, 2).copy(),), (d.T,), (np.asfortranarray(d),)]

    def f(x):
        return (
            x + 1,
            x.sum(0),
            x.sum(1),
            x.max(axis=-1),
            np.cumsum(x, 1),
            np.moveaxis(x, 0, 1) * 2,
            x[:, None] - 1,
        )

    return f, given, None


@program
def reductions_and_selections() -> Any:
    def f(x):
        return (
            np.where(x > 2, x, 0),
            np.sort(x, 0),
            np.clip(x, 1, 5),
            np.cumsum(x, 1),
            x[[0, 2]],
            x[:, [1, 0]],
        )

    return f, _orders(), None


@program
def joined() -> Any:
    def f(x):
        return (
            np.concatenate([x, x]),
            np.stack([x, x]),
            np.vstack([x, C]),
            np.repeat(x, 2, 0),
            np.roll(x, 1, 0),
        )

    return f, _orders(), None


@program
def matrices() -> Any:
    def f(x):
        return (
            x @ x.T,
            x.T @ x,
            np.einsum("ij->ji", x) * 1,
            np.einsum("ij,ij->ji", x, x),
            np.outer(x[0], x[1]),
        )

    return f, _orders(), None


@program
def in_a_loop() -> Any:
    def f(x):
        for _ in range(40):
            x = x * 0.5 + 1
        return x

    return f, _orders(), None


@program
def turned_in_a_loop() -> Any:
    def f(x, n):
        for _ in range(n):
            x = x.T + 1
        return x

    square = np.arange(9.0).reshape(3, 3)
    return f, [(square, 20), (square, 21), (np.asfortranarray(square), 20)], None


@program
def in_a_branch() -> Any:
    def f(x):
        if x[0, 1] > 0:
            x = x + 1
        return x

    return f, [*_orders(), *((-x,) for (x,) in _orders())], None


@program
def another_order_in_a_branch() -> Any:
    def f(x):
        y = x + 1
        if x[0, 1] > 0:
            y = np.asfortranarray(2 * x)
        return y, y.ravel("K")

    return f, [*_orders(), (-C,)], None


@program
def captured() -> Any:
    held = {"w": np.asfortranarray(C)}

    def f(x):
        return held["w"] * x, held["w"].T + 1

    def change(n):
        held["w"] = [np.asfortranarray(C), C.copy(), np.asfortranarray(-C)][n]

    return f, [(2.0,), (3.0,), (4.0,)], lambda: held, change


@program
def updated() -> Any:
    def f(x):
        x += 1
        x.T[0] = 5
        y = x * 2
        y += x
        return y

    return f, _orders(), None


@program
def parts_of_any_length() -> Any:
    def f(x, k):
        part = x[:, :k]
        return (
            *(part * 2, np.sin(part.T), part + x[:, -k:], np.cumsum(part, 0), part - part.mean(0)),
            *((part * 2).ravel("K"), np.where(part > 1, part, 0), part.copy(), x[:k].T * 3),
        )

    return f, [(x, np.int64(k)) for (x,), k in zip(_orders(), (2, 3, 2, 4, 3), strict=True)], None


@program
def how_parts_of_any_length_lie() -> Any:
    def f(x, k):
        part = x[:, :k]
        return part.strides, (part + 1).flags.f_contiguous, (part + 1).strides, part.T.flags.c_contiguous

    return f, [(x, np.int64(k)) for (x,), k in zip(_orders(), (2, 3, 2, 4, 3), strict=True)], None


@program
def windows_and_elementwise_functions() -> Any:
    windows = np.lib.stride_tricks.sliding_window_view

    def f(x):
        both = np.vectorize(lambda v, w=2.0: (v * w, v > w))(x, w=x[:1])
        wide = np.broadcast_to(x, (2, 3, 4))
        return (
            *(windows(x, (2, 2)) * 2, windows(x, 2, axis=0) + 1, windows(x, 2, axis=1).mean(-1)),
            *(windows(x, 2, axis=0).copy(), wide * 2, wide.T + 1, wide.strides, *both),
        )

    return f, _orders(), None


@program
def orders_after_steps_that_may_be_none() -> Any:
    def f(x, n):
        y, z = x * 1.0, x * 1.0
        for i in range(n):
            y, z = np.asfortranarray(y + 1), (x * i).T.copy().T
        return y, z

    return (
        f,
        [(C, np.int64(2)), (C, np.int64(0)), (np.asfortranarray(C), np.int64(0)), (C, 0), (C, np.int64(1))],
        None,
    )
