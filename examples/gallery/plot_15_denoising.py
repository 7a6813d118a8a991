"""
Removing noise
==============

An image is smoothed where it is flat, and not across edges (Perona and Malik's diffusion). How strong an edge has to be
is then chosen by a derivative.
"""

import matplotlib.pyplot as plt
import numpy as np

import tracejit as tj

y, x = np.mgrid[-1:1:120j, -1:1:120j]
clean = 0.2 + 0.6 * (x**2 + y**2 < 0.4) + 0.3 * ((np.abs(x - 0.5) < 0.2) & (np.abs(y + 0.5) < 0.3))
noisy = clean + 0.15 * np.random.default_rng(0).normal(size=clean.shape)


def smooth(image, edge, steps=40):
    u = image.copy()
    for _ in range(steps):
        down, right = np.diff(u, axis=0), np.diff(u, axis=1)
        down = 0.2 * down * np.exp(-((down / edge) ** 2))
        right = 0.2 * right * np.exp(-((right / edge) ** 2))
        u[:-1] += down
        u[1:] -= down
        u[:, :-1] += right
        u[:, 1:] -= right
    return u


@tj.jit
def wrong(edge):
    return np.mean((smooth(noisy, edge) - clean) ** 2)


slope, edge, path = tj.jit(tj.grad(wrong)), 0.1, []
for _ in range(60):
    path.append((edge, wrong(edge)))
    edge = edge - 0.5 * slope(edge)
print(f"edge {edge:.3f}, error {path[0][1]:.5f} -> {path[-1][1]:.5f}")

figure, axes = plt.subplots(1, 4, figsize=(13, 3))
pictures = {"noisy": noisy, "edge 0.1": smooth(noisy, 0.1), f"edge {edge:.2f}": smooth(noisy, edge)}
for ax, (title, image) in zip(axes, pictures.items(), strict=False):
    ax.imshow(image, cmap="gray", vmin=0, vmax=1.2)
    ax.set(title=title, xticks=[], yticks=[])
axes[3].plot(*zip(*path, strict=True), "o-", ms=3)
axes[3].set(xlabel="edge", ylabel="error")
figure.tight_layout()
plt.show()
