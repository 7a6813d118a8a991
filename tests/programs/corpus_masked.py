"""Programs with masked arrays: measurements with gaps, and who shares memory with whom."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.observe import program


def _gaps(*places: int, size: int = 5) -> Any:
    """Measurements with gaps at some places."""
    return np.ma.array(np.arange(1.0, size + 1), mask=[n in places for n in range(size)])


def _parts(m: Any) -> Any:
    """What is seen of a masked array."""
    if m is np.ma.masked or not isinstance(m, np.ma.MaskedArray):
        return str(m)
    return m.data.tolist(), m.mask.tolist(), float(m.get_fill_value())


@program
def standardized_measurements() -> Any:
    def f(x, low):
        m = np.ma.masked_less(x, low)
        z = (m - m.mean()) / m.std()
        return z.filled(0), z.mask, z.count()

    x = np.array([1.0, -99.0, 3.0, 4.0])
    return f, [(x, 0), (-x, -2), (x, 2)], None


@program
def a_mean_of_nothing() -> Any:
    def f(m):
        mean = m.mean()
        return "nothing" if mean is np.ma.masked else mean

    return f, [(_gaps(1),), (_gaps(0, 1, 2, 3, 4),), (_gaps(),)], None


@program
def filled_is_the_data_where_nothing_is_masked() -> Any:
    def f(x, low):
        m = np.ma.masked_less(x, low, copy=False)
        np.ma.filled(m, 0)[0] = 9
        m.filled(0)[1] = 8
        return x

    return f, [(np.arange(3.0), -1), (np.arange(3.0), 1), (np.arange(3.0), -5)], None


@program
def the_data_of_a_mask_is_filled() -> Any:
    """`make_mask` without a copy gives the memory of a masked array of booleans, if nothing of it is masked."""

    def f(b):
        mask = np.ma.make_mask(np.ma.array(b, mask=False), copy=False, shrink=False)
        mask[0] = True
        return b

    return f, [(np.zeros(3, bool),), (np.ones(3, bool),)], None


@program
def gaps_that_are_written() -> Any:
    held = _gaps(1)

    def f(x, place):
        held[place] = x[0] if x[0] > 0 else np.ma.masked
        return (held * x).sum()

    return f, [(np.ones(5), 1), (np.ones(5), 2), (-np.ones(5), 3)], lambda: _parts(held)


@program
def a_mask_that_is_shared() -> Any:
    def f(m):
        q = m[1:]
        q[0] = np.ma.masked
        q.data[1] = -1
        r = m.copy()
        r[:] = 0
        return m.sum(), q.count(), r.sum()

    return f, [(_gaps(0),), (_gaps(3),), (_gaps(1, 2),)], None


@program
def running_means_without_gaps() -> Any:
    def f(m):
        total, out = 0.0, []
        for n in range(1, len(m)):
            pair = m[n - 1 : n + 1]
            total += pair.filled(0.0).sum()
            out.append(pair.count())
        return total, out

    return f, [(_gaps(1),), (_gaps(0, 4),), (_gaps(),)], None


@program
def roots_outside_of_their_domain() -> Any:
    """What NumPy would warn of is masked without a warning."""

    def f(x):
        return np.ma.sqrt(x).sum(), np.ma.log(x).count(), _parts(1 / np.ma.array(x))

    return f, [(np.array([1.0, -4, 0]),), (np.array([4.0, 9, 1]),), (np.array([-1.0, -2, -3]),)], None


@program
def masks_of_rows() -> Any:
    def f(x, b):
        m = np.ma.array(x, mask=b, fill_value=-1)
        rows = m.mean(axis=1)
        return rows.filled(), m.compressed(), np.ma.concatenate([rows, m[0]]).mask

    x = np.arange(6.0).reshape(2, 3)
    return f, [(x, x > 3), (x, x > 9), (x, x < 3)], None


@program
def texts_of_masked_arrays() -> Any:
    """Left to Python."""

    def f(m):
        return str(m), repr(m + 1), m.tolist()

    return f, [(_gaps(1),), (_gaps(),), (_gaps(0, 2),)], None


@program
def hard_masks() -> Any:
    def f(m, x):
        h = np.ma.array(m, hard_mask=True)
        h[:] = x
        m[0] = 7
        return h.filled(0), m.filled(0)

    return f, [(_gaps(1), np.zeros(5)), (_gaps(0), np.ones(5)), (_gaps(), np.ones(5))], None


@program
def attributes_of_a_masked_argument() -> Any:
    """A mask or fill value that the caller's array is given: left to Python."""

    def f(m):
        m.fill_value = 3
        m.harden_mask()
        return m.filled()

    m = _gaps(2)
    return f, [(m,), (m,)], lambda: (_parts(m), m.hardmask)


@program
def masked_values_in_containers() -> Any:
    def f(d):
        d["sum"] = d["a"] + d["b"]
        return [v.mean() for v in d.values()]

    return f, [({"a": _gaps(1), "b": _gaps(0)},), ({"a": _gaps(), "b": _gaps(2)},)], None
