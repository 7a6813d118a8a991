"""
A neural differential equation
==============================

A spiral is known at a few times only. A network is the right-hand side of an equation whose solution goes
through them: the gradient of the misfit by the weights goes through ``solve_ivp``.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.integrate

import tracejit as tj
from tracejit import nn, optim

t = np.linspace(0, 6, 25)
turn = np.array([[-0.15, 1.5], [-1.5, -0.15]])


def spiral(t, z):
    return turn @ z


start = np.array([2.0, 0.0])
data = scipy.integrate.solve_ivp(spiral, (0, 6), start, t_eval=t, rtol=1e-8).y

network = nn.MLP([2, 24, 24, 2], nn.tanh, key=tj.random.key(0))


def solve(network, end, times):
    def rates(t, z):
        return network(z)

    return scipy.integrate.solve_ivp(rates, (0, end), start, t_eval=times, rtol=1e-4, atol=1e-6).y


def misfit(network, count):
    path = solve(network, t[count - 1], t[:count])
    return np.mean((path - data[:, :count]) ** 2)


method = optim.adam(0.01)


@tj.jit(static_argnames="count")
def improve(network, state, count):
    value, slope = tj.value_and_grad(misfit)(network, count)
    updates, state = method.update(slope, state, network)
    return optim.apply_updates(network, updates), state, value


# %%
# The first part of the spiral comes first: a long path through an untrained field says little.

state, curve = method.init(network), []
for count, steps in ((6, 150), (12, 200), (25, 400)):
    for _ in range(steps):
        network, state, value = improve(network, state, count)
        curve.append(value)
print(f"misfit {curve[0]:.3f} -> {curve[-1]:.5f}")
assert curve[-1] < 0.02

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
left.plot(*data, "ko", ms=4)
left.plot(*solve(network, 6.0, np.linspace(0, 6, 200)), "C0")
left.set_title("the data, and the solution for the trained field")
right.semilogy(curve)
right.set(xlabel="step", title="misfit")
plt.show()
