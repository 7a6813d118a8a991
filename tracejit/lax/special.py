"""JAX's names for special functions, on operands of one float dtype, of equal shapes or 0-d.

`tracejit.scipy.special` has them with SciPy's names, broadcasting and promotion, and many more.
"""

from __future__ import annotations

from tracejit.lax.wrapping import public
from tracejit.ops import special as s

lgamma, digamma = public(s.lgamma, names="x"), public(s.digamma, names="x")
polygamma, zeta = public(s.polygamma, names="m x"), public(s.zeta, names="x q")
erfc, erf_inv = public(s.erfc, names="x"), public(s.erf_inv, names="x")
bessel_i0e, bessel_i1e = public(s.bessel_i0e, names="x"), public(s.bessel_i1e, names="x")
igamma, igammac = public(s.igamma, names="a x"), public(s.igammac, names="a x")
igamma_grad_a, random_gamma_grad = public(s.igamma_grad_a), public(s.random_gamma_grad, names="a x")
betainc = public(
    s.regularized_incomplete_beta, "The regularized incomplete beta function I(a, b, x).", "a b x"
)
