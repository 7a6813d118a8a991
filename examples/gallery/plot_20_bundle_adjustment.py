"""
Bundle adjustment
=================

Cameras see points, with noise. Where the cameras are, how they are turned and where the points are is found
together, from what was seen alone. Each residual depends on one camera and one point: ``jacobian(pattern=)``
computes only what is not zero, and ``least_squares`` solves with the sparse matrix.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize
import scipy.sparse

import tracejit as tj

cameras, points = 8, 60
rng = np.random.default_rng(0)
camera = np.repeat(np.arange(cameras), points)
point = np.tile(np.arange(points), cameras)


def turned(v, w):
    """The vectors v turned around the axes w, by the lengths of these (Rodrigues' formula)."""
    angle = np.sqrt(np.sum(w * w, axis=1, keepdims=True) + 1e-12)
    axis = w / angle
    along = axis * np.sum(axis * v, axis=1, keepdims=True) * (1 - np.cos(angle))
    return v * np.cos(angle) + np.cross(axis, v) * np.sin(angle) + along


def seen_by(poses, places):
    """What each camera sees of each point: its picture is one unit before it."""
    local = turned(places[point], poses[camera, :3]) + poses[camera, 3:]
    return local[:, :2] / local[:, 2:]


angles = np.linspace(-0.6, 0.6, cameras)
poses = np.zeros((cameras, 6))
poses[:, 1], poses[:, 3], poses[:, 5] = angles, 0.3 * np.sin(3 * angles), 6.0
places = rng.uniform(-1.5, 1.5, (points, 3))
picture = seen_by(poses, places) + 0.001 * rng.normal(size=(cameras * points, 2))


def parts(x):
    return x[: 6 * cameras].reshape(cameras, 6), x[6 * cameras :].reshape(points, 3)


@tj.jit
def residuals(x):
    return (seen_by(*parts(x)) - picture).ravel()


# %%
# Two rows for each thing seen; six columns of its camera and three of its point are not zero.

row = np.repeat(np.arange(2 * cameras * points), 9)
of_camera = 6 * camera[:, None] + np.arange(6)
of_point = 6 * cameras + 3 * point[:, None] + np.arange(3)
column = np.repeat(np.hstack([of_camera, of_point]), 2, axis=0).ravel()
pattern = scipy.sparse.csr_array((np.ones(row.size), (row, column)))
slopes = tj.jacobian(residuals, pattern=pattern)

truth = np.concatenate([poses.ravel(), places.ravel()])
begin = truth + np.concatenate([0.05 * rng.normal(size=6 * cameras), 0.3 * rng.normal(size=3 * points)])
found = scipy.optimize.least_squares(residuals, begin, jac=slopes, x_scale="jac", max_nfev=50)
before, after = (np.sqrt(np.mean(residuals(x) ** 2)) for x in (begin, found.x))
print(
    f"{begin.size} unknowns, {picture.size} residuals, {pattern.nnz / begin.size / picture.size:.1%} of the Jacobian"
)
print(f"error in the pictures {before:.4f} -> {after:.5f} in {found.nfev} evaluations")
assert after < 0.0015

figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharex=True, sharey=True)
for ax, x, title in zip(axes, (begin, found.x), ("before", "after"), strict=True):
    ax.plot(*picture[camera == 3].T, "k.", label="seen")
    ax.plot(*seen_by(*parts(x))[camera == 3].T, "o", mfc="none", label="computed")
    ax.set_title(f"{title}: the picture of one camera")
axes[0].legend()
plt.show()
