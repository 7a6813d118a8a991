"""
Fractals
========

The Mandelbrot set by a loop with a ``break``, and the basins of Newton's method with a derivative that is not written
by hand.
"""

import matplotlib.pyplot as plt
import numpy as np

import tracejit as tj


def escape(c, limit=80):
    z = 0j
    for k in range(limit):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag > 4:
            break
    return k


x, y = np.linspace(-2.2, 0.8, 300), np.linspace(-1.2, 1.2, 240)
grid = x + 1j * y[:, None]
counts = tj.jit(tj.vmap(tj.vmap(escape)))(grid)

# %%
# Newton's method for :math:`z^3 = 1` goes to one of three roots. The derivative is :func:`tj.grad`'s, of a holomorphic
# function.


def polynomial(z):
    return z**3 - 1


def newton(z):
    slope = tj.grad(polynomial, holomorphic=True)
    for _ in range(25):
        z = z - polynomial(z) / slope(z)
    return z


roots = np.exp(2j * np.pi * np.arange(3) / 3)
square = np.linspace(-1.5, 1.5, 240) + 1j * np.linspace(-1.5, 1.5, 240)[:, None]
ends = tj.jit(tj.vmap(tj.vmap(newton)))(square)
basin = np.argmin(np.abs(ends[..., None] - roots), axis=-1)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
left.imshow(counts, extent=(-2.2, 0.8, -1.2, 1.2), cmap="twilight_shifted")
right.imshow(basin, extent=(-1.5, 1.5, -1.5, 1.5), cmap="Set2")
left.set_title("steps until the escape")
right.set_title("which root Newton's method finds")
plt.show()
