import numpy as np
import torch


def loss(weights, x, y):
    for w in weights:
        x = torch.tanh(x @ w)
    return ((x - y) ** 2).mean()


rng = np.random.default_rng(0)
weights = [torch.from_numpy(rng.standard_normal((64, 64)) / 8).requires_grad_() for _ in range(4)]
x, y = torch.from_numpy(rng.standard_normal((2, 128, 64)))
value = torch.compile(loss, dynamic=False)(weights, x, y)
value.backward()
print(float(value), *(float(abs(w.grad).sum()) for w in weights))
