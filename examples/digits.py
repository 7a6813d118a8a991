"""Handwritten digits, from plain NumPy: training, Newton's method, a Hessian, and a look inside.

The model and its loss are written in NumPy and know nothing of tracejit. The data
(1797 digits of 8x8 pixels) come with scikit-learn, so nothing is downloaded.

    make demo
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.rule import Rule
from rich.table import Table
from scipy.optimize import minimize
from sklearn.datasets import load_digits

import tracejit as tj

HIDDEN, EPOCHS, BATCH, RATE, DECAY = 64, 40, 64, 3e-3, 1e-4
GOAL = 0.97

console = Console(width=110)
Params = dict[str, np.ndarray]


# ---- the data -------------------------------------------------------------------------------------


def load() -> tuple[np.ndarray, ...]:
    """Pixels in [0, 1] and one-hot labels: four fifths to train on, one fifth to test."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    x, y = digits.data[order] / 16.0, np.eye(10)[digits.target[order]]
    n = len(x) * 4 // 5
    return x[:n], y[:n], x[n:], y[n:]


# ---- the model: NumPy and nothing else --------------------------------------------------------------


def init(seed: int = 0) -> Params:
    rng = np.random.default_rng(seed)
    return {
        "w1": rng.normal(size=(64, HIDDEN)) / 8,
        "b1": np.zeros(HIDDEN),
        "w2": rng.normal(size=(HIDDEN, HIDDEN)) / np.sqrt(HIDDEN),
        "b2": np.zeros(HIDDEN),
        "scale": np.ones(HIDDEN),
        "shift": np.zeros(HIDDEN),
        "w3": rng.normal(size=(HIDDEN, 10)) / np.sqrt(HIDDEN),
        "b3": np.zeros(10),
    }


def layer_norm(h: Any, scale: Any, shift: Any) -> Any:
    centered = h - h.mean(axis=-1, keepdims=True)
    variance = np.mean(centered**2, axis=-1, keepdims=True)
    return scale * centered / np.sqrt(variance + 1e-6) + shift


def logits(p: Params, x: Any) -> Any:
    h = np.tanh(x @ p["w1"] + p["b1"])
    h = h + np.tanh(h @ p["w2"] + p["b2"])  # the skip connection
    return layer_norm(h, p["scale"], p["shift"]) @ p["w3"] + p["b3"]


def cross_entropy(z: Any, y: Any) -> Any:
    z = z - np.max(z, axis=-1, keepdims=True)
    log_p = z - np.log(np.sum(np.exp(z), axis=-1, keepdims=True))
    return -np.mean(np.sum(y * log_p, axis=-1))


def loss(p: Params, x: Any, y: Any) -> Any:
    penalty = sum(np.sum(p[k] ** 2) for k in ("w1", "w2", "w3"))
    return cross_entropy(logits(p, x), y) + DECAY * penalty


def accuracy(p: Params, x: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(logits(p, x).argmax(-1) == y.argmax(-1)))


def adamw(p: Params, g: Params, m: Params, v: Params, t: Any, rate: Any) -> None:
    """One step, in place, as one writes it in NumPy."""
    for k in p:
        m[k] *= 0.9
        m[k] += 0.1 * g[k]
        v[k] *= 0.999
        v[k] += 0.001 * g[k] ** 2
        step = m[k] / (1 - 0.9**t) / (np.sqrt(v[k] / (1 - 0.999**t)) + 1e-8)
        p[k] -= rate * (step + 0.01 * p[k])


# ---- 1. training ------------------------------------------------------------------------------------


def train(x: np.ndarray, y: np.ndarray, xt: np.ndarray, yt: np.ndarray) -> tuple[Params, dict[str, float]]:
    gradient = tj.jit(tj.value_and_grad(loss))
    p = init()
    m, v = ({k: np.zeros_like(a) for k, a in p.items()} for _ in range(2))
    first = timed(lambda: gradient(p, x[:BATCH], y[:BATCH]))
    rng, t, start = np.random.default_rng(1), 0, time.perf_counter()
    columns = (TextColumn("training"), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("", total=EPOCHS)
        for epoch in range(EPOCHS):
            rate = RATE * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS))
            order = rng.permutation(len(x))
            for i in range(0, len(x) - BATCH + 1, BATCH):
                t += 1
                value, g = gradient(p, x[order[i : i + BATCH]], y[order[i : i + BATCH]])
                adamw(p, g, m, v, t, rate)
            text = f"epoch {epoch + 1:2}  loss {value:.4f}  test accuracy {accuracy(p, xt, yt):.2%}"
            bar.update(task, advance=1, description=text)
    seconds = time.perf_counter() - start
    again = best(lambda: gradient(p, x[:BATCH], y[:BATCH]))
    return p, {"train": seconds, "compile": first - again, "step": again, "accuracy": accuracy(p, xt, yt)}


# ---- 2. Newton's method by SciPy --------------------------------------------------------------------


def softmax_regression(w: Any, x: Any, y: Any) -> Any:
    """Loss of a linear classifier whose 650 parameters are one vector, as SciPy wants them."""
    z = x @ w[:640].reshape(64, 10) + w[640:]
    return cross_entropy(z, y) + 1e-3 * np.sum(w**2)


def newton(x: np.ndarray, y: np.ndarray, xt: np.ndarray, yt: np.ndarray) -> dict[str, float]:
    def f(w: Any) -> Any:
        return softmax_regression(w, x, y)

    start = time.perf_counter()
    found = minimize(
        tj.jit(f),
        np.zeros(650),
        method="Newton-CG",
        jac=tj.jit(tj.grad(f)),
        hessp=tj.jit(lambda w, v: tj.hvp(f, (w,), (v,))),
        options={"xtol": 1e-8},
    )
    seconds = time.perf_counter() - start
    z = xt @ found.x[:640].reshape(64, 10) + found.x[640:]
    right = float(np.mean(z.argmax(-1) == yt.argmax(-1)))
    norm = float(np.max(np.abs(tj.grad(f)(found.x))))
    console.print(
        f"{found.nit} iterations, {found.nhev} Hessian-vector products, {seconds:.2f} s: "
        f"loss {found.fun:.6f}, largest gradient entry {norm:.1e}, test accuracy {right:.2%}"
    )
    return {"newton": seconds, "gradient": norm}


# ---- 3. a Hessian against finite differences --------------------------------------------------------


def hessian_error() -> float:
    """The largest relative difference on a small softmax regression of 15 parameters."""
    rng = np.random.default_rng(2)
    x, y, w = rng.normal(size=(20, 4)), np.eye(3)[rng.integers(0, 3, 20)], rng.normal(size=15)

    def f(w: Any) -> Any:
        return cross_entropy(x @ w[:12].reshape(4, 3) + w[12:], y) + 0.1 * np.sum(w**2)

    exact = tj.jit(tj.hessian(f))(w)
    gradient, h = tj.jit(tj.grad(f)), 1e-5
    numeric = np.stack([(gradient(w + h * e) - gradient(w - h * e)) / (2 * h) for e in np.eye(15)])
    error = float(np.max(np.abs(exact - numeric)) / np.max(np.abs(exact)))
    console.print(
        f"15 x 15 entries, largest difference from central differences: {error:.1e} of the largest entry"
    )
    return error


# ---- 4. a look inside -------------------------------------------------------------------------------


def gaussian(x: Any) -> Any:
    return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def look_inside() -> None:
    x = np.linspace(-3, 3, 1000)
    console.print("what was recorded:", style="bold")
    print(tj.make_jaxpr(gaussian)(x))
    compiled = tj.jit(gaussian).lower(x).compile()
    console.print("\nthe loops it became:", style="bold")
    print(compiled.as_text("loops"))
    console.print("\nthe generated kernel (LLVM; it calls a vector exp that stands before it):", style="bold")
    lines = compiled.as_text("source").splitlines()
    start = next(n for n, line in enumerate(lines) if "@entry(" in line)
    print("\n".join(lines[start : lines.index("}", start) + 1]))


# ---- measuring --------------------------------------------------------------------------------------


def timed(f: Callable[[], Any]) -> float:
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def best(f: Callable[[], Any], repeats: int = 30) -> float:
    return min(timed(f) for _ in range(repeats))


def race(p: Params, x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Seconds of the loss over all training data: NumPy, jit; and how far their values are apart."""
    compiled = tj.jit(loss)
    apart = abs(float(compiled(p, x, y)) - float(loss(p, x, y)))
    # In turns, so that both see the same machine.
    pairs = [(timed(lambda: loss(p, x, y)), timed(lambda: compiled(p, x, y))) for _ in range(30)]
    return min(a for a, _ in pairs), min(b for _, b in pairs), apart


def section(title: str) -> None:
    console.print(Rule(title, align="left"))


def main() -> int:
    """Run it all; 0 if the accuracy and the Hessian are as they should be."""
    data = load()
    section("1. AdamW on a network in plain NumPy, by jit(value_and_grad(loss))")
    p, measured = train(*data)
    section("2. Newton-CG by SciPy, gradient and Hessian-vector products from tracejit")
    measured |= newton(*data)
    section("3. A Hessian against finite differences")
    error = hessian_error()
    section("4. What tracejit made of a function")
    look_inside()
    section("Measured")
    numpy_s, jit_s, apart = race(p, *data[:2])
    table = Table(show_header=False, box=None)
    rows = {
        "test accuracy": f"{measured['accuracy']:.2%}",
        "training": f"{measured['train']:.1f} s, {EPOCHS} epochs",
        "loss and gradient of a batch": f"{measured['step'] * 1e6:.0f} us",
        "compile, loss and gradient": f"{measured['compile']:.2f} s",
        "loss, NumPy": f"{numpy_s * 1e3:.2f} ms",
        "loss, jit": f"{jit_s * 1e3:.2f} ms, values {apart:.0e} apart",
        "speed-up of jit over NumPy": f"{numpy_s / jit_s:.1f}x",
        "Newton-CG": f"{measured['newton']:.2f} s with its compiles",
        "Hessian error": f"{error:.1e}",
    }
    for name, value in rows.items():
        table.add_row(name, value)
    console.print(table)
    good = measured["accuracy"] >= GOAL and error < 1e-6
    console.print("all as it should be" if good else f"[red]below the goal of {GOAL:.0%}, or a wrong Hessian")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
