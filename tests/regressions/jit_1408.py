"""Program 1408 under jit. Mismatch: jit of program 1408, value 5 (off by at most 0.0):"""

import numpy as np

from tests.fuzz.spellings import L


def inputs():
    rng = np.random.default_rng(1408)
    a2 = np.asarray(np.asarray(rng.standard_normal(())).astype(np.float64))[()]
    a3 = (np.asarray(rng.standard_normal((3, 1))).astype(np.float64))[::-1]
    return (
        a2,
        a3,
    )


def program(a2, a3):
    v5 = np.ravel(a3)
    for j in range(3 - 1, 0, -1):
        v5[j] -= v5[j - 1]
    return (a2,)


SEED, HOW, DERIVATIVE = 1408, "jit", False
