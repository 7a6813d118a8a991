"""The rule-completeness test at full width: every primitive in every dtype that its type rule takes.

Each case of `tests/cases` is converted to every dtype (or made for it, `OF_DTYPE`), and the type rule says by trying
which it takes. Then: eval has the type that the rule says and agrees with the same in double precision; jit, vmap
and jit(vmap) agree with eval; jvp, vjp and forward-over-reverse, eager and compiled, agree with those in double
precision, which `test_rules` checks by differences; those of complex functions agree with differences along real
and imaginary directions. `make test` takes each operation's first case, compiled as one program in all dtypes, and
derivatives in two of them; the exhaustive sweep takes all cases in all dtypes, in smaller programs.

Not covered: `custom_vjp_linear`, which only a tape holds; derivatives of what has none (`smooth=False`, decompositions
without a rule); functions with a custom_vjp forwards.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tracejit as tj
from tests.cases import CASES as CONVERTED
from tests.cases import OF_DTYPE, REVERSE_ONLY
from tests.cases.makers import Case
from tracejit import dtypes
from tracejit.errors import TracejitError
from tracejit.interpreters.stage import stage
from tracejit.ir.avals import aval_of
from tracejit.test_util import check_grads
from tracejit.tracing import to_raw, wrap

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"
DTYPES = [*map(np.dtype, NAMES.split()), BFLOAT16]
#: In which derivatives are checked by `make test`, most operations in one of them; the exhaustive sweep has all dtypes.
FEW = (np.dtype(np.float32), np.dtype(np.complex128))
DOUBLE = {"c": np.dtype(np.complex128)}
#: Whose results depend on the dtype itself: what they give in double precision says nothing.
OF_THE_FORMAT = {
    "bitcast",
    "bitcast_join",
    "bitcast_split",
    "nextafter",
    "spacing",
    "reduce_precision",
    "convert_element_type",
    "stop_gradient",
}
CASES = {
    name: [*CONVERTED.get(name, []), *REVERSE_ONLY.get(name, [])] for name in {*CONVERTED, *REVERSE_ONLY}
}
#: Results of operations lose this many times the spacing of the format, by the condition of the operation.
LOSS = {"expm": 128, "bessel_i1": 64, "pow": 64, "cumprod": 64, "integer_pow": 64, "tan": 64, "det": 64}
#: How large the terms are whose sum an operation is, where that can be nothing: Hadamard's bound of a determinant.
SIZE: dict[str, Callable[..., float]] = {
    "det": lambda x, *_: float(np.prod(np.linalg.norm(wide(x), axis=-1), axis=-1).max(initial=0.0))
}


def listed(out: Any) -> list[Any]:
    return list(out) if isinstance(out, (list, tuple)) else [out]


def kind_of(a: Any) -> str:
    return (
        "f"
        if dtypes.is_inexact(np.asarray(a).dtype) and np.asarray(a).dtype.kind != "c"
        else np.asarray(a).dtype.kind
    )


def converted(args: tuple[Any, ...], d: np.dtype) -> tuple[Any, ...]:
    """The operands in floating point (or, without any, those of the first one's dtype) as `d`."""
    kinds = [kind_of(a) for a in args]
    some = [k in "fc" for k in kinds]
    which = some if any(some) else [np.asarray(a).dtype == np.asarray(args[0]).dtype for a in args]
    return tuple(as_dtype(a, d) if w else a for a, w in zip(args, which, strict=True))


def as_dtype(a: Any, d: np.dtype) -> Any:
    a = np.asarray(a)
    if d.kind == "b":
        out = a.real > 0
    elif d.kind in "iu":
        wide = np.rint(a.real * (4 if kind_of(a) in "fc" else 1))
        out = np.abs(wide).astype(d) if d.kind == "u" else wide.astype(d)
    elif d.kind == "c" and a.dtype.kind != "c":
        out = (a + 0.25j * np.cos(np.arange(a.size)).reshape(a.shape)).astype(d)
    else:
        out = (a.real if d.kind != "c" else a).astype(d)
    return out[()]


def takes(case: Case, args: tuple[Any, ...]) -> list[Any] | None:
    """The types that the type rule gives, None if it refuses."""
    try:
        return stage(lambda *xs: listed(case.fn(*xs)), [aval_of(a) for a in args])[0].out_avals
    except (TracejitError, TypeError, ValueError):
        return None


def has_a_value(case: Case, args: tuple[Any, ...]) -> bool:
    """Whether NumPy does not refuse the operands' values: negative powers of integers."""
    try:
        case.fn(*args)
    except (ValueError, OverflowError):
        return False
    return True


def applications(name: str, all_of_them: bool) -> Iterator[tuple[Case, np.dtype, tuple[Any, ...]]]:
    """Each case in each dtype that is taken."""
    for case in CASES[name] if all_of_them else CASES[name][:1]:
        seen = set()
        for d in DTYPES:
            args = converted(case.args(), d)
            types = tuple(str(np.asarray(a).dtype) for a in args)
            if types not in seen and takes(case, args) is not None and has_a_value(case, args):
                seen.add(types)
                yield case, d, args
    for d in DTYPES if name in OF_DTYPE and all_of_them else ():
        for case in OF_DTYPE[name](d):
            yield case, d, case.args()


def programs(rows: list[Any], all_of_them: bool) -> Iterator[list[Any]]:
    """What is compiled together: LLVM takes much longer for one long function than for several."""
    size = 4 if all_of_them else len(DTYPES)
    return (rows[n : n + size] for n in range(0, len(rows), size))


def lifted(case: Case) -> Callable[..., Any]:
    return lambda *xs: [wrap(o) for o in listed(case.fn(*map(to_raw, xs)))]


def eps(d: Any) -> float:
    return float(ml_dtypes.finfo(dtypes.real_part_dtype(np.dtype(d))).eps)


def wide(x: Any) -> Any:
    """An array in double precision."""
    a = np.asarray(x)
    if not dtypes.is_inexact(a.dtype):
        return x
    return a.astype(DOUBLE.get(a.dtype.kind, np.dtype(float)))[()]


def largest(xs: Any) -> float:
    """The largest finite number among floating-point arrays."""
    floats = [
        a[np.isfinite(a)] for x in tj.tree.leaves(xs) if dtypes.is_inexact((a := wide(np.asarray(x))).dtype)
    ]
    return max((float(np.max(np.abs(a), initial=1e-3)) for a in floats), default=1.0)


def close(got: Any, want: Any, d: Any, loss: float, what: str, scale: float | None = None) -> None:
    """Within `loss` spacings of the format `d`, in what is not exact; of numbers of size `scale`, else the largest."""
    for g, w in zip(tj.tree.leaves(got), tj.tree.leaves(want), strict=True):
        g, w = np.asarray(g), np.asarray(w)
        if g.dtype == dtypes.float0:
            continue
        assert g.shape == w.shape, what
        if not dtypes.is_inexact(g.dtype):
            np.testing.assert_array_equal(g, w, err_msg=what)
            continue
        spacing = max(eps(d), eps(g.dtype), eps(np.float64) * 64)
        g, w = wide(g), wide(w.astype(g.dtype))  # what is beyond the format is infinite
        most = largest(w) if scale is None else scale
        tolerance = loss * spacing
        np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance * most, err_msg=what)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def each(test: Callable[[str, bool], None]) -> Callable[..., None]:
    """For every operation, its first case; all cases in the exhaustive sweep."""
    names = sorted(CASES)
    params = [pytest.param(n, False, id=n) for n in names]
    params += [pytest.param(n, True, id=f"{n}-all", marks=pytest.mark.exhaustive) for n in names]
    return pytest.mark.parametrize(("name", "all_of_them"), params)(test)


@each
@pytest.mark.sample(12)
def test_values_in_every_dtype(name: str, all_of_them: bool) -> None:
    found = list(applications(name, all_of_them))
    assert found or not CASES[name][0].makers, f"{name} takes no dtype"
    for some in programs(found, all_of_them):
        check_values(name, some)


def check_values(name: str, found: list[tuple[Case, np.dtype, tuple[Any, ...]]]) -> None:
    rows = [[np.stack([np.asarray(a)] * 2) for a in args] for _, _, args in found]

    def together(all_args: Any, all_rows: Any) -> Any:
        values = [lifted(c)(*args) for (c, _, _), args in zip(found, all_args, strict=True)]
        return values, [
            tj.vmap(lifted(c))(*row) if row else [] for (c, _, _), row in zip(found, all_rows, strict=True)
        ]

    compiled, mapped = tj.jit(together)([list(args) for _, _, args in found], rows)
    for (c, d, args), got, lanes in zip(found, compiled, mapped, strict=True):
        what = f"{name} of {[str(np.asarray(a).dtype) for a in args]}"
        want = listed(c.fn(*args))
        assert [aval_of(o) for o in want] == takes(c, args), what
        assert [aval_of(g) for g in got] == takes(c, args), what
        loss, size = LOSS.get(name, 16), SIZE[name](*args) if name in SIZE else None
        close(got, want, d if dtypes.is_inexact(d) else float, loss, f"jit of {what}", size)
        if args:
            twice = [np.stack([np.asarray(w)] * 2) for w in want]
            close(lanes, twice, d if dtypes.is_inexact(d) else float, loss, f"jit(vmap) of {what}", size)
            eager = tj.vmap(lifted(c))(*[np.stack([np.asarray(a)] * 2) for a in args])
            close(eager, twice, d if dtypes.is_inexact(d) else float, loss, f"vmap of {what}", size)
        if dtypes.is_inexact(d) and name not in OF_THE_FORMAT and c.smooth:
            close(
                want,
                listed(c.fn(*map(wide, args))),
                d,
                loss,
                f"eval of {what} against double precision",
                size,
            )


def derivative_program(
    case: Case, args: tuple[Any, ...], forward: bool = True
) -> tuple[Callable[..., Any], tuple[Any, ...]] | None:
    """(floating-point operands -> value, jvp if `forward`, vjp and the derivative of a gradient), these operands."""
    which = [dtypes.is_inexact(np.asarray(a).dtype) for a in args]
    active = tuple(a for a, w in zip(args, which, strict=True) if w)
    if not active or not any(dtypes.is_inexact(np.asarray(o).dtype) for o in listed(case.fn(*args))):
        return None

    def of_floats(*xs: Any) -> list[Any]:
        it = iter(xs)
        outs = lifted(case)(*(next(it) if w else a for w, a in zip(which, args, strict=True)))
        return [o for o in outs if dtypes.is_inexact(o.dtype)]

    def loss(*xs: Any) -> Any:
        total: Any = 0.0
        for o in of_floats(*xs):
            r = np.real(o).astype(np.float64)
            total = total + np.sum(r * np.cos(r))
        return total

    def run(*xs: Any) -> Any:
        ts = tuple(np.cos(np.arange(x.size)).reshape(x.shape).astype(x.dtype) for x in active)
        nums = tuple(range(len(xs)))
        outs, tangents = tj.jvp(lambda *ys: of_floats(*ys), xs, ts) if forward else (of_floats(*xs), ())
        gradient, turned = tj.jvp(tj.grad(loss, nums), xs, ts)
        return outs, tangents, gradient, turned

    return run, active


@each
@pytest.mark.sample(12)
def test_derivatives_in_every_inexact_dtype(name: str, all_of_them: bool, thorough: bool) -> None:
    rows = []
    few = FEW if thorough else (FEW[zlib.crc32(name.encode()) % 2],)
    for c, d, args in applications(name, all_of_them):
        wanted = dtypes.is_inexact(d) and d != np.float64 if all_of_them else d in few
        made = derivative_program(c, args, name not in REVERSE_ONLY) if wanted and c.smooth else None
        if made is not None:
            doubled = derivative_program(c, tuple(map(wide, args)), name not in REVERSE_ONLY)
            assert doubled is not None
            rows.append((d, args, *made, *doubled))
    for some in programs(rows, all_of_them):
        check_derivatives(name, some)


def check_derivatives(name: str, rows: list[Any]) -> None:
    """Rows of (dtype, operands, derivatives and what they take, the same in double precision)."""
    compiled = tj.jit(lambda all_args: [r[2](*xs) for r, xs in zip(rows, all_args, strict=True)])(
        [list(r[3]) for r in rows]
    )
    for (d, args, run, xs, precise, ys), jitted in zip(rows, compiled, strict=True):
        what = f"{name} of {[str(np.asarray(a).dtype) for a in args]}"
        eager = run(*xs)
        for g, x in zip(eager[2], xs, strict=True):
            assert np.asarray(g).dtype == np.asarray(x).dtype, what
        loss, most = (
            4 * LOSS.get(name, 16),
            largest(eager),
        )  # second derivatives are small sums of larger terms
        if name not in OF_THE_FORMAT:
            close(eager, precise(*ys), d, loss, f"derivatives of {what} against double precision", most)
        close(jitted, eager, d, loss, f"jitted derivatives of {what}", most)


@each
@pytest.mark.sample(12)
def test_complex_derivatives_by_differences(name: str, all_of_them: bool) -> None:
    """Along complex directions, so that both parts of an argument move on their own."""
    for c, d, args in applications(name, all_of_them):
        if d != np.complex128 or not c.smooth or name in OF_THE_FORMAT or name in REVERSE_ONLY:
            continue
        outs = [dtypes.is_inexact(np.asarray(o).dtype) for o in listed(c.fn(*args))]
        which = [dtypes.is_inexact(np.asarray(a).dtype) for a in args]
        if not any(outs) or not any(which):
            continue

        def of_floats(*xs: Any, c: Case = c, args: Any = args, which: Any = which) -> list[Any]:
            it = iter(xs)
            values = lifted(c)(*(next(it) if w else a for w, a in zip(which, args, strict=True)))
            return [o for o in values if dtypes.is_inexact(o.dtype)]

        active = tuple(a for a, w in zip(args, which, strict=True) if w)
        check_grads(of_floats, active, order=2, atol=c.tolerance, rtol=c.tolerance)
