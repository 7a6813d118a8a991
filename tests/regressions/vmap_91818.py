"""Program 91818 under vmap. Mismatch: jit(vmap), value 3 (off by at most None):"""

import numpy as np

from tests.fuzz.spellings import L


def inputs():
    rng = np.random.default_rng(91818)
    a2 = (np.asarray(rng.standard_normal((3, 4))).astype(np.float64)).T.copy().T
    return (a2,)


def program(a2):
    v3 = a2[0, 1:]
    v7 = np.insert(v3, 1, 0, axis=0)
    for j in range(3):
        v3[j] *= j
    return (
        v7,
        a2,
    )


SEED, HOW, DERIVATIVE = 91818, "vmap", True
