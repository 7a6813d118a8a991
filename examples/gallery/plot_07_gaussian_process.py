"""
A Gaussian process
==================

``minimize`` finds the parameters of the kernel by the gradient of the likelihood, which goes through a Cholesky
factorisation.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg
import scipy.optimize

import tracejit as tj

rng = np.random.default_rng(2)
x = np.sort(rng.uniform(0, 6, 30))
y = np.sin(2 * x) + 0.3 * x + 0.15 * rng.normal(size=30)


def kernel(p, a, b):
    """p: the logarithms of the size, the length and the noise."""
    return np.exp(2 * p[0]) * np.exp(-0.5 * (a[:, None] - b) ** 2 * np.exp(-2 * p[1]))


def minus_likelihood(p):
    k = kernel(p, x, x) + np.exp(2 * p[2]) * np.eye(len(x))
    low = np.linalg.cholesky(k)
    half = scipy.linalg.solve_triangular(low, y, lower=True)
    return 0.5 * half @ half + np.log(np.diag(low)).sum()


curve = []
found = scipy.optimize.minimize(
    tj.jit(tj.value_and_grad(minus_likelihood)),
    np.array([0.0, 1.0, -0.5]),
    jac=True,
    method="BFGS",
    callback=lambda intermediate_result: curve.append(intermediate_result.fun),
)
p = found.x
size, length, noise = np.exp(p)
print(f"size {size:.3f}, length {length:.3f}, noise {noise:.3f}: {found.nfev} evaluations")
assert found.success and 0.05 < noise < 0.3


# %%
# The posterior for these parameters.


@tj.jit
def posterior(p, at):
    k = kernel(p, x, x) + np.exp(2 * p[2]) * np.eye(len(x))
    cross = kernel(p, at, x)
    mean = cross @ np.linalg.solve(k, y)
    return mean, np.exp(2 * p[0]) - np.sum(cross * np.linalg.solve(k, cross.T).T, axis=1)


at = np.linspace(-0.5, 7.5, 200)
mean, variance = posterior(p, at)
spread = 2 * np.sqrt(np.maximum(variance, 0))
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=(1, 2))
left.plot(curve, "o-", ms=3)
left.set(xlabel="step", ylabel="minus log likelihood")
right.fill_between(at, mean - spread, mean + spread, alpha=0.25)
right.plot(at, mean)
right.plot(x, y, "k.")
right.set_title("the posterior, and two standard deviations")
plt.show()
