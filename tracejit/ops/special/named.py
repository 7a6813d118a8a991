"""The many functions of scipy.special that have no formula here: SciPy's C functions by their names.

One primitive for each number of operands, with the function's name as a param, so that a function costs a line in a
table of derivatives and no more. `scipy_1` to `scipy_4` are real functions with one result, which compiled code calls
by address. `scipy_part_1` to `scipy_part_5` are the others: one of several results, and complex operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.errors import NotDifferentiableError
from tracejit.ir.avals import aval_of
from tracejit.ir.kernel import Opaque
from tracejit.ops._lazy import scipy_module, scipy_special
from tracejit.ops.building.helpers import check_kind, dtype_of, pointwise
from tracejit.ops.elementwise.scale import scale
from tracejit.ops.special.algebra import Term
from tracejit.ops.special.building import F64, INT32

#: (name, which result) -> for each operand, the derivative by it as a function of the result and the operands; None
#: where nobody knows one.
SLOPES: dict[tuple[str, int], tuple[Callable[..., Term] | None, ...]] = {}
#: Name -> what is called as a ufunc: families of functions that SciPy has no ufunc for.
FAMILIES: dict[str, Any] = {}
_I64 = np.dtype(np.int64)
_WORK = 300  # instructions, roughly


def scipy_ufunc(name: str) -> Any:
    """SciPy's ufunc; names that begin with an underscore are of its own use, or those of families."""
    if name in FAMILIES:
        return FAMILIES[name]
    module = scipy_module("special._ufuncs") if name.startswith("_") else scipy_special()
    return getattr(module, name)


def _loop(name: str, kind: str, whole: int) -> str:
    """The operands' types in the loop of the ufunc that takes double precision and `whole` integers first."""
    for types in scipy_ufunc(name).types:
        ins = types.partition("->")[0]
        rest = ins[whole:]
        if (
            {"f": "d", "c": "D"}[kind] in rest
            and ins[:whole] == "l" * whole
            and rest[:1] != "l"
            and "f" not in rest.lower()
        ):
            return ins
    return ("l" * whole).ljust(scipy_ufunc(name).nin, "d" if kind == "f" else "D")


def _evaluate(*xs: Any, name: str, part: int = 0, whole: int = 0) -> Any:
    kind = "c" if xs[0].dtype.kind == "c" else "f"
    with np.errstate(all="ignore"):
        given = [
            (x if c == "D" else x.real).astype(c) for x, c in zip(xs, _loop(name, kind, whole), strict=True)
        ]
        more = {"part": part} if name in FAMILIES else {}
        out = scipy_ufunc(name)(*given, **more)
        return np.asarray(out[part] if type(out) is tuple else out).astype(xs[0].dtype)[()]


def _kernel(k: Any, *xs: Any, name: str, whole: int) -> Any:
    kinds = ["i64"] * whole + ["f64"] * (len(xs) - whole)
    target = k.external(f"special:{name}", f"f64({','.join(kinds)},i32)")
    wide = [k.cast(x, _I64 if n < whole else F64) for n, x in enumerate(xs)]
    return k.cast(k.call(target, (*wide, k.const(0, INT32)), out=F64, work=_WORK, cost=_WORK), xs[0].dtype)


def _slope(n: int) -> Callable[..., Any]:
    """The derivative rule by operand `n`."""

    def rule(t: Any, ans: Any, *xs: Any, name: str, whole: int, part: int = 0) -> Any:
        known = SLOPES.get((name, part), ())
        slope = known[n] if n < len(known) else None
        if slope is None:
            raise NotDifferentiableError(op=name, reason=_why(name, n, len(xs), known))
        terms = [Term(x, i < whole) for i, x in enumerate(xs)]
        return scale(slope(Term(ans), *terms).raw, t)

    return rule


def _why(name: str, n: int, count: int, known: tuple[Any, ...]) -> str:
    if not any(known):
        return "it has no closed derivative"
    others = " and ".join(f"number {i + 1}" for i, s in enumerate(known) if s is not None)
    return f"it has no closed derivative by operand number {n + 1} of {count}; by {others} it has"


def _real(count: int) -> Callable[..., Any]:
    return pointwise(
        f"scipy_{count}",
        f"a real function of scipy.special of {count} operand{'s' * (count > 1)}, by its name",
        _evaluate,
        kernel=_kernel,
        derivatives=tuple(map(_slope, range(count))),
        kinds="f",
        cost=200,
    )


def _part(count: int) -> Callable[..., Any]:
    return pointwise(
        f"scipy_part_{count}",
        f"one result of a function of scipy.special of {count} operand{'s' * (count > 1)}, which may be complex",
        _evaluate,
        kernel=Opaque(),
        derivatives=tuple(map(_slope, range(count))),
        kinds="fc",
        cost=2000,
    )


scipy_1, scipy_2, scipy_3, scipy_4 = map(_real, range(1, 5))
scipy_part_1, scipy_part_2, scipy_part_3, scipy_part_4, scipy_part_5 = map(_part, range(1, 6))
_REAL = (scipy_1, scipy_2, scipy_3, scipy_4)
_PARTS = (scipy_part_1, scipy_part_2, scipy_part_3, scipy_part_4, scipy_part_5)
#: Functions with one result that have no C function to call: of several results, or of SciPy's own use.
_MANY = """
    airy airye ellipj it2i0k0 it2j0y0 itairy iti0k0 itj0y0 mathieu_cem mathieu_sem mathieu_modcem1
    mathieu_modcem2 mathieu_modsem1 mathieu_modsem2 obl_ang1 obl_ang1_cv obl_rad1 obl_rad1_cv obl_rad2
    obl_rad2_cv pbdv pbvv pbwa pro_ang1 pro_ang1_cv pro_rad1 pro_rad1_cv pro_rad2 pro_rad2_cv shichi
"""
#: Functions of complex operands too, and of these only.
_COMPLEX_ONLY = frozenset(["hankel1", "hankel1e", "hankel2", "hankel2e", "wofz", "_lambertw"])
_COMPLEX_TOO = """
    airy airye elliprc elliprd elliprf elliprg elliprj erfi eval_chebyc eval_chebys eval_chebyt eval_chebyu
    eval_gegenbauer eval_genlaguerre eval_jacobi eval_laguerre eval_legendre eval_sh_chebyt eval_sh_chebyu
    eval_sh_jacobi eval_sh_legendre hyp0f1 ive jve kve yve shichi wrightomega _spherical_jn _spherical_in
    _spherical_yn _spherical_kn _assoc_legendre_p _assoc_legendre_p_norm
"""
#: Functions that cut off what is not whole in their first operands, and warn, or raise what the warning is made to be.
#: Machine code is none that may do so: it calls them for whole numbers only.
TRUNCATING = dict.fromkeys(["expn", "kn", "pdtri", "smirnov", "smirnovi", "yn"], 1) | dict.fromkeys(
    ["nbdtr", "nbdtrc", "nbdtri"], 2
)
_PARTED = frozenset(_MANY.split())
_COMPLEX = _COMPLEX_ONLY.union(_COMPLEX_TOO.split())


def by_name(name: str, *xs: Any, part: int = 0, whole: int = 0) -> Any:
    """Result number `part` of `scipy.special.<name>` of raw operands of one dtype, the first `whole` of which hold
    integers. Raises TypeRuleError for dtypes that it has no form for."""
    check_kind(name, "c" if name in _COMPLEX_ONLY else "fc" if name in _COMPLEX else "f", aval_of(xs[0]))
    cut = whole < TRUNCATING.get(name, 0)
    if cut or name in _PARTED or name.startswith("_") or dtype_of(xs[0]).kind == "c":
        return _PARTS[len(xs) - 1](*xs, name=name, part=part, whole=whole)
    return _REAL[len(xs) - 1](*xs, name=name, whole=whole)


def term(name: str, *xs: Term | float, part: int = 0) -> Term:
    """The same of terms and numbers, for formulas."""
    first = next(x for x in xs if isinstance(x, Term))
    raws = [x.raw if isinstance(x, Term) else dtype_of(first.raw).type(x) for x in xs]
    whole = 0
    while whole < len(xs) and getattr(xs[whole], "whole", False):
        whole += 1
    return Term(by_name(name, *raws, part=part, whole=whole))
