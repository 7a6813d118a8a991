import numba
import numpy as np


@numba.njit(cache=True)
def value_and_grad(weights, x, y):
    """The derivative by hand."""
    states = [x]
    for n in range(len(weights)):
        states.append(np.tanh(states[-1] @ weights[n]))
    difference = states[-1] - y
    ct = difference * (2 / y.size)
    gradients = np.empty_like(weights)
    for n in range(len(weights) - 1, -1, -1):
        ct = ct * (1 - states[n + 1] * states[n + 1])
        gradients[n] = states[n].T @ ct
        ct = ct @ weights[n].T
    return (difference * difference).mean(), gradients


rng = np.random.default_rng(0)
weights = np.stack([rng.standard_normal((64, 64)) / 8 for _ in range(4)])
x, y = rng.standard_normal((2, 128, 64))
value, gradients = value_and_grad(weights, x, y)
print(float(value), *(float(abs(g).sum()) for g in gradients))
