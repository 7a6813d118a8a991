"""
A filter that learns its noise
==============================

A Kalman filter is a loop over measurements with small matrices. Its likelihood is differentiated to find how noisy the
motion and the measurements are.
"""

import matplotlib.pyplot as plt
import numpy as np

import tracejit as tj

rng = np.random.default_rng(5)
T, dt = 200, 0.1
F = np.array([[1, dt], [0, 1]])
true = np.zeros((T, 2))
for k in range(1, T):
    true[k] = F @ true[k - 1] + np.array([0, 0.3]) * rng.normal()
seen = true[:, 0] + 0.5 * rng.normal(size=T)


def kalman(log_noise, seen):
    motion, error = np.exp(log_noise[0]), np.exp(log_noise[1])
    x, P = np.zeros(2), np.eye(2)
    Q = np.diag(np.array([0.0, 1.0])) * motion**2
    places, minus = np.zeros((len(seen), 2)), 0.0
    for k in range(len(seen)):
        x, P = F @ x, F @ P @ F.T + Q
        variance = P[0, 0] + error**2
        gain = P[:, 0] / variance
        miss = seen[k] - x[0]
        x = x + gain * miss
        P = P - np.outer(gain, P[0])
        minus += 0.5 * (np.log(variance) + miss**2 / variance)
        places[k, 0], places[k, 1] = x[0], np.sqrt(P[0, 0])
    return minus, places


step = tj.jit(tj.value_and_grad(kalman, has_aux=True))
noise, curve = np.log(np.array([1.0, 1.0])), []
for _ in range(500):
    (value, places), slope = step(noise, seen)
    noise = noise - 0.004 * slope
    curve.append(value)
print("noise of motion and of measurements:", np.exp(noise).round(2), "true: 0.3, 0.5")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=(1, 2))
left.plot(curve)
left.set(xlabel="step", ylabel="minus log likelihood")
time = np.arange(T) * dt
right.plot(time, seen, ".", color="0.6", ms=3)
right.fill_between(time, places[:, 0] - 2 * places[:, 1], places[:, 0] + 2 * places[:, 1], alpha=0.3)
right.plot(time, places[:, 0], label="filtered")
right.plot(time, true[:, 0], "k--", lw=1, label="true")
right.legend()
plt.show()
