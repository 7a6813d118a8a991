import jax
import jax.numpy as jnp
import numpy as np


def loss(weights, x, y):
    for w in weights:
        x = jnp.tanh(x @ w)
    return ((x - y) ** 2).mean()


rng = np.random.default_rng(0)
weights = [rng.standard_normal((64, 64)) / 8 for _ in range(4)]
x, y = rng.standard_normal((2, 128, 64))
value, gradients = jax.jit(jax.value_and_grad(loss))(weights, x, y)
print(float(value), *(float(abs(np.asarray(g)).sum()) for g in gradients))
