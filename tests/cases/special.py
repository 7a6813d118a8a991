"""Cases of the special functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases.makers import Case, Maker, case, fixed, inside, normal, positive
from tracejit import ops
from tracejit.ops import special
from tracejit.ops.building.helpers import dtype_of

_NAMES = {"si": "sine_integral", "ci": "cosine_integral"}


def _by(name: str, *makers: Maker, **options: Any) -> Case:
    return case(getattr(special, _NAMES.get(name, name)), *makers, **options)


def unit(*shape: int) -> Maker:
    """Values in (0.1, 0.9)."""
    return lambda rng: rng.uniform(0.1, 0.9, shape)


def _order(n: float) -> Maker:
    return fixed(np.float64(n))


def at(name: str, first: float) -> Any:
    """A function of two operands with the first one a constant: it has no derivative by it."""
    return lambda x: getattr(special, name)(first, x)


def _beta_grad(x: Any) -> Any:
    """By the place, with parameters that carry no tangents."""
    a, b = (ops.create.convert(np.array(v), dtype_of(x)) for v in ([0.7, 3.0, 9.0], [2.0, 1.5, 0.4]))
    return special.random_beta_grad(a, b, x, ops.arithmetic.sub(1, x))


def _betainc(name: str) -> Any:
    """With whole parameters, which carry no tangents."""

    def fn(a: Any, b: Any, x: Any) -> Any:
        d = dtype_of(x)
        return getattr(special, name)(ops.create.convert(a, d), ops.create.convert(b, d), x)

    return fn


_WHOLE = (fixed([1, 2, 5]), fixed([3, 2, 1]))


_LOOSE = {"tolerance": 1e-4, "precision": 1e-9}

#: Those that have complex operands.
_ANALYTIC = (
    *("erf", "erfc", "erfcx", "ndtr", "log_ndtr", "exp1", "expi", "spence", "dawson"),
    *("si", "ci", "fresnel_s", "fresnel_c"),
)
_PLANE = [0.7 + 0.3j, 1.2 - 0.4j]


def named(name: str, *first: float, part: int = 0) -> Any:
    """A function of the last operand of one that is called by its name."""
    return lambda x: special.by_name(name, *(dtype_of(x).type(v) for v in first), x, part=part)


CASES: dict[str, list[Case]] = {
    "scipy_1": [case(named("ellipe"), unit(2, 3), **_LOOSE), case(named("erfi"), unit(), **_LOOSE)],
    "scipy_2": [case(named("eval_legendre", 3.0), unit(2, 3), **_LOOSE)],
    "scipy_3": [case(named("hyperu", 1.5, 0.5), positive(2, 3), **_LOOSE)],
    "scipy_4": [case(named("eval_jacobi", 2.0, 0.5, 1.5), unit(2, 3), **_LOOSE)],
    "scipy_part_1": [case(named("airy", part=2), positive(2, 3), **_LOOSE), case(named("wofz"), fixed(_PLANE))],
    "scipy_part_2": [case(named("pbdv", 1.5), positive(2, 3), **_LOOSE)],
    "scipy_part_3": [case(named("mathieu_modcem1", 1.0, 0.5), positive(3), orders=1, **_LOOSE)],
    "scipy_part_4": [case(named("pro_ang1", 1.0, 2.0, 0.5), unit(3), orders=1, **_LOOSE)],
    "scipy_part_5": [case(named("pro_ang1_cv", 1.0, 2.0, 0.5, 6.2), unit(3), orders=1, **_LOOSE)],
    **{f"{name}_complex": [_by(name, fixed(_PLANE))] for name in _ANALYTIC},
    **{f"{name}_complex": [_by(f"{name}_complex", fixed(_PLANE))] for name in ("loggamma", "rgamma")},
    "gamma_complex": [_by("gamma", fixed(_PLANE))],
    **{f"{name}_complex": [_by(name, fixed(_PLANE), fixed(_PLANE[::-1]))] for name in ("xlogy", "xlog1py")},
    "digamma_complex": [_by("digamma", fixed(_PLANE))],
    **{
        name: [_by(name, normal(2, 3)), _by(name, normal())]
        for name in (
            *("erfc", "erfcx", "ndtr", "log_ndtr", "bessel_i0", "bessel_i1"),
            *("bessel_j0", "bessel_j1"),
        )
    },
    **{name: [_by(name, inside(2, 3)), _by(name, fixed(1.4))] for name in ("bessel_i0e", "bessel_i1e")},
    **{
        name: [_by(name, positive(2, 3)), _by(name, fixed([-0.4, -1.3, 4.2]), **_LOOSE)]
        for name in ("lgamma", "digamma", "gamma")
    },
    **{name: [_by(name, positive(2, 3))] for name in ("expi", "exp1", "spence")},
    **{name: [_by(name, positive(2, 3), positive(2, 3)), _by(name, positive(), positive(3))]
       for name in ("beta", "betaln", "poch", "xlogy", "xlog1py", "igamma", "igammac")},
    **{name: [_by(name, positive(2, 3), **_LOOSE)]
       for name in ("bessel_y0", "bessel_y1", "bessel_k0", "bessel_k1", "bessel_k0e", "bessel_k1e")},
    **{name: [case(at(name, v), positive(2, 3), **_LOOSE) for v in (0.5, 2.0)]
       for name in ("bessel_jv", "bessel_yv", "bessel_iv", "bessel_kv")},
    **{name: [_by(name, normal(2, 3), **_LOOSE)] for name in ("si", "fresnel_s", "fresnel_c", "dawson")},
    "ci": [_by("ci", positive(2, 3))],
    "hyp1f1": [case(lambda x: special.hyp1f1(1.5, 2.5, x), normal(2, 3))],
    "hyp2f1": [case(lambda x: special.hyp2f1(1.5, 0.5, 2.5, x), inside(2, 3), **_LOOSE)],
    "binom": [_by("binom", fixed([3.3, 4.5]), fixed([1.2, 2.6]))],
    "erf_inv": [_by("erf_inv", inside(2, 3), **_LOOSE)],
    "erfc_inv": [_by("erfc_inv", unit(2, 3), **_LOOSE)],
    "ndtri": [_by("ndtri", unit(2, 3), **_LOOSE)],
    "polygamma": [case(at("polygamma", n), positive(2, 3), **_LOOSE) for n in (0.0, 1.0, 2.0)]
    + [case(at("polygamma", 1.0), fixed([-0.4, -1.3, 4.2]), tolerance=1e-3, precision=1e-9)],
    "zeta": [case(at("zeta", s), positive(2, 3), **_LOOSE) for s in (2.0, 3.5)],
    "riemann_zeta": [case(lambda x: special.riemann_zeta(ops.create.stop_gradient(x)), normal(2, 3), smooth=False)],
    "igamma_grad_a": [
        case(lambda a, x: special.igamma_grad_a(a, x), positive(3), positive(3)),
        case(lambda a, x: special.igamma_grad_a(a, x, order=2), positive(), fixed([0.3, 4.0])),
    ],
    "random_gamma_grad": [
        case(lambda a, x: special.random_gamma_grad(ops.create.stop_gradient(a), ops.create.stop_gradient(x)),
             positive(3), positive(3), smooth=False),
    ],
    "random_beta_grad": [case(_beta_grad, unit(3), **_LOOSE)],
    "igammainv": [case(at("igammainv", 2.5), unit(2, 3), **_LOOSE)],
    "igammacinv": [case(at("igammacinv", 2.5), unit(2, 3), **_LOOSE)],
    "regularized_incomplete_beta": [case(_betainc("regularized_incomplete_beta"), *_WHOLE, unit(3))],
    "betaincinv": [case(_betainc("betaincinv"), *_WHOLE, unit(3), **_LOOSE)],
}  # fmt: skip
