"""
What is inside? An inverse problem
==================================

A plate is held at 1 on one side and at 0 on the other, and its temperature is measured at some points. Which
conductivity has each point? Each simulation is one sparse solve, whose matrix depends on all 484 unknowns; the
gradient of the misfit is one more solve, with the transposed matrix.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize
import scipy.sparse
import scipy.sparse.linalg

import tracejit as tj

n = 22
truth = np.full((n, n), 1.0)
truth[4:10, 4:10] = 0.3
truth[12:18, 10:19] = 2.5

place = np.arange(n * n).reshape(n, n)
first = np.concatenate([place[:, :-1].ravel(), place[:-1].ravel()])  # of two neighbours
second = np.concatenate([place[:, 1:].ravel(), place[1:].ravel()])
sensors = place[1::3, 1::3].ravel()


def temperature(conductivity, side):
    """The temperatures of all points: what flows into each is what flows out."""
    c = conductivity.ravel()
    between = 2 / (1 / c[first] + 1 / c[second])
    warm, cold = (place[:, 0], place[:, -1]) if side == 0 else (place[0], place[-1])
    ends = np.concatenate([warm, cold])
    rows = np.concatenate([first, second, first, second, ends])
    columns = np.concatenate([second, first, first, second, ends])
    flows = np.concatenate([-between, -between, between, between, 2 * c[ends]])
    matrix = scipy.sparse.coo_array((flows, (rows, columns)), shape=(n * n, n * n)).tocsc()
    right = np.zeros(n * n)
    right[warm] = 2 * c[warm]
    return np.asarray(scipy.sparse.linalg.spsolve(matrix, right))


rng = np.random.default_rng(0)
data = [temperature(truth, side)[sensors] + 1e-3 * rng.normal(size=sensors.size) for side in (0, 1)]


@tj.jit
def misfit(logs):
    c = np.exp(logs).reshape(n, n)
    wrong = sum(np.sum((temperature(c, side)[sensors] - data[side]) ** 2) for side in (0, 1))
    steps = [np.diff(logs.reshape(n, n), axis=axis) for axis in (0, 1)]
    rough = sum(np.sum(np.sqrt(step**2 + 1e-4)) for step in steps)  # edges may be sharp
    return 1e3 * wrong + 2e-2 * rough


start = np.zeros(n * n)
found = scipy.optimize.minimize(
    tj.jit(tj.value_and_grad(misfit)), start, jac=True, method="L-BFGS-B", options={"maxiter": 300}
)
conductivity = np.exp(found.x).reshape(n, n)
print(f"misfit {misfit(start):.3f} -> {found.fun:.3f} in {found.nfev} evaluations")
assert found.fun < 0.1 * misfit(start)
assert np.corrcoef(np.log(conductivity).ravel(), np.log(truth).ravel())[0, 1] > 0.8

figure, axes = plt.subplots(1, 3, figsize=(10, 3.2))
pictures = (truth, temperature(truth, 0).reshape(n, n), conductivity)
for ax, c, title in zip(axes, pictures, ("truth", "temperature", "found at the dots"), strict=True):
    picture = ax.imshow(c, cmap="inferno" if title == "temperature" else "viridis")
    figure.colorbar(picture, ax=ax, shrink=0.7)
    ax.set(title=title, xticks=[], yticks=[])
axes[2].plot(sensors % n, sensors // n, "w.", ms=3)
plt.show()
