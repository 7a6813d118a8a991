"""
What is inside? An inverse problem
==================================

A plate is heated at one side and measured at the others. Which conductivity has each point? The gradient of the misfit
by all 576 unknowns costs about as much as a few simulations.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize

import tracejit as tj

n, steps = 24, 400
truth = np.full((n, n), 0.15)
truth[6:12, 5:11] = 0.05
truth[13:19, 12:20] = 0.23


def heat(conductivity, side):
    u = np.zeros((n, n))
    across = 0.5 * (conductivity[1:] + conductivity[:-1])
    along = 0.5 * (conductivity[:, 1:] + conductivity[:, :-1])
    seen = np.zeros((4, n))
    for k in range(steps):
        down, right = across * (u[1:] - u[:-1]), along * (u[:, 1:] - u[:, :-1])
        u[1:] -= down
        u[:-1] += down
        u[:, 1:] -= right
        u[:, :-1] += right
        if side == 0:
            u[0] = 1
        else:
            u[:, 0] = 1
        seen[k * 4 // steps] += np.where(k % 100 > 90, u[-1] + u[:, -1], 0.0)
    return seen


data = [heat(truth, side) for side in (0, 1)]


@tj.jit
def misfit(c):
    c = c.reshape(n, n)
    wrong = sum(np.sum((heat(c, side) - data[side]) ** 2) for side in (0, 1))
    rough = np.sum((c[1:] - c[:-1]) ** 2) + np.sum((c[:, 1:] - c[:, :-1]) ** 2)
    return wrong + 1e-4 * rough


start = np.full(n * n, 0.15)
found = scipy.optimize.minimize(
    tj.jit(tj.value_and_grad(misfit)),
    start,
    jac=True,
    method="L-BFGS-B",
    bounds=[(0.02, 0.24)] * n**2,
    options={"maxiter": 150},
)
print(f"misfit {misfit(start):.3f} -> {found.fun:.6f} in {found.nfev} evaluations")
assert found.fun < 0.05 * misfit(start)

figure, axes = plt.subplots(1, 2, figsize=(8, 3.6))
for ax, c, title in zip(axes, (truth, found.x.reshape(n, n)), ("truth", "found from two edges"), strict=True):
    picture = ax.imshow(c, vmin=0.02, vmax=0.24, cmap="viridis")
    ax.set(title=title, xticks=[], yticks=[])
figure.colorbar(picture, ax=axes, label="conductivity")
plt.show()
