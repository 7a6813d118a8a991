"""Program 1861 under jit. Mismatch: jit of program 1861, value 1 (off by at most 0.0):"""

import numpy as np

from tests.fuzz.spellings import L

def inputs():
    rng = np.random.default_rng(1861)
    a3 = (np.asarray(rng.standard_normal((3, 4))).astype(np.float64)).T.copy().T
    return (a3,)


def program(a3):
    def f7(p5, p6):
        p6[p5:4] -= a3[p5:4].sum()
        return p6
    v8 = L.fori_loop(0, 4, f7, a3)
    return (v8,)


SEED, HOW, DERIVATIVE = 1861, 'jit', True
