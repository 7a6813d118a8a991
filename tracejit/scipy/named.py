"""The ufuncs of scipy.special: those with formulas, those that programs call by name, and what is made of both."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit import numpy as tnp
from tracejit.errors import SpecialFunctionError, TypeRuleError
from tracejit.ir.avals import aval_of
from tracejit.ir.values import Value
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.operands import broadcast_operands, convert, kind_of
from tracejit.numpy.ufuncs import loop_dtypes
from tracejit.ops import special as sp
from tracejit.ops.special.named import TRUNCATING
from tracejit.scipy import formulas
from tracejit.scipy.registry import NAMES, ScipyUfunc, function, ufunc
from tracejit.tracing import caller, wrap

#: Number of operands -> ufuncs of scipy.special with one result.
_ONE = {
    1: "bei beip ber berp cosdg cotdg ellipe ellipk ellipkm1 erfi it2struve0 itmodstruve0 itstruve0 kei keip ker kerp"
    " kolmogi kolmogorov ndtri_exp round sindg tandg wofz wrightomega zetac",
    2: "agm chdtri chdtriv ellipeinc ellipkinc elliprc eval_chebyc eval_chebys eval_chebyt eval_chebyu eval_hermite"
    " eval_hermitenorm eval_laguerre eval_legendre eval_sh_chebyt eval_sh_chebyu eval_sh_legendre expn hankel1 hankel1e"
    " hankel2 hankel2e hyp0f1 ive jve kn kve mathieu_a mathieu_b modstruve owens_t pdtri pdtrik powm1 smirnov"
    " smirnovi stdtr stdtridf stdtrit struve tklmbda yn yve",
    3: "bdtrik bdtrin besselpoly betaincc betainccinv btdtria btdtrib chndtr chndtridf chndtrinc chndtrix"
    " elliprd elliprf elliprg eval_gegenbauer eval_genlaguerre fdtr fdtrc fdtri fdtridfd gdtria gdtrib gdtrix hyperu"
    " log_wright_bessel lpmv nbdtr nbdtrc nbdtri nbdtrik nbdtrin nctdtr nctdtridf nctdtrinc nctdtrit nrdtrimn"
    " nrdtrisd obl_cv pro_cv radian voigt_profile wright_bessel",
    4: "elliprj eval_jacobi eval_sh_jacobi ncfdtr ncfdtri ncfdtridfd ncfdtridfn ncfdtrinc",
}
#: (operands, results) -> ufuncs with several results.
_SEVERAL = {
    (1, 2): "it2i0k0 it2j0y0 iti0k0 itj0y0 shichi",
    (1, 4): "airy airye itairy",
    (2, 2): "pbdv pbvv pbwa",
    (2, 4): "ellipj",
    (3, 2): "mathieu_cem mathieu_modcem1 mathieu_modcem2 mathieu_modsem1 mathieu_modsem2 mathieu_sem",
    (4, 2): "obl_ang1 obl_rad1 obl_rad2 pro_ang1 pro_rad1 pro_rad2",
    (5, 2): "obl_ang1_cv obl_rad1_cv obl_rad2_cv pro_ang1_cv pro_rad1_cv pro_rad2_cv",
}


class Named(ScipyUfunc):
    """A ufunc of scipy.special that is called by its name, in the loop that SciPy chooses."""

    def __init__(self, name: str, nin: int, nout: int) -> None:
        super().__init__(name, lambda *xs: sp.by_name(name, *xs), nin, nout)

    def apply(self, args: tuple[Any, ...], dtype: Any = None, casting: Any = None) -> Any:
        """The raw result(s) on operands of any kind."""
        kinds = tuple(map(kind_of, args))
        half = dtypes.bfloat16 in kinds  # SciPy has none
        loop = loop_dtypes(
            self.np, tuple(np.dtype(np.float32) if k == dtypes.bfloat16 else k for k in kinds), dtype, casting
        )
        target = dtypes.bfloat16 if half else loop[-1]
        whole = 0
        while loop[whole].kind == "i":
            whole += 1
        raws = broadcast_operands(self.__name__, [convert(a, target) for a in args])
        whole = max(whole, _whole_for_sure(self.__name__, raws, whole))
        parts = [sp.by_name(self.__name__, *raws, part=p, whole=whole) for p in range(self.nout)]
        return tuple(parts) if self.nout > 1 else parts[0]


def _whole_for_sure(name: str, xs: Any, whole: int) -> int:
    """How many first operands of a function that cuts off what is not whole are whole numbers, where programs leave all
    others to Python, which warns. (`whole`: as many are integers.)"""
    count = TRUNCATING.get(name, 0)
    compare, arithmetic = ops.compare, ops.arithmetic
    good = [
        compare.and_(compare.eq(arithmetic.trunc(x), x), compare.lt(arithmetic.abs(x), 2.0**31))
        for x in xs[whole:count]
    ]
    if not good or not caller.does_over():
        return 0
    sure = functools.reduce(compare.and_, good)
    if not isinstance(sure, Value) and not np.all(sure):
        return 0
    leave_if(
        ops.reduce.reduce_or(compare.not_(sure), axes=tuple(range(aval_of(sure).ndim))),
        "a warning of SciPy's",
    )
    return count


for _n, (_fn, _nin) in formulas.TABLE.items():
    ufunc(_n, _fn, _nin)
for _n, _fn in formulas.PAIRS.items():
    ufunc(_n, _fn, 1, 2)
for _nin, _names in _ONE.items():
    NAMES.update({n: Named(n, _nin, 1) for n in _names.split()})
for (_nin, _nout), _names in _SEVERAL.items():
    NAMES.update({n: Named(n, _nin, _nout) for n in _names.split()})


# ---------------------------------------------------------------- functions around such ufuncs


def _ufunc(name: str, *args: Any, whole: int = 0) -> Any:
    """A ufunc of SciPy's own use, on boxes and numbers, in double precision."""
    some = any(dtypes.is_complex(k) for k in map(kind_of, args) if not isinstance(k, type))
    target = np.dtype(np.complex128 if some else np.float64)
    return wrap(sp.by_name(name, *broadcast_operands(name, [convert(a, target) for a in args]), whole=whole))


def _spherical(name: str) -> Any:
    """A spherical Bessel function, or its derivative."""

    def spherical(n: Any, z: Any, derivative: bool = False) -> Any:
        kind = dtypes.canonical(tnp.asarray(z).dtype)
        if kind == np.bool_:
            raise TypeRuleError(
                op=name, problem="the numpy boolean negative, the `-` operator, is not supported"
            )
        out = _ufunc(f"_{name}_d" if derivative else f"_{name}", n, z, whole=1)
        return out.astype(kind) if kind == np.complex64 else out

    spherical.__name__ = spherical.__qualname__ = name
    return function(spherical)


for _n in ("jn", "yn", "in", "kn"):
    _spherical(f"spherical_{_n}")


@function
def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Any:
    """Lambert's W: the number w with w exp(w) = z, in branch `k`; complex."""
    at = tnp.asarray(z).astype(complex)
    return _ufunc("_lambertw", at, k, float(tol))


def _derivative(name: str, low: float, sign: float) -> Any:
    """The n-th derivative of a Bessel function by its argument: sums of the functions of the orders around."""

    def derivative(v: Any, z: Any, n: Any = 1) -> Any:
        if type(n) is not int or n < 0:
            raise SpecialFunctionError(
                name=f"{name[0]}vp",
                problem=f"n must be a whole number, not {n}",
                remedy="pass the number of the derivative as a Python integer",
            )
        out, factor = 0.0, 1.0
        bessel = NAMES[name]
        if n == 0:
            return bessel(v, z)
        for i in range(n + 1):
            out = out + factor * bessel(v - n + 2 * i, z)
            factor = factor * sign * (n - i) / (i + 1)
        return out * low**n

    derivative.__name__ = derivative.__qualname__ = {"hankel1": "h1vp", "hankel2": "h2vp"}.get(
        name, f"{name}p"
    )
    return function(derivative)


for _n, _low, _sign in (("jv", 0.5, -1.0), ("yv", 0.5, -1.0), ("iv", 0.5, 1.0), ("kv", -0.5, 1.0)):
    _derivative(_n, _low, _sign)
for _n in ("hankel1", "hankel2"):
    _derivative(_n, 0.5, -1.0)
