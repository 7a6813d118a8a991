"""Functions of one array of any dtype: what `test_numpy_breadth` compares with NumPy dtype by dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

NAMES = """
sum prod max min mean var std ptp all
any argmax argmin cumsum cumprod nansum nanprod nanmax nanmin
nanmean nanvar nanstd nancumsum nancumprod nanmedian median nanargmax nanargmin
count_nonzero sort argsort diff ediff1d trapezoid unwrap tril triu
diag flip roll rot90 ravel cov corrcoef sort_complex round
fix nan_to_num real imag angle sinc i0 unique flatnonzero
histogram histogram_bin_edges packbits isreal iscomplex trace diagonal isposinf zeros_like
nonzero argwhere unpackbits real_if_close
"""


def _of(name: str) -> Callable[[Any], Any]:
    return lambda x: getattr(np, name)(x)


OF_ANY_DTYPE: dict[str, Callable[[Any], Any]] = {name: _of(name) for name in NAMES.split()}
OF_ANY_DTYPE |= {
    "average": lambda x: np.average(x, axis=1),
    "vander": lambda x: np.vander(x[0], 3),
    "cumulative_sum": lambda x: np.cumulative_sum(x, axis=1),
    "cumulative_prod": lambda x: np.cumulative_prod(x, axis=1),
    "clip": lambda x: np.clip(x, 1, 3),
    "poly": lambda x: np.poly(x[0]),
    "polyder": lambda x: np.polyder(x[0]),
    "polyint": lambda x: np.polyint(x[0]),
    "convolve": lambda x: np.convolve(x[0], x[1]),
    "cross": lambda x: np.cross(x[:, :3], x[:, 1:]),
    "kron": lambda x: np.kron(x, x),
    "outer": lambda x: np.outer(x, x),
    "inner": lambda x: np.inner(x, x),
    "interp": lambda x: np.interp(x, [0, 2, 5.0], [1, 2, 4.0]),
    "quantile": lambda x: np.quantile(x, 0.3, axis=1),
    "percentile": lambda x: np.percentile(x, [10, 50]),
    "nanquantile": lambda x: np.nanquantile(x, 0.2, axis=0),
    "quantile2": lambda x: np.quantile(x, 0.3, axis=1, method="lower"),
    "quantile3": lambda x: np.quantile(x, np.array([0.2, 0.5]), axis=1, method="hazen"),
    "searchsorted": lambda x: np.searchsorted([1, 2, 5], x),
    "digitize": lambda x: np.digitize(x, [1, 3, 6]),
    "insert": lambda x: np.insert(x, 1, 3, axis=1),
    "append": lambda x: np.append(x, 1),
    "pad": lambda x: np.pad(x, 1),
    "padm": lambda x: np.pad(x, 1, "mean"),
    "padl": lambda x: np.pad(x, 2, "linear_ramp"),
    "pado": lambda x: np.pad(x, 2, "reflect", reflect_type="odd"),
    "resize": lambda x: np.resize(x, (2, 3)),
    "repeat": lambda x: np.repeat(x, 2),
    "tile": lambda x: np.tile(x, 2),
    "select": lambda x: np.select([x > 3, x < 2], [x, x * 2], 1),
    "where": lambda x: np.where(x > 2, x, 1),
    "choose": lambda x: np.choose(np.array([0, 1, 1, 0]), [x, x]),
    "piecewise": lambda x: np.piecewise(x, [x > 2], [1, lambda v: v]),
    "copysign": lambda x: np.copysign(x, x),
    "linspace": lambda x: np.linspace(x[0], x[1], 3),
    "geomspace": lambda x: np.geomspace(x[0] + 1, x[1] + 1, 3),
    "logspace": lambda x: np.logspace(x[0], x[1], 3),
    "meshgrid": lambda x: np.meshgrid(x[0], x[1]),
    "full_like": lambda x: np.full_like(x, 1),
    "isin": lambda x: np.isin(x, [1, 2]),
    "union1d": lambda x: np.union1d(x, x),
    "lexsort": lambda x: np.lexsort(x),
    "partition": lambda x: np.sort(np.partition(x, 1)),
    "apply_along_axis": lambda x: np.apply_along_axis(lambda r: r.sum(), 1, x),
    "apply_over_axes": lambda x: np.apply_over_axes(np.sum, x, [0]),
    "vecdot": lambda x: np.vecdot(x, x),
    "matvec": lambda x: np.matvec(x, x[0]),
    "polyval": lambda x: np.polyval(x[0], x),
    "polyadd": lambda x: np.polyadd(x[0], x[1]),
    "polymul": lambda x: np.polymul(x[0], x[1]),
    "polydiv": lambda x: np.polydiv(x[0] + 1, x[1][:2] + 1),
    "array_equiv": lambda x: np.array_equiv(x, x[:1]),
    "allclose": lambda x: np.allclose(x, x),
    "take": lambda x: np.take(x, [1, 2], 1),
    "compress": lambda x: np.compress([True, False, True], x, 0),
    "extract": lambda x: np.extract(x > 1, x),
    "isclose": lambda x: np.isclose(x, x[:1]),
    "fill_diagonal": lambda x: [np.fill_diagonal(x, 3), x.copy()][1],
    "putmask": lambda x: [np.putmask(x, x > 2, 1), x.copy()][1],
    "place": lambda x: [np.place(x, x > 2, [1, 2]), x.copy()][1],
    "put": lambda x: [np.put(x, [1, 2], [3, 4]), x.copy()][1],
    "block": lambda x: np.block([[x, x], [x, x]]),
    "stack": lambda x: np.stack([x, x]),
    "hstack": lambda x: np.hstack([x, x]),
    "dstack": lambda x: np.dstack([x, x]),
    "column_stack": lambda x: np.column_stack([x[0], x[1]]),
    "bincount": lambda x: np.bincount(x[0], minlength=10),
    "unravel_index": lambda x: np.unravel_index(x, (9, 9)),
    "trim_zeros": lambda x: np.trim_zeros(x[0]),
    "cov2": lambda x: np.cov(x, rowvar=False),
    "hist2": lambda x: np.histogram(x, bins=[0, 2, 5, 9]),
    "unwrapp": lambda x: np.unwrap(x, period=4),
    "sum32": lambda x: x.sum(dtype=np.float32),
    "mean32": lambda x: x.mean(0, dtype=np.float32),
    "var0": lambda x: x.var(0),
    "argsort_stable": lambda x: np.argsort(x, axis=None, kind="stable"),
}
