"""
Rates of a chemical network
===========================

A turns into B, two B into C and back, and the amounts of A and C are measured with noise. The rates are found
by ``least_squares`` on a stiff ``solve_ivp``; the Jacobian comes from forward mode, and gives the errors of
the rates, too.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.integrate
import scipy.optimize

import tracejit as tj

t = np.linspace(0, 10, 40)


def reactions(t, z, k):
    a, b, c = z
    first, there, back = k[0] * a, k[1] * b * b, k[2] * c
    return np.array([-first, first - 2 * there + 2 * back, there - back])


def amounts(k):
    return scipy.integrate.solve_ivp(
        reactions,
        (0, 10),
        np.array([1.0, 0.0, 0.0]),
        method="Radau",
        t_eval=t,
        args=(k,),
        rtol=1e-7,
        atol=1e-9,
    ).y


truth = np.array([0.7, 12.0, 0.3])
noise = 0.01
seen = amounts(truth)[[0, 2]] + noise * np.random.default_rng(0).normal(size=(2, 40))


@tj.jit
def residuals(logs):
    return (amounts(np.exp(logs))[[0, 2]] - seen).ravel() / noise


begin = np.log([0.2, 2.0, 1.0])
found = scipy.optimize.least_squares(residuals, begin, jac=tj.jit(tj.jacfwd(residuals)))
rates = np.exp(found.x)
errors = rates * np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))
for name, rate, error, true in zip(("A -> B", "2B -> C", "C -> 2B"), rates, errors, truth, strict=True):
    print(f"{name:8} {rate:7.3f} ± {error:.3f}   (true: {true})")
assert np.all(np.abs(rates - truth) < 4 * errors)

plt.figure(figsize=(8, 3.6))
for n, (name, row) in enumerate(zip("AC", (0, 2), strict=True)):
    plt.plot(t, seen[n], "o", color=f"C{n}", ms=4)
    plt.plot(t, amounts(np.exp(begin))[row], ":", color=f"C{n}")
    plt.plot(t, amounts(rates)[row], color=f"C{n}", label=name)
plt.legend()
plt.title(f"{found.nfev} evaluations; dotted: before the fit")
plt.show()
