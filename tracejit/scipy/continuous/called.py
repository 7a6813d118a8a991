"""Distributions whose formulas are functions of SciPy's own use, and others that programs call as they are."""

from __future__ import annotations

from typing import Any

from tracejit import numpy as tnp
from tracejit.scipy import special as sp
from tracejit.scipy.continuous.common import INF, LOG_2, POSITIVE, REAL, UNIT, scipys
from tracejit.scipy.distributions import Distribution, Hosted

kstwobign = Distribution(
    "kstwobign",
    0,
    POSITIVE,
    pdf=lambda z: -scipys("_kolmogp")(z),
    cdf=lambda z: 1 - sp.kolmogorov(z),
    sf=lambda z: sp.kolmogorov(z),
    isf=lambda q: sp.kolmogi(q),
)
ksone = Distribution(
    "ksone",
    1,
    UNIT,
    valid=lambda n: (n >= 1) & (n == tnp.round(n)),
    pdf=lambda z, n: -scipys("_smirnovp")(n, z),
    cdf=lambda z, n: scipys("_smirnovc")(n, z),
    sf=lambda z, n: sp.smirnov(n, z),
    isf=lambda q, n: sp.smirnovi(n, q),
)
landau = Distribution(
    "landau",
    0,
    REAL,
    pdf=lambda z: scipys("_landau_pdf")(z, 0.0, 1.0),
    cdf=lambda z: scipys("_landau_cdf")(z, 0.0, 1.0),
    sf=lambda z: scipys("_landau_sf")(z, 0.0, 1.0),
)
# ---------------------------------------------------------------- non-central ones


def _ncx2_log_density(z: Any, df: Any, nc: Any) -> Any:
    order = df / 2 - 1
    there = (z > 0) & (nc > 0)
    x, n = tnp.where(there, z, 1.0), tnp.where(there, nc, 1.0)
    near = -0.5 * (tnp.sqrt(x) - tnp.sqrt(n)) ** 2 + 0.5 * order * tnp.log(x / n)
    far = tnp.where(there, near - LOG_2 + tnp.log(sp.ive(order, tnp.sqrt(n * x))), -INF)
    central = sp.xlogy(order, z) - z / 2 - sp.gammaln(df / 2) - df / 2 * LOG_2
    return tnp.where(nc > 0, far, central)


ncx2 = Distribution(
    "ncx2",
    2,
    POSITIVE,
    valid=lambda df, nc: (df > 0) & tnp.isfinite(df) & (nc >= 0),
    pdf=lambda z, df, nc: tnp.exp(_ncx2_log_density(z, df, nc)),
    logpdf=lambda z, df, nc: tnp.where(
        tnp.isinf(z), -INF, _ncx2_log_density(tnp.where(tnp.isinf(z), 1.0, z), df, nc)
    ),
    cdf=lambda z, df, nc: sp.chndtr(z, df, nc),
    sf=lambda z, df, nc: tnp.where(
        nc > 0,
        scipys("_ncx2_sf")(z, df, tnp.where(nc > 0, nc, 1.0)),
        sp.gammaincc(df / 2, z / 2),
    ),
)
ncf = Distribution(
    "ncf",
    3,
    POSITIVE,
    valid=lambda dfn, dfd, nc: (dfn > 0) & (dfd > 0) & (nc >= 0),
    pdf=scipys("_ncf_pdf"),
    cdf=lambda z, dfn, dfd, nc: sp.ncfdtr(dfn, dfd, nc, z),
    sf=scipys("_ncf_sf"),
    ppf=lambda q, dfn, dfd, nc: sp.ncfdtri(dfn, dfd, nc, q),
)
nct = Distribution(
    "nct",
    2,
    REAL,
    valid=lambda df, nc: (df > 0) & (nc == nc),
    pdf=scipys("_nct_pdf"),
    cdf=lambda z, df, nc: sp.nctdtr(df, nc, z),
    sf=lambda z, df, nc: tnp.clip(scipys("_nct_sf")(z, df, nc), 0, 1),
    ppf=lambda q, df, nc: sp.nctdtrit(df, nc, q),
)

# ---------------------------------------------------------------- without a form

for _name in [
    "irwinhall",
    "kappa4",
    "kstwo",
    "levy_stable",
    "nchypergeom_fisher",
    "nchypergeom_wallenius",
    "poisson_binom",
    "studentized_range",
]:
    Hosted(_name)
