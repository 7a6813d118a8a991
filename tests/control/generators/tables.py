"""Every method of every kind of generator, with arguments that make sense."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

ARRAY = np.arange(12.0).reshape(4, 3)
#: Methods that `Generator` and `RandomState` both have.
_BOTH: dict[str, list[tuple[Any, ...]]] = {
    "standard_normal": [(), (5,)],
    "standard_exponential": [(), (5,)],
    "normal": [(), (1.5, 2.0), (1, 2, 6), (np.arange(3.0), 2.0), (0, 1, (2, 2))],
    "uniform": [(), (-1, 4), (-1, 4, 5), (np.arange(3.0), 7)],
    "exponential": [(), (2.0,), (2.0, 4), (np.ones(2),)],
    "standard_gamma": [(2.5,), (0.5, 3)],
    "gamma": [(2.0, 3.0), (2.0, 3.0, 4)],
    "beta": [(1.0, 2.0), (1.0, 2.0, 3)],
    "chisquare": [(3,), (3, 2)],
    "noncentral_chisquare": [(3, 1.0), (3, 1.0, 2)],
    "f": [(2, 3), (2, 3, 4)],
    "noncentral_f": [(2, 3, 1.0)],
    "standard_cauchy": [(), (3,)],
    "standard_t": [(4,), (4, 3)],
    "pareto": [(3.0,), (3.0, 2)],
    "weibull": [(2.0,), (2.0, 3)],
    "power": [(2.0,), (2.0, 3)],
    "rayleigh": [(), (2.0, 3)],
    "vonmises": [(0.0, 2.0), (0.0, 2.0, 3)],
    "wald": [(1.0, 2.0), (1.0, 2.0, 3)],
    "triangular": [(0, 1, 3), (0, 1, 3, 4)],
    "laplace": [(), (1, 2, 3)],
    "logistic": [(), (1, 2, 3)],
    "gumbel": [(), (1, 2, 3)],
    "lognormal": [(), (1, 0.5, 3)],
    "poisson": [(), (4,), (40.0,), (4, 5)],
    "geometric": [(0.3,), (0.01, 4)],
    "logseries": [(0.5,), (0.5, 4)],
    "zipf": [(2.0,), (2.0, 3)],
    "negative_binomial": [(3, 0.5), (3, 0.5, 4)],
    "binomial": [(10, 0.3), (100, 0.5, 4)],
    "hypergeometric": [(5, 5, 3), (5, 5, 3, 4)],
    "multinomial": [(10, [0.2, 0.3, 0.5]), (10, [0.2, 0.3, 0.5], 2)],
    "dirichlet": [([1.0, 2.0, 3.0],)],
    "multivariate_normal": [([0.0, 1.0], [[1.0, 0.5], [0.5, 2.0]])],
    "choice": [(7,), (7, 4), (7, 4, False), (3, 5, True, [0.2, 0.3, 0.5]), (np.arange(6.0),)],
    "permutation": [(6,), (np.arange(5.0),), (ARRAY,)],
}
OF_GENERATOR: dict[str, list[tuple[Any, ...]]] = {
    **_BOTH,
    "random": [(), (5,), ((2, 3),), (3, np.float32)],
    "integers": [(5,), (2, 9), (0, 2**40), (3, 9, 4), (np.arange(1, 4),), (1,), (0, 2**32), (0, 2**32 - 1)],
    "multivariate_hypergeometric": [([3, 4, 5], 4)],
    "permuted": [(ARRAY,)],
}
OF_STATE: dict[str, list[tuple[Any, ...]]] = {
    **_BOTH,
    "random_sample": [(), (4,)],
    "random": [(), (3,)],
    "rand": [(), (2, 3)],
    "randn": [(), (2, 3)],
    "randint": [(5,), (2, 9), (0, 100, 5), (1,)],
    "tomaxint": [(), (2,)],
}
OF_PYTHON: dict[str, list[tuple[Any, ...]]] = {
    "random": [()],
    "uniform": [(1, 3), (1.0, 2.5)],
    "triangular": [(), (0, 1, 0.5)],
    "gauss": [(), (1, 2)],
    "normalvariate": [(), (1, 2)],
    "lognormvariate": [(0, 1)],
    "expovariate": [(2.0,)],
    "vonmisesvariate": [(0, 1)],
    "gammavariate": [(1, 2)],
    "betavariate": [(1, 2)],
    "paretovariate": [(2,)],
    "weibullvariate": [(1, 2)],
    "randint": [(1, 6), (-5, 5)],
    "randrange": [(7,), (1, 10, 3)],
    "getrandbits": [(10,), (40,)],
    "choice": [(range(3, 30, 3),), ([1.0, 2.0, 3.0],)],
    "choices": [([1, 2, 3],), ([1, 2, 3], [1, 1, 5])],
    "sample": [(range(20), 4), ([1.0, 2.0, 3.0, 4.0], 2)],
}


def pcg(seed: int) -> Any:
    return np.random.Generator(np.random.PCG64(seed))


def mersenne(seed: int) -> Any:
    return np.random.Generator(np.random.MT19937(seed))


def philox(seed: int) -> Any:
    return np.random.Generator(np.random.Philox(seed))


def sfc(seed: int) -> Any:
    return np.random.Generator(np.random.SFC64(seed))


#: What makes a generator, and its methods.
KINDS = [
    (pcg, OF_GENERATOR),
    (mersenne, OF_GENERATOR),
    (philox, OF_GENERATOR),
    (sfc, OF_GENERATOR),
    (np.random.RandomState, OF_STATE),
    (random.Random, OF_PYTHON),
]


def state(x: Any) -> str:
    """What the next draws of a generator depend on."""
    if isinstance(x, random.Random):
        return repr(x.getstate())
    return repr(x.get_state() if hasattr(x, "get_state") else x.bit_generator.state)


def same(a: Any, b: Any) -> bool:
    """Whether two results are of the same types and have the same bits."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return bool(a == b)
