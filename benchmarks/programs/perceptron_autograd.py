import autograd.numpy as anp
import numpy as np
from autograd import value_and_grad


def loss(weights, x, y):
    for w in weights:
        x = anp.tanh(x @ w)
    return ((x - y) ** 2).mean()


rng = np.random.default_rng(0)
weights = [rng.standard_normal((64, 64)) / 8 for _ in range(4)]
x, y = rng.standard_normal((2, 128, 64))
value, gradients = value_and_grad(loss)(weights, x, y)
print(float(value), *(float(abs(g).sum()) for g in gradients))
