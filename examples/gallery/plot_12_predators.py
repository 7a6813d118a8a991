"""
Fitting a differential equation
===============================

Hares and lynxes: the parameters of the equations are fitted to noisy counts, with the derivative of SciPy's
``solve_ivp``.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.integrate
import scipy.optimize

import tracejit as tj

t = np.linspace(0, 20, 60)


def rates(t, z, a, b, c, d):
    hares, lynxes = z
    return np.array([a * hares - b * hares * lynxes, c * hares * lynxes - d * lynxes])


def model(p):
    start, rest = p[:2], tuple(p[2:])
    return scipy.integrate.solve_ivp(rates, (0, 20), start, t_eval=t, args=rest, rtol=1e-6, atol=1e-8).y


truth = np.array([3.0, 1.0, 0.8, 0.4, 0.15, 0.5])
data = model(truth) * np.exp(0.08 * np.random.default_rng(0).normal(size=(2, 60)))


def loss(logs):
    return np.mean((np.log(model(np.exp(logs))) - np.log(data)) ** 2)


begin = truth * np.array([1.15, 0.85, 0.9, 1.1, 1.1, 0.9])
found = scipy.optimize.minimize(
    tj.jit(tj.value_and_grad(loss)),
    np.log(begin),
    jac=True,
    method="L-BFGS-B",
    bounds=[(v - 0.5, v + 0.5) for v in np.log(begin)],
)
fitted = np.exp(found.x)
print(fitted.round(3), f"loss {found.fun:.4f} in {found.nfev} evaluations")
assert found.fun < 0.01

plt.figure(figsize=(8, 3.6))
for k, name in enumerate(("hares", "lynxes")):
    plt.plot(t, data[k], "o", color=f"C{k}", ms=4)
    plt.plot(t, model(begin)[k], ":", color=f"C{k}", alpha=0.6)
    plt.plot(t, model(fitted)[k], color=f"C{k}", label=name)
plt.legend()
plt.title("dotted: before the fit")
plt.show()
