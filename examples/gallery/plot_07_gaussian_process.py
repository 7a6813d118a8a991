"""
A Gaussian process
==================

The parameters of the kernel are found by the gradient of the likelihood, which goes through a Cholesky factorisation.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg

import tracejit as tj

rng = np.random.default_rng(2)
x = np.sort(rng.uniform(0, 6, 30))
y = np.sin(2 * x) + 0.3 * x + 0.15 * rng.normal(size=30)


def kernel(p, a, b):
    return np.exp(2 * p["size"]) * np.exp(-0.5 * (a[:, None] - b) ** 2 * np.exp(-2 * p["length"]))


def minus_likelihood(p):
    k = kernel(p, x, x) + np.exp(2 * p["noise"]) * np.eye(len(x))
    low = np.linalg.cholesky(k)
    half = scipy.linalg.solve_triangular(low, y, lower=True)
    return 0.5 * half @ half + np.log(np.diag(low)).sum()


step = tj.jit(tj.value_and_grad(minus_likelihood))
p, curve = {"size": 0.0, "length": 1.0, "noise": -0.5}, []
for _ in range(300):
    value, slope = step(p)
    p = {name: p[name] - 0.02 * slope[name] for name in p}
    curve.append(value)
print({name: round(float(np.exp(v)), 3) for name, v in p.items()})


# %%
# The posterior for these parameters.


@tj.jit
def posterior(p, at):
    k = kernel(p, x, x) + np.exp(2 * p["noise"]) * np.eye(len(x))
    cross = kernel(p, at, x)
    mean = cross @ np.linalg.solve(k, y)
    return mean, np.exp(2 * p["size"]) - np.sum(cross * np.linalg.solve(k, cross.T).T, axis=1)


at = np.linspace(-0.5, 7.5, 200)
mean, variance = posterior(p, at)
spread = 2 * np.sqrt(np.maximum(variance, 0))
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=(1, 2))
left.plot(curve)
left.set(xlabel="step", ylabel="minus log likelihood")
right.fill_between(at, mean - spread, mean + spread, alpha=0.25)
right.plot(at, mean)
right.plot(x, y, "k.")
right.set_title("the posterior, and two standard deviations")
plt.show()
