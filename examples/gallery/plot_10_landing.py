"""
Landing a rocket
================

The thrust is linear between thirty moments, and these are the unknowns of an optimal control problem: come down
softly, with little fuel. ``odeint`` solves the equations of motion, and the gradient through it says how to change
all of them.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.integrate
import scipy.optimize

import tracejit as tj

end, moments = 10.0, 30
knots = np.linspace(0, end, moments)
times = np.linspace(0, end, 60)
begin = np.array([-8.0, 20.0, 3.0, -2.0, 1.0])  # place, velocity, mass


def motion(state, t, thrust):
    force = np.array([np.interp(t, knots, thrust[:, 0]), np.interp(t, knots, thrust[:, 1])])
    speed = np.sqrt(force @ force + 1e-6)
    return np.concatenate([state[2:4], force / state[4] + np.array([0.0, -1.0]), [-0.02 * speed]])


def fly(thrust):
    return scipy.integrate.odeint(motion, begin, times, args=(thrust,))


def cost(flat):
    thrust = flat.reshape(moments, 2)
    path = fly(thrust)
    miss = path[-1, :2] @ path[-1, :2] + path[-1, 2:4] @ path[-1, 2:4]
    under = np.sum(np.maximum(-path[:, 1], 0))
    return 50 * miss + 0.1 * np.sum(thrust**2) + 5 * under


curve = []
start = np.tile([0.0, 0.5], moments)
found = scipy.optimize.minimize(
    tj.jit(tj.value_and_grad(cost)),
    start,
    jac=True,
    method="L-BFGS-B",
    callback=lambda x: curve.append(cost(x)),
    options={"maxiter": 60},
)
thrust = found.x.reshape(moments, 2)
path = tj.jit(fly)(thrust)
print("end", path[-1, :2].round(2), "velocity", path[-1, 2:4].round(2), "mass", path[-1, 4].round(3))
assert np.all(np.abs(path[-1, :4]) < 0.2)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
left.plot(*fly(start.reshape(moments, 2))[:, :2].T, ":", label="before")
left.plot(*path[:, :2].T, label="after")
push = np.stack([np.interp(times, knots, thrust[:, k]) for k in (0, 1)])
left.quiver(*path[::4, :2].T, *-push[:, ::4], width=0.004, color="C3", label="exhaust")
left.plot(0, 0, "k^", ms=9)
left.axhline(0, color="0.6", lw=0.8)
left.legend()
right.plot(knots, thrust, "o-", ms=3, label=["across", "up"])
right.set(xlabel="time", title="thrust")
right.legend()
plt.show()
