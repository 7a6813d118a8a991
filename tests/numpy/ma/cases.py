"""Uses of `numpy.ma`, as text: `m` is a masked array, `x` a plain one of its shape, `b` one of booleans."""

# ruff: noqa: E501
from __future__ import annotations

import linecache
import warnings
from typing import Any

import numpy as np

import tracejit as tj

_UNARY = "sin cos arctan arcsinh sinh cosh tanh exp abs fabs negative floor ceil sqrt log log2 log10 tan arcsin arccos arccosh arctanh"  # fmt: skip
_BINARY = "add subtract multiply arctan2 equal not_equal less less_equal greater greater_equal hypot divide floor_divide remainder fmod maximum minimum"  # fmt: skip
_METHODS = "sum mean var std min max argmin argmax count all any prod cumsum cumprod ravel ptp anom"
_AXES = "sum mean var std min max argmin argmax count all any prod cumsum cumprod ptp anom"
_MASKING = "masked_greater masked_greater_equal masked_less masked_less_equal masked_equal masked_not_equal masked_values"
_OPERATORS = "+ - * / // % ** < <= > >= == !="

ELEMENTWISE = [
    *(f"np.ma.{f}(m)" for f in _UNARY.split()),
    *(f"np.{f.replace('abs', 'absolute')}(m)" for f in _UNARY.split()),
    *(f"np.ma.{f}(m, x)" for f in _BINARY.split()),
    *(f"np.ma.{f}(x, m)" for f in _BINARY.split()),
    *(f"np.{f}(m, x)" for f in ["add", "multiply", "divide", "maximum", "arctan2", "less"]),
    *(f"m {op} x" for op in _OPERATORS.split()),
    *(f"x {op} m" for op in _OPERATORS.split()),
    *(f"m {op} 2" for op in _OPERATORS.split()),
    *(f"m {op} m" for op in _OPERATORS.split()),
    "-m", "+m", "abs(m)", "2 ** m", "1 / m", "m.conj()" , "m * np.ma.masked_where(x > 0, x)",
]  # fmt: skip
REDUCTIONS = [
    *(f"m.{f}()" for f in _METHODS.split()),
    *(f"np.ma.{f}(m)" for f in _METHODS.split()),
    *(f"np.ma.{f}(x)" for f in _METHODS.split()),
    *(f"m.{f}(axis=0)" for f in _AXES.split()),
    *(f"np.{f}(m)" for f in ["sum", "mean", "var", "std", "min", "max", "argmin", "argmax", "all", "any", "prod", "cumsum", "median"]),
    "m.sum(axis=-1, keepdims=True)", "m.mean(axis=0, keepdims=True)", "m.var(ddof=1)", "m.std(axis=0, ddof=1)",
    "np.ma.average(m)", "np.ma.average(m, weights=abs(x))", "np.ma.median(m)", "np.ma.median(m, axis=0)",
    "np.ma.allclose(m, x)", "np.ma.allequal(m, x)", "np.ma.maximum.reduce(m, axis=0)", "np.ma.add.reduce(m)",
    "np.ma.dot(m, m.T)", "np.ma.inner(m, m)", "np.ma.outer(m, x)", "np.ma.trace(m.reshape(2, -1))",
    "np.ma.sort(m)", "m.argsort(axis=-1)", "np.ma.argsort(m, axis=-1)", "np.ma.cov(m)", "np.ma.corrcoef(m)",
    "np.ma.count_masked(m)", "np.ma.is_masked(m)", "np.ma.multiply.outer(m, m)", "np.ma.add.accumulate(m)",
    "np.ma.notmasked_edges(m)", "np.ma.polyfit(x.ravel(), m.ravel(), 1)", "np.ma.mask_rowcols(m.reshape(2, -1))",
]  # fmt: skip
MAKING = [
    *(f"np.ma.{f}({y}, 1)" for f in _MASKING.split() for y in "mx"),
    "np.ma.masked_where(x > 0, x)", "np.ma.masked_where(b, m)", "np.ma.masked_where(x > 0, m, copy=False)",
    "np.ma.masked_invalid(x)", "np.ma.masked_invalid(1 / (x - 1))", "np.ma.masked_inside(x, 0, 2)",
    "np.ma.masked_outside(x, 0, 2)", "np.ma.masked_invalid(m)", "np.ma.fix_invalid(m)",
    "np.ma.array(x)", "np.ma.array(x, mask=b)", "np.ma.array(m, mask=b)", "np.ma.array(m, copy=True)",
    "np.ma.array(x, mask=True)", "np.ma.array(x, mask=False)", "np.ma.array(m, mask=b, keep_mask=False)",
    "np.ma.array(x, mask=b, fill_value=7)", "np.ma.array(x, mask=b, hard_mask=True)", "np.ma.array(m, dtype=float)",
    "np.ma.MaskedArray(x, b)", "np.ma.masked_array(x, mask=b)", "np.ma.asarray(m)", "np.ma.asanyarray(x)",
    "np.ma.getdata(m)", "np.ma.getmask(m)", "np.ma.getmaskarray(m)", "np.ma.filled(m)", "np.ma.filled(m, 3)",
    "m.filled()", "m.filled(0)", "m.data", "m.mask", "m.fill_value", "m.compressed()", "np.ma.compressed(m)",
    "np.ma.zeros(3) + x.ravel()[:3]", "np.ma.ones_like(m)", "np.ma.zeros_like(x)", "np.ma.empty((2, 2)).shape",
    "np.ma.masked_all((2, 2)).mask", "np.ma.arange(3) + x.ravel()[:3]", "np.ma.make_mask(b)", "np.ma.mask_or(b, m.mask)",
    "np.ma.mask_or(b, ~b)", "np.ma.make_mask_none((2, 2))", "np.ma.isMaskedArray(m)", "np.ma.isMaskedArray(x)",
    "isinstance(m, np.ma.MaskedArray)", "type(m) is np.ma.MaskedArray", "isinstance(m, np.ndarray)", "m.ndim, m.shape, m.size, m.dtype",
    "np.ma.default_fill_value(x)", "np.ma.is_mask(b)", "np.ma.where(x > 0, m, x)", "np.ma.where(m > 0, m, np.ma.masked)",
    "np.where(m > 0, x, 0)", "np.where(x > 0, m, x)", "np.array(m)", "np.asarray(m)", "np.isfinite(m)", "len(m)",
]  # fmt: skip
SHAPING = [
    "m[0]", "m[-1:]", "m[::2]", "m[b]", "m[x > 0]", "m[m > 0]", "x[m > 0]", "m[..., 0]", "m[[0, -1]]", "m[None]",
    "m.T", "m.reshape(-1)", "m.reshape(2, -1)", "np.ma.reshape(m, (-1, 2))", "m.swapaxes(0, -1)", "m.transpose()",
    "m.copy()", "m.flatten()", "m.squeeze()", "m.repeat(2)", "m.astype(np.float32)", "m.astype(int)", "m.view()", "m.take([0, 1])",
    "np.ma.take(m, [0, 1], axis=0)", "np.ma.concatenate([m, x])", "np.ma.concatenate([m, m], axis=-1)",
    "np.ma.vstack([m, x])", "np.ma.hstack([m, m])", "np.ma.stack([m, x])", "np.ma.expand_dims(m, 0)", "np.ma.diff(m)",
    "np.ma.append(m, x)", "np.ma.diag(m)", "np.ma.resize(m, (2, 2))", "m.round(1)", "np.ma.round(m)", "m.clip(0, 2)",
    "np.ma.clip(m, 0, 2)", "np.ma.choose([0, 1], [m[:2], x[:2]])", "np.ma.compress([True, False], m, axis=0)", "m.nonzero()",
    "np.ma.nonzero(m)", "np.ma.compress_rowcols(m.reshape(2, -1))", "np.ma.unique(m)", "np.ma.squeeze(m)", "np.ma.convolve(m.ravel(), x.ravel())",
    "np.ma.power(m, 2)", "np.ma.ndim(m), np.ma.shape(m), np.ma.size(m)", "m.real", "m.imag", "np.ma.column_stack([m, x])",
    "np.ma.flatnotmasked_edges(m.ravel())", "np.ma.ediff1d(m)", "np.ma.vander(m.ravel())", "[e for e in m.ravel()][0]",
    "np.ma.apply_along_axis(np.sum, 0, m)", "np.ma.apply_over_axes(np.ma.sum, m, [0])", "np.ma.isin(m, [1, 2])", "m.harden_mask()",
    "m.soften_mask()", "m.shrink_mask()", "m.unshare_mask()", "m.trace() if m.ndim == 2 else 0", "m.dot(x.T)",
]  # fmt: skip
WRITING = [
    "m[0] = 5", "m[0] = np.ma.masked", "m[b] = 0", "m[x > 0] = np.ma.masked", "m[:] = x", "m[1:] = m[:-1]", "m.mask = b",
    "m.mask[0] = True", "m.mask = np.ma.nomask", "m.data[0] = 5", "m += 1", "m += m", "m -= x", "m *= m", "m *= 2", "m /= 2.0",
    "m **= 2", "m[0] = m[1]", "m.put([0], [7])", "m.sort()", "m.fill_value = 3", "m.set_fill_value(3)", "np.ma.putmask(m, b, 0)",
    "m.flat = 1", "m[m > 1] = 0", "m.harden_mask(); m[:] = 1", "q = m[1:]; q[0] = 9", "q = -m; q[0] = np.ma.masked",
    "q = m + 0; q[0] = np.ma.masked; m = q", "q = m.copy(); q.mask = True; m = q", "q = np.ma.masked_where(b, x, copy=False); q[0] = 8; m = q",
    "q = m.filled(0); q[0] = 3", "q = np.ma.array(x, mask=b, copy=False); q[:] = np.ma.masked; m = q", "m //= 2", "m %= 2",
    "for i in range(len(m)):\n  m[i] = i", "for i in range(len(m)):\n  m = m + i", "for i in range(1, 4):\n  x = np.ma.masked_where(x > i, x)\nm = x",
    "if x.sum() > 0:\n  m = m * 2\nelse:\n  m = m + 1", "s = 0.0\nfor v in m.compressed():\n  s += v\nm = s",
]  # fmt: skip
EXPRESSIONS = ELEMENTWISE + REDUCTIONS + MAKING + SHAPING
_KINDS = {"values": np.float64, "singles": np.float32, "integers": np.int64}


def arguments(kind: str, ndim: int, masked: str, seed: int = 0) -> dict[str, Any]:
    """`m`, `x` and `b`. `masked`: whether some, all, none or no elements (without a mask) are."""
    rng = np.random.default_rng(seed)
    shape = (4,) if ndim == 1 else (4, 4)
    dtype = _KINDS[kind]
    data, x = (np.round(rng.normal(size=shape) * 2, 1).astype(dtype) for _ in range(2))
    masks = {"some": rng.random(shape) < 0.4, "all": True, "none": False, "no": np.ma.nomask}
    m = np.ma.array(data, mask=masks[masked])
    if masked == "some":
        m.mask.flat[:2] = [True, False]
    return {"m": m, "x": x, "b": rng.random(shape) < 0.5}


def function(text: str, statement: bool) -> Any:
    """`f(m, x, b)` of a text."""
    lines = text.replace("\n", "\n  ")
    body = f"{lines}\n  return m" if statement else f"return {text}"
    scope: dict[str, Any] = {"np": np, "__name__": __name__}
    source = f"def f(m, x, b):\n  {body}\n"
    name = f"<masked {text}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), scope)
    return scope["f"]


def seen(x: Any) -> Any:
    """All that can be seen of a result."""
    if isinstance(x, (tuple, list)):
        return type(x).__name__, [seen(e) for e in x]
    if x is np.ma.masked:
        return "masked"
    if isinstance(x, np.ma.MaskedArray):
        fill = None if x._fill_value is None else (x._fill_value.dtype, x._fill_value.tobytes())
        flags = x.hardmask, x.sharedmask, x.flags.writeable, x.flags.owndata, x.flags.c_contiguous, x._isfield
        return type(x).__name__, seen(x.data), seen(x.mask), fill, flags
    if isinstance(x, np.ndarray):
        return "array", x.dtype.str, x.shape, x
    return type(x).__name__, x


def same(a: Any, b: Any) -> bool:
    """Whether two things that were seen are the same; elementary functions may differ in the last bits."""
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        exact = a.dtype.kind not in "fc"
        return (
            np.array_equal(a, b)
            if exact
            else bool(np.allclose(a, b, rtol=1e-5 if a.itemsize == 4 else 1e-11, atol=1e-12, equal_nan=True))
        )
    if isinstance(a, (float, np.floating)) and isinstance(b, (float, np.floating)):
        return bool(np.isclose(a, b, rtol=1e-6, atol=1e-12, equal_nan=True))
    return type(a) is type(b) and bool(np.all(a == b))


def run(f: Any, given: dict[str, Any]) -> Any:
    """What a call is seen to do: result or error, and the arguments afterwards."""
    given = {k: v.copy() for k, v in given.items()}
    given["m"]._sharedmask = False
    try:
        with np.errstate(all="ignore"):
            result = f(**given)
        out = "gives", seen(result), result is given["m"]
    except Exception as e:
        out = "raises", type(e).__name__, str(e)
    return out, [seen(v) for v in given.values()]


def compare(text: str, statement: bool, given: dict[str, Any], times: int = 2) -> tuple[Any, Any, str]:
    """What plain Python and the compiled function do, and why the latter was left to Python, if it was."""
    f = function(text, statement)
    why = ""
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        wanted = run(f, given)
        warnings.simplefilter("always", tj.errors.FallbackWarning)
        compiled = tj.jit(f, fallback=True)
        found = [run(compiled, given) for _ in range(times)]
    for w in met:
        if issubclass(w.category, tj.errors.FallbackWarning):
            why = str(w.message).splitlines()[0]
    wrong = next((r for r in found if not same(r, wanted)), None)
    return wanted, wanted if wrong is None else wrong, why
