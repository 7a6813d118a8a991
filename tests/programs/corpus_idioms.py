"""Whole programs as public numerical code writes them: robotics, control, finance, statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from tests.programs.observe import program


@program
def scalar_types_in_variables() -> Any:
    kinds = {"single": np.float32, "double": np.float64}

    class Filter:
        dtype = np.float32

        def step(self, x):
            return self.dtype(x.sum()), x.dtype.type(x[0])

    def f(x, n):
        number = np.float64
        total = number(0)
        for i in range(len(x)):
            total += kinds["single"](x[i])
        whole, first = Filter().step(x)
        return total, number(x), np.int64(n), np.bool_(x[1]), whole, first, isinstance(number(n), number)

    return (
        f,
        [(np.arange(5.0), 3), (np.arange(3, dtype=np.float32) / 3, 4), (np.array([1e300, -0.0]), True)],
        None,
    )


@program
def rolls_by_a_fraction() -> Any:
    """NumPy cuts the fraction off."""

    def f(x, by):
        return np.roll(x, by % 3), np.roll(x, 1.7), np.roll(x.reshape(2, 2), (by, -1.2), axis=(0, 1))

    return f, [(np.arange(4.0), 2.9), (np.arange(4), -1.5), (np.ones(4), 7), (np.arange(4.0), np.nan)], None


@program
def quaternions() -> Any:
    def multiply(a, b):
        w1, x1, y1, z1 = a
        w2, x2, y2, z2 = b
        return np.array([
            w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
            w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
            w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
            w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
        ])  # fmt: skip

    def normalize(q):
        n = np.linalg.norm(q)
        if n == 0:
            return np.array([1, 0, 0, 0])
        return q / n

    def f(q, v):
        q = normalize(q)
        conj = q * np.array([1, -1, -1, -1])
        return multiply(multiply(q, np.concatenate([[0], v])), conj)[1:]

    return f, [(np.array([1.0, 1, 0, 0]), np.array([0.0, 1, 0])), (np.zeros(4), np.array([1, 2, 3])),
               (np.array([1, 0, 1, 0]), np.ones(3))], None  # fmt: skip


@program
def slerp() -> Any:
    def f(a, b, t):
        dot = np.dot(a, b)
        if dot < 0.0:
            b, dot = -b, -dot
        if dot > 0.9995:
            out = a + t * (b - a)
            return out / np.linalg.norm(out)
        theta = np.arccos(np.clip(dot, -1, 1))
        return (np.sin((1 - t) * theta) * a + np.sin(t * theta) * b) / np.sin(theta)

    e, g = np.eye(4)[0], np.array([0.6, 0.8, 0, 0])
    return f, [(e, g, 0.5), (e, -g, 0), (e, e, 1)], None


@program
def euler_angles() -> Any:
    def f(r):
        sy = np.sqrt(r[0, 0] ** 2 + r[1, 0] ** 2)
        if sy < 1e-6:
            return np.array([np.arctan2(-r[1, 2], r[1, 1]), np.arctan2(-r[2, 0], sy), 0])
        return np.array(
            [np.arctan2(r[2, 1], r[2, 2]), np.arctan2(-r[2, 0], sy), np.arctan2(r[1, 0], r[0, 0])]
        )

    return f, [(np.eye(3),), (np.array([[0, 0, 1.0], [0, 1, 0], [-1, 0, 0]]),), (np.eye(3)[[1, 0, 2]],)], None


@program
def extended_kalman() -> Any:
    class Filter:
        def __init__(self):
            self.x, self.p = np.array([1.0, 0.5]), np.eye(2)
            self.q, self.r, self.rejected = 0.01 * np.eye(2), np.array([[0.1]]), 0

        def predict(self, dt):
            f = np.array([[1, dt], [0, 1]])
            self.x = f @ self.x
            self.p = f @ self.p @ f.T + self.q

        def update(self, z, dt=0.1):
            self.predict(dt)
            h = np.array([[2 * self.x[0], 0.0]])
            y = np.atleast_1d(z) - self.x[0] ** 2
            s = h @ self.p @ h.T + self.r
            if abs(y[0]) > 3 * np.sqrt(s[0, 0]):
                self.rejected += 1
                return self.x
            k = self.p @ h.T @ np.linalg.inv(s)
            self.x = self.x + (k @ y).ravel()
            self.p = (np.eye(2) - k @ h) @ self.p
            return self.x

    k = Filter()
    return k.update, [(1.2,), (100,), (1.1, 0.2)], lambda: vars(k)


@program
def pid() -> Any:
    class Pid:
        def __init__(self, kp, ki, kd, limits=(None, None)):
            self.kp, self.ki, self.kd, self.limits = kp, ki, kd, limits
            self.integral, self.last = 0, None

        def __call__(self, target, value, dt=1):
            error = target - value
            self.integral += error * dt
            change = 0 if self.last is None else (error - self.last) / dt
            self.last = error
            out = self.kp * error + self.ki * self.integral + self.kd * change
            low, high = self.limits
            if high is not None and out > high:
                out = high
            elif low is not None and out < low:
                out = low
            return out

    p = Pid(2, 0.5, 0.1, (None, 10))
    return p, [(5.0, 1.0), (5, 4), (5.0, 20.0, 0.5)], lambda: vars(p)


@program
def pid_simulation() -> Any:
    def f(target, n):
        x, v, acc, trace = 0, 0, 0, []
        for k in range(n):
            e = target - x
            acc += e
            u = min(max(3 * e + 0.1 * acc - v, -5), 5)
            v += 0.1 * u
            x += 0.1 * v
            trace.append(x)
            if abs(e) < 0.01 and abs(v) < 0.01:
                break
        return x, k, np.array(trace)

    return f, [(1.0, 20), (0, 5), (3, 30)], None


@program
def black_scholes() -> Any:
    def f(s, k, t, r, sigma, kind="call"):
        if t <= 0:
            return max(s - k, 0) if kind == "call" else max(k - s, 0)
        d1 = (np.log(s / k) + (r + 0.5 * sigma**2) * t) / (sigma * np.sqrt(t))
        d2 = d1 - sigma * np.sqrt(t)
        if kind == "call":
            return s * stats.norm.cdf(d1) - k * np.exp(-r * t) * stats.norm.cdf(d2)
        return k * np.exp(-r * t) * stats.norm.cdf(-d2) - s * stats.norm.cdf(-d1)

    return (
        f,
        [(100.0, 95.0, 1.0, 0.05, 0.2), (100, 95, 0, 0.05, 0.2), (90.0, 95.0, 0.5, 0.01, 0.3, "put")],
        None,
    )


@program
def implied_volatility() -> Any:
    def price(s, k, t, v):
        d = np.log(s / k) / (v * np.sqrt(t)) + v * np.sqrt(t) / 2
        return s * stats.norm.cdf(d) - k * stats.norm.cdf(d - v * np.sqrt(t)), s * stats.norm.pdf(
            d
        ) * np.sqrt(t)

    def f(target, s, k, t):
        v = 0.5
        for i in range(50):
            p, vega = price(s, k, t, v)
            diff = p - target
            if abs(diff) < 1e-8:
                return v, i
            if vega < 1e-10:
                return None, i
            v = max(v - diff / vega, 1e-3)
        return v, -1

    return f, [(10.0, 100.0, 100.0, 1.0), (25.0, 100, 90, 2), (5.0, 100.0, 110.0, 0.5)], None


@program
def portfolio() -> Any:
    def f(returns, target=None):
        mu, cov = returns.mean(axis=0), np.cov(returns.T)
        n = len(mu)
        inv = np.linalg.inv(cov)
        ones = np.ones(n)
        if target is None:
            w = inv @ ones / (ones @ inv @ ones)
        else:
            a, b, c = ones @ inv @ ones, ones @ inv @ mu, mu @ inv @ mu
            lam = (target * a - b) / (a * c - b * b)
            w = inv @ (lam * mu + (1 - lam * b) / a * ones)
        return {
            "weights": w,
            "risk": np.sqrt(w @ cov @ w),
            "return": float(w @ mu),
            "short": int((w < 0).sum()),
        }

    r = np.random.default_rng(0).normal(0.01, 0.05, (12, 3))
    return f, [(r,), (r, 0.02), (r * 2, 0)], None


@program
def yield_curve() -> Any:
    def f(maturities, rates, t):
        if t <= maturities[0]:
            return rates[0]
        if t >= maturities[-1]:
            return rates[-1]
        for i in range(len(maturities) - 1):
            if maturities[i] <= t <= maturities[i + 1]:
                w = (t - maturities[i]) / (maturities[i + 1] - maturities[i])
                return rates[i] + w * (rates[i + 1] - rates[i])
        return None

    m, r = [1, 2, 5], [0.01, 0.02, 0.03]
    return f, [(m, r, 3.0), (np.array(m), np.array(r), 2), (m, r, 0.5), (m, r, 7)], None


@program
def bond_yield() -> Any:
    def f(price, face, coupon, n):
        lo, hi = 0.0, 1.0
        while hi - lo > 1e-10:
            y = (lo + hi) / 2
            pv = sum(face * coupon / (1 + y) ** t for t in range(1, n + 1)) + face / (1 + y) ** n
            if pv > price:
                lo = y
            else:
                hi = y
        return round(y, 8)

    return f, [(95.0, 100, 0.05, 5), (100, 100, 0.05, 2), (110.0, 100.0, 0.04, 3)], None


@program
def autoregression() -> Any:
    class AR:
        def __init__(self, p):
            self.p, self.coef, self.resid = p, None, None

        def fit(self, y):
            p = self.p
            x = np.column_stack([np.ones(len(y) - p)] + [y[p - i - 1 : len(y) - i - 1] for i in range(p)])
            self.coef, *_ = np.linalg.lstsq(x, y[p:], rcond=None)
            self.resid = y[p:] - x @ self.coef
            return self

        def forecast(self, y, steps):
            h = list(y)
            for _ in range(steps):
                h.append(self.coef[0] + sum(c * h[-i - 1] for i, c in enumerate(self.coef[1:])))
            return h[-steps:]

    m = AR(2)
    y = np.cumsum(np.random.default_rng(1).normal(size=20))
    return lambda y, n: m.fit(y).forecast(y, n), [(y, 2), (y * 2, 3), (y[:12], 1)], lambda: vars(m)


@program
def garch() -> Any:
    def f(r, omega, alpha, beta):
        var = np.empty(len(r))
        var[0] = np.var(r)
        ll = 0
        for t in range(1, len(r)):
            var[t] = omega + alpha * r[t - 1] ** 2 + beta * var[t - 1]
            ll += -0.5 * (np.log(2 * np.pi * var[t]) + r[t] ** 2 / var[t])
        return var, ll

    r = np.random.default_rng(2).normal(size=10)
    return f, [(r, 0.1, 0.1, 0.8), (r, 0.1, 0, 0), (r[:1], 1, 0.1, 0.2)], None


@program
def drawdown() -> Any:
    def f(prices):
        peak, worst, start, span = prices[0], 0, 0, (0, 0)
        for i, p in enumerate(prices):
            if p > peak:
                peak, start = p, i
            dd = (peak - p) / peak
            if dd > worst:
                worst, span = dd, (start, i)
        return worst, span

    return f, [(np.array([1.0, 2, 1.5, 3, 2]),), (np.array([1.0, 2.0]),), ([4, 3, 5],)], None


@program
def crossover_strategy() -> Any:
    def f(prices, fast, slow, cash=1000):
        position, trades = 0, []
        for i in range(slow, len(prices)):
            a, b = np.mean(prices[i - fast : i]), np.mean(prices[i - slow : i])
            if a > b and position == 0:
                position = cash // prices[i]
                cash -= position * prices[i]
                trades.append(("buy", i, position))
            elif a < b and position > 0:
                cash += position * prices[i]
                trades.append(("sell", i, position))
                position = 0
        return cash + position * prices[-1], trades

    p = np.array([10, 11, 12, 11, 9, 8, 9, 11, 13.0])
    return f, [(p, 2, 3), (p[::-1], 1, 2), (list(p), 2, 4, 500)], None


@program
def welch() -> Any:
    def f(x, size, fs=1):
        step = size // 2
        w = np.hanning(size)
        spectra = []
        for start in range(0, len(x) - size + 1, step):
            seg = x[start : start + size]
            spectra.append(np.abs(np.fft.rfft(w * (seg - seg.mean()))) ** 2)
        p = np.mean(spectra, axis=0) / (fs * (w**2).sum())
        p[1:-1] *= 2
        return np.fft.rfftfreq(size, 1 / fs), p, len(spectra)

    x = np.sin(np.arange(32.0))
    return f, [(x, 8), (x, 16, 2.0), (x[:20], 8, 10)], None


@program
def haar() -> Any:
    def f(x, level=None):
        details = []
        while len(x) > 1 and (level is None or level > 0):
            a, d = (x[::2] + x[1::2]) / np.sqrt(2), (x[::2] - x[1::2]) / np.sqrt(2)
            details.append(np.where(np.abs(d) > 0.5, d, 0))
            x = a
            if level is not None:
                level -= 1
        return x, details[::-1]

    return f, [(np.arange(8.0),), (np.array([1, 2, 3, 9]), 1), (np.ones(4), 0)], None


@program
def solow() -> Any:
    def f(k, s=0.3, alpha=0.33, delta=0.05, tol=1e-3, cap=200):
        path = [k]
        while True:
            new = s * k**alpha + (1 - delta) * k
            path.append(new)
            if abs(new - k) < tol or len(path) > cap:
                break
            k = new
        return path[-1], len(path), (s / delta) ** (1 / (1 - alpha))

    return f, [(1.0,), (20, 0.2), (14.0, 0.3, 0.33, 0.05, 0.1)], None


@program
def value_iteration() -> Any:
    def f(p, r, gamma, tol=1e-4):
        v = np.zeros(r.shape[0])
        n = 0
        while True:
            q = r + gamma * np.einsum("ast,t->sa", p, v)
            new = q.max(axis=1)
            delta = np.max(np.abs(new - v))
            v, n = new, n + 1
            if delta < tol:
                return v, q.argmax(axis=1), n

    p = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.0, 1.0]]])
    r = np.array([[1.0, 0], [0, 2]])
    return f, [(p, r, 0.5), (p, r * -1, 0.9), (p, r, 0)], None
