"""Incomplete gamma and beta functions, their inverses and their derivatives by parameters."""

from __future__ import annotations

import math
from typing import Any

from tracejit.ir.avals import aval_of
from tracejit.ir.kernel import Composite
from tracejit.ir.primitive import binds
from tracejit.ops.building.helpers import Derivative, pointwise
from tracejit.ops.creation.create import convert_element_type
from tracejit.ops.elementwise.arithmetic import add, div, mul, neg, reciprocal, sub
from tracejit.ops.elementwise.compare import eq, select
from tracejit.ops.elementwise.transcendental import exp, log
from tracejit.ops.special import beta_slope, gamma_slope, jets
from tracejit.ops.special.building import F64, in_double, no_derivative, special, times
from tracejit.ops.special.gamma import betaln, digamma, lgamma, polygamma
from tracejit.ops.special.integrals import xlog1py, xlogy


def gamma_density(a: Any, x: Any) -> Any:
    """x**(a - 1) exp(-x) / gamma(a), the derivative of igamma by x."""
    return exp(sub(sub(xlogy(sub(a, 1), x), x), lgamma(a)))


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """x**(a - 1) (1 - x)**(b - 1) / beta(a, b), the derivative of betainc by x."""
    return exp(sub(add(xlogy(sub(a, 1), x), xlog1py(sub(b, 1), neg(x))), betaln(a, b)))


def _density_slope(a: Any, x: Any, order: int) -> Any:
    """The derivative of that order of `gamma_density` by a: f' = f g gives f(n) = sum of binomials f(i) g(n-1-i)."""
    g = [sub(log(x), digamma(a)), *(neg(polygamma(float(n), a)) for n in range(1, order))]
    f = [gamma_density(a, x)]
    for n in range(1, order + 1):
        terms = [mul(mul(f[i], g[n - 1 - i]), float(math.comb(n - 1, i))) for i in range(n)]
        total = terms[0]
        for term in terms[1:]:
            total = add(total, term)
        f.append(total)
    return f[order]


igamma = special(
    "igamma",
    "the lower incomplete gamma function P(a, x), regularized",
    "gammainc",
    times(lambda ans, a, x: igamma_grad_a(a, x, order=1)),
    times(lambda ans, a, x: gamma_density(a, x)),
    cost=200,
)

igammac = special(
    "igammac",
    "the upper incomplete gamma function Q(a, x), regularized",
    "gammaincc",
    times(lambda ans, a, x: neg(igamma_grad_a(a, x, order=1))),
    times(lambda ans, a, x: neg(gamma_density(a, x))),
    cost=200,
)


def _grad_a_eval(a: Any, x: Any, *, order: int) -> Any:
    return in_double(lambda p, q: jets.gammainc_derivative(p, q, order))(a, x)


def _first_grad_a(a: Any, x: Any, *, order: int) -> Any:
    """The first one by the quantile's slope, whose code is native; others run opaquely."""
    if order != 1:
        return None
    dtype = aval_of(a).dtype
    a, x = (convert_element_type(y, dtype=F64) for y in (a, x))
    slope = random_gamma_grad(a, x)
    out = select(eq(slope, 0), 0.0, neg(mul(gamma_density(a, x), slope)))
    return convert_element_type(out, dtype=dtype)


_igamma_grad_a = pointwise(
    "igamma_grad_a",
    "the derivative of a positive order of igamma by a",
    _grad_a_eval,
    kinds="f",
    kernel=Composite(_first_grad_a),
    derivatives=(
        times(lambda ans, a, x, order: igamma_grad_a(a, x, order=order + 1)),
        times(lambda ans, a, x, order: _density_slope(a, x, order)),
    ),
    cost=5000,
)


@binds(_igamma_grad_a.op)
def igamma_grad_a(a: Any, x: Any, *, order: int = 1) -> Any:
    """The derivative of that order of `igamma` by a."""
    return _igamma_grad_a(a, x, order=order)


random_gamma_grad = special(
    "random_gamma_grad",
    "the derivative by a of a sample x of the gamma distribution",
    gamma_slope.evaluate,
    no_derivative("random_gamma_grad", "its operands"),
    no_derivative("random_gamma_grad", "its operands"),
    kernel=gamma_slope.kernel,
    cost=1500,
)

igammainv = special(
    "igammainv",
    "the inverse of igamma in x",
    "gammaincinv",
    times(lambda ans, a, y: random_gamma_grad(a, ans)),
    times(lambda ans, a, y: reciprocal(gamma_density(a, ans))),
    cost=500,
)

igammacinv = special(
    "igammacinv",
    "the inverse of igammac in x",
    "gammainccinv",
    times(lambda ans, a, y: random_gamma_grad(a, ans)),
    times(lambda ans, a, y: neg(reciprocal(gamma_density(a, ans)))),
    cost=500,
)


def _beta_grad_slope(ans: Any, a: Any, b: Any, x: Any, y: Any) -> Any:
    """By x, and by y with it: that of -(dI/da)/(dI/dx), where d²I/dadx is the density's derivative by a."""
    steep = sub(log(x), sub(digamma(a), digamma(add(a, b))))
    return neg(add(steep, mul(ans, sub(div(sub(a, 1), x), div(sub(b, 1), y)))))


random_beta_grad = special(
    "random_beta_grad",
    "the derivative by a of a sample x = 1 - y of the beta distribution",
    beta_slope.evaluate,
    no_derivative("random_beta_grad", "a"),
    no_derivative("random_beta_grad", "b"),
    times(_beta_grad_slope),
    None,
    kernel=beta_slope.kernel,
    cost=2000,
)


def beta_grads(a: Any, b: Any, x: Any) -> tuple[Any, Any]:
    """The derivatives by a and b of the beta distribution's quantile x, at a constant probability."""
    y = sub(1, x)
    return random_beta_grad(a, b, x, y), neg(random_beta_grad(b, a, y, x))


def _beta_grad(n: int) -> Derivative:
    """That of betainc by one of both."""

    def coefficient(ans: Any, a: Any, b: Any, x: Any) -> Any:
        slope = beta_grads(a, b, x)[n]
        return select(eq(slope, 0), 0.0, neg(mul(beta_density(a, b, x), slope)))

    return times(coefficient)


regularized_incomplete_beta = special(
    "regularized_incomplete_beta",
    "the incomplete beta function I(a, b, x), regularized",
    "betainc",
    _beta_grad(0),
    _beta_grad(1),
    times(lambda ans, a, b, x: beta_density(a, b, x)),
    cost=300,
)

betaincinv = special(
    "betaincinv",
    "the inverse of the incomplete beta function in x",
    "betaincinv",
    times(lambda ans, a, b, y: beta_grads(a, b, ans)[0]),
    times(lambda ans, a, b, y: beta_grads(a, b, ans)[1]),
    times(lambda ans, a, b, y: reciprocal(beta_density(a, b, ans))),
    cost=800,
)
