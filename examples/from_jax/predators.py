"""Which equations made these data? Gauss and Newton's method through `odeint`, as a while loop."""

import tracejit as jax  # JAX: import jax
import tracejit.numpy as jnp  # JAX: import jax.numpy as jnp
from tracejit import lax, random  # JAX: from jax import lax, random
from tracejit.experimental.ode import odeint  # JAX: from jax.experimental.ode import odeint
from tracejit.flatten_util import ravel_pytree  # JAX: from jax.flatten_util import ravel_pytree

jax.config.update("jax_enable_x64", True)

TIMES = jnp.linspace(0.0, 8.0, 33)
START = {"hares": jnp.array(3.0), "lynxes": jnp.array(1.0)}


def slope(y, t, rates):
    meals = y["hares"] * y["lynxes"]
    return {
        "hares": rates["birth"] * y["hares"] - rates["eaten"] * meals,
        "lynxes": rates["eaten"] * rates["gain"] * meals - rates["death"] * y["lynxes"],
    }


@jax.checkpoint
def populations(rates):
    found = odeint(slope, START, TIMES, rates, rtol=1e-8, atol=1e-8)
    return jnp.stack([found["hares"], found["lynxes"]])


def fit(data, guess, most=30):
    """Rates whose populations are nearest to the data; how many steps that took; the sum of squares."""
    start, unravel = ravel_pytree(guess)

    def residual(log_rates):  # rates are positive
        return (populations(unravel(jnp.exp(log_rates))) - data).reshape(-1)

    def step(state):
        z, _, damping, n = state
        r, jacobian = residual(z), jax.jacrev(residual)(z)
        normal = jacobian.T @ jacobian
        move = jnp.linalg.solve(normal + damping * jnp.diag(jnp.diag(normal)), jacobian.T @ r)
        better = jnp.sum(residual(z - move) ** 2) < jnp.sum(r**2)
        z = jnp.where(better, z - move, z)
        return z, jnp.max(jnp.abs(move)), jnp.where(better, damping / 5, damping * 4), n + 1

    def goes_on(state):
        _, moved, _, n = state
        return (moved > 1e-6) & (n < most)

    z, _, _, n = lax.while_loop(goes_on, step, (jnp.log(start), jnp.inf, 1e-2, 0))
    return unravel(jnp.exp(z)), n, jnp.sum(residual(z) ** 2)


def main():
    truth = {"birth": 1.1, "eaten": 0.4, "gain": 0.25, "death": 0.4}
    noise = 0.05 * random.normal(random.PRNGKey(2), (2, TIMES.shape[0]))
    data = populations(truth) + noise
    guess = {"birth": 1.0, "eaten": 0.5, "gain": 0.3, "death": 0.5}
    rates, steps, squares = jax.jit(fit)(data, guess)
    rates = {name: float(rate) for name, rate in rates.items()}
    slopes = jax.grad(lambda r: populations(r)[0, -1])(rates)
    print({name: round(rate, 3) for name, rate in rates.items()}, f"after {steps} steps")
    return {"rates": rates, "squares": float(squares), "slope": float(slopes["birth"])}


if __name__ == "__main__":
    main()
