"""Random numbers by key: `from tracejit import random`.

A key is an array of two uint32 words. Every function is a pure function of its key, so the same key
gives the same numbers in eager code, under `jit`, `vmap` and `grad`, on any number of threads. Use a key
once; `split` and `fold_in` make new ones. The generator is Threefry-2x32 in counter mode (Salmon and
others, 2011).
"""

from tracejit.docstrings import complete as _complete
from tracejit.random.continuous import (
    cauchy,
    double_sided_maxwell,
    exponential,
    gumbel,
    laplace,
    logistic,
    lognormal,
    maxwell,
    normal,
    pareto,
    rayleigh,
    triangular,
    truncated_normal,
    uniform,
    wald,
    weibull_min,
)
from tracejit.random.discrete import (
    bernoulli,
    binomial,
    categorical,
    choice,
    geometric,
    integers,
    multinomial,
    permutation,
    poisson,
    rademacher,
    randint,
)
from tracejit.random.gammas import (
    ball,
    beta,
    chisquare,
    dirichlet,
    f,
    gamma,
    generalized_normal,
    loggamma,
    t,
)
from tracejit.random.keys import (
    PRNGKey,
    bits,
    clone,
    fold_in,
    key,
    key_data,
    key_impl,
    split,
    wrap_key_data,
)
from tracejit.random.matrices import multivariate_normal, orthogonal

__all__ = [
    "PRNGKey",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "clone",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "integers",
    "key",
    "key_data",
    "key_impl",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]

_complete(__name__)
