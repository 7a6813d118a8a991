"""
Laying one picture upon another
===============================

A picture is turned, shifted and larger than another. The transformation that lays one upon the other is found
by the gradient through ``scipy.ndimage.map_coordinates``.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.ndimage
import scipy.optimize

import tracejit as tj

size = 64
rng = np.random.default_rng(3)
fixed = scipy.ndimage.gaussian_filter(rng.normal(size=(size, size)), 4)
fixed = (fixed - fixed.mean()) / fixed.std()
grid = np.stack(np.meshgrid(np.arange(size), np.arange(size), indexing="ij")) - (size - 1) / 2


def moved(picture, p):
    """The picture turned by p[0], enlarged by exp(p[1]) and shifted by p[2:]."""
    c, s = np.cos(p[0]) * np.exp(-p[1]), np.sin(p[0]) * np.exp(-p[1])
    rows = c * grid[0] + s * grid[1] + p[2] + (size - 1) / 2
    columns = -s * grid[0] + c * grid[1] + p[3] + (size - 1) / 2
    return scipy.ndimage.map_coordinates(picture, np.stack([rows, columns]), order=3, mode="reflect")


truth = np.array([0.2, 0.1, 2.5, -1.5])
moving = moved(fixed, truth)
inner = (slice(10, -10),) * 2


@tj.jit
def difference(p):
    return np.mean((moved(fixed, p) - moving)[inner] ** 2)


path = []
found = scipy.optimize.minimize(
    tj.jit(tj.value_and_grad(difference)),
    np.zeros(4),
    jac=True,
    method="BFGS",
    callback=lambda x: path.append(x),
)
print(found.x.round(4), f"difference {difference(np.zeros(4)):.3f} -> {found.fun:.2e}")
assert np.allclose(found.x, truth, atol=1e-3)

figure, axes = plt.subplots(1, 4, figsize=(12, 3.2))
shown = (fixed, moving, moving - fixed, moving - moved(fixed, found.x))
titles = ("fixed", "moving", "difference before", "and after")
for ax, picture, title in zip(axes, shown, titles, strict=True):
    ax.imshow(picture, cmap="gray", vmin=-2, vmax=2)
    ax.set_title(title)
    ax.axis("off")
plt.show()
