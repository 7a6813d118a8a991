"""
Calibrating a model of option prices
====================================

Merton's model lets a price jump. Its five parameters are fitted to quoted prices of options with many strikes
and times, and the Jacobian for ``least_squares`` is a forward derivative of the pricing formula.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize
from scipy.stats import norm

import tracejit as tj

spot, rate = 100.0, 0.02
strikes, times = np.linspace(70, 130, 13), np.array([0.1, 0.25, 0.5, 1.0])
strike, time = (a.ravel() for a in np.meshgrid(strikes, times))


def black_scholes(spot, rate, sigma, strike, time):
    spread = sigma * np.sqrt(time)
    d = (np.log(spot / strike) + (rate + sigma**2 / 2) * time) / spread
    return spot * norm.cdf(d) - strike * np.exp(-rate * time) * norm.cdf(d - spread)


def merton(p, strike, time):
    """Prices of calls: Black's formula for each number of jumps, weighted by its probability."""
    sigma, intensity, mean, deviation = np.exp(p[0]), np.exp(p[1]), p[2], np.exp(p[3])
    growth = np.exp(mean + deviation**2 / 2) - 1
    price, weight = 0.0, np.exp(-intensity * (1 + growth) * time)
    for jumps in range(12):
        drift = rate - intensity * growth + jumps * (mean + deviation**2 / 2) / time
        price = price + weight * black_scholes(
            spot, drift, np.sqrt(sigma**2 + jumps * deviation**2 / time), strike, time
        )
        weight = weight * intensity * (1 + growth) * time / (jumps + 1)
    return price


truth = np.array([np.log(0.15), np.log(0.8), -0.12, np.log(0.1)])
quotes = merton(truth, strike, time) + 0.02 * np.random.default_rng(0).normal(size=strike.size)


@tj.jit
def misfit(p):
    return merton(p, strike, time) - quotes


begin = np.array([np.log(0.25), np.log(0.3), 0.0, np.log(0.2)])
found = scipy.optimize.least_squares(misfit, begin, jac=tj.jit(tj.jacfwd(misfit)))
names = ("volatility", "jumps a year", "mean of a jump", "deviation of a jump")
for name, value, true in zip(names, found.x, truth, strict=True):
    shown = (value, true) if name.startswith("mean") else np.exp([value, true])
    print(f"{name:20} {shown[0]:7.3f}   (true: {shown[1]:.3f})")
assert np.sqrt(np.mean(found.fun**2)) < 0.03


# %%
# The volatility that Black's formula would need for each price: all at once, by Newton's method.


def implied(price, strike, time):
    def off(sigma):
        return black_scholes(spot, rate, sigma, strike, time) - price

    return scipy.optimize.newton(off, 0.3, fprime=tj.grad(off), maxiter=100)


smiles = tj.jit(tj.vmap(implied))(merton(found.x, strike, time), strike, time).reshape(len(times), -1)
for t, smile in zip(times, smiles, strict=True):
    plt.plot(strikes, smile, label=f"{t} years")
plt.legend()
plt.xlabel("strike")
plt.title("implied volatility of the fitted model")
plt.show()
