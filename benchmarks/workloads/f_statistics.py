"""Statistics: Gaussian mixtures (GradBench's definition), k-means, least squares, bundle adjustment."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.by_torch import by_torch
from benchmarks.registry import workload


def gmm_data(rng: Any, dtype: Any, d: int, k: int, n: int) -> tuple[Any, ...]:
    alphas, means = rng.standard_normal(k), rng.standard_normal((k, d))
    icf = rng.standard_normal((k, d * (d + 1) // 2))
    x = rng.standard_normal((n, d))
    return tuple(a.astype(dtype) for a in (alphas, means, icf, x))


def lower_positions(d: int) -> tuple[Any, Any, Any]:
    """Rows, columns and places in the packed vector of the entries below the diagonal, column by column."""
    pairs = [(i, j) for j in range(d) for i in range(j + 1, d)]
    rows, columns = (np.array([p[n] for p in pairs], int) for n in (0, 1))
    return rows, columns, np.arange(d, d + len(pairs))


@workload(
    "Gaussian mixture",
    "statistics",
    make=gmm_data,
    sizes={
        "small": {"d": 2, "k": 5, "n": 1000},
        "middle": {"d": 10, "k": 25, "n": 1000},
        "large": {"d": 64, "k": 100, "n": 1000},
    },
    modes=("value_and_grad",),
    argnums=(0, 1, 2),
    rtol={"f8": 1e-8, "f4": 5e-3},
)
def gaussian_mixture(lib: Any, alphas: Any, means: Any, icf: Any, x: Any) -> Any:
    """The log-posterior with a Wishart prior (gamma 1, m 0) as GradBench defines it."""
    xp = lib.np
    n, d = x.shape
    k = alphas.shape[0]
    logdiag = icf[:, :d]
    diag = xp.exp(logdiag)
    sum_logs = logdiag.sum(axis=1)
    place = np.full((d, d), d * (d + 1) // 2)
    rows, columns, packed = lower_positions(d)
    place[rows, columns] = packed
    padded = xp.concatenate([icf, xp.zeros((k, 1), icf.dtype)], axis=1)
    lower = padded[:, place]
    centred = x[:, None, :] - means[None]
    q = diag * centred + xp.einsum("kij,nkj->nki", lower, centred)
    main = alphas + sum_logs - (q * q).sum(axis=2) / 2
    top = main.max(axis=1)
    slse = (xp.log(xp.exp(main - top[:, None]).sum(axis=1)) + top).sum()
    prior = (diag * diag).sum() / 2 + (lower * lower).sum() / 2 - sum_logs.sum()
    m = alphas.max()
    constant = -n * d * 0.5 * math.log(2 * math.pi)
    return constant + slse - n * (xp.log(xp.exp(alphas - m).sum()) + m) - prior


def points(rng: Any, dtype: Any, n: int, k: int, d: int) -> tuple[Any, ...]:
    return rng.standard_normal((k, d)).astype(dtype), rng.standard_normal((n, d)).astype(dtype)


@workload(
    "k-means cost",
    "statistics",
    make=points,
    sizes={
        "small": {"n": 200, "k": 5, "d": 3},
        "middle": {"n": 2000, "k": 50, "d": 8},
        "large": {"n": 10000, "k": 1000, "d": 16},
    },
    modes=("grad",),
    rtol={"f8": 1e-7, "f4": 1e-2},
    by_hand={"torch": by_torch(lambda torch, centres, x: torch.cdist(x, centres).square().amin(dim=1).sum())},
)
def kmeans(lib: Any, centres: Any, x: Any) -> Any:
    xp = lib.np
    a = (x * x).sum(axis=1)[:, None] - 2 * x @ centres.T + (centres * centres).sum(axis=1)[None]
    return xp.min(a, axis=1).sum()


def curvature_by_jvp(lib: Any) -> Any:
    """GradBench's direction and diagonal of the Hessian: the gradient, and the product of the Hessian with ones."""

    def both(centres: Any, x: Any) -> Any:
        g = lib.grad(lambda c: kmeans(lib, c, x))
        return lib.jvp(g, (centres,), (lib.np.ones_like(centres),))

    return both


@workload(
    "k-means gradient and Hessian diagonal",
    "statistics",
    make=points,
    sizes={"small": {"n": 200, "k": 5, "d": 3}, "middle": {"n": 2000, "k": 50, "d": 8},
           "large": {"n": 10000, "k": 1000, "d": 16}},
    avoid={"numpy": "no derivatives", "torch": "not written for PyTorch", "autograd": "has no such product"},
    rtol={"f8": 1e-7, "f4": 1e-2},
)  # fmt: skip
def kmeans_second_order(lib: Any, centres: Any, x: Any) -> Any:
    return curvature_by_jvp(lib)(centres, x)


def regression(rng: Any, dtype: Any, n: int, m: int) -> tuple[Any, ...]:
    return tuple(
        a.astype(dtype) for a in (rng.standard_normal(m), rng.standard_normal((n, m)), rng.standard_normal(n))
    )


@workload(
    "least squares",
    "statistics",
    make=regression,
    sizes={"small": {"n": 100, "m": 8}, "middle": {"n": 2048, "m": 64}, "large": {"n": 16392, "m": 128}},
    modes=("grad",),
    by_hand={"torch": by_torch(lambda torch, w, x, y: (x @ w - y).square().sum() / 2)},
)
def least_squares(lib: Any, w: Any, x: Any, y: Any) -> Any:
    r = x @ w - y
    return (r * r).sum() / 2


def cameras(rng: Any, dtype: Any, n: int) -> tuple[Any, ...]:
    cams = rng.standard_normal((n, 11)) * 0.1 + np.array([0, 0, 0, 0, 0, 5, 1, 0, 0, 0.01, 0.001])
    return (
        cams.astype(dtype),
        rng.standard_normal((n, 3)).astype(dtype),
        rng.standard_normal((n, 2)).astype(dtype),
    )


def reprojection(xp: Any, cam: Any, point: Any, feature: Any) -> Any:
    """Rodrigues' rotation, pinhole projection, two radial distortion coefficients."""
    r, c = cam[:3], cam[3:6]
    theta2 = (r * r).sum()
    theta = xp.sqrt(theta2)
    axis = r / theta
    rotated = (
        point * xp.cos(theta)
        + xp.cross(axis, point) * xp.sin(theta)
        + axis * (axis * point).sum() * (1 - xp.cos(theta))
    )  # fmt: skip
    p = rotated + c
    q = p[:2] / p[2]
    s = (q * q).sum()
    distorted = q * (1 + cam[9] * s + cam[10] * s * s)
    return cam[6] * distorted + cam[7:9] - feature


@workload(
    "bundle adjustment, 2x14 blocks",
    "statistics",
    make=cameras,
    sizes={"small": {"n": 30}, "middle": {"n": 3000}, "large": {"n": 30000}},
    avoid={"numpy": "no derivatives", "torch": "not written for PyTorch"},
    rtol={"f8": 1e-8, "f4": 1e-2},
)
def bundle(lib: Any, cams: Any, pts: Any, feats: Any) -> Any:
    """The Jacobian blocks of all reprojection errors, by vmap of jacfwd (JAX's names)."""

    def block(cam: Any, pt: Any, feat: Any) -> Any:
        return lib.jacfwd(lambda c, p: reprojection(lib.np, c, p, feat), argnums=(0, 1))(cam, pt)

    return lib.vmap(block)(cams, pts, feats)
