"""Hand-made machine learning: classifiers, mixtures, hidden states, networks, as classes that hold their state."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.observe import program

RNG = np.random.default_rng(3)
X = RNG.normal(size=(12, 2))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)


@program
def logistic_regression() -> Any:
    class Logistic:
        def __init__(self, lr=0.5, steps=10):
            self.lr, self.steps, self.w, self.losses = lr, steps, None, []

        def fit(self, x, y):
            x = np.hstack([np.ones((x.shape[0], 1)), x])
            self.w = np.zeros(x.shape[1])
            for i in range(self.steps):
                p = 1 / (1 + np.exp(-x @ self.w))
                self.w -= self.lr * x.T @ (p - y) / len(y)
                if i % 5 == 0:
                    self.losses.append(-np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)))
            return self

    m = Logistic()
    return m.fit, [(X, Y), (X * 2, 1 - Y), (X[:5], Y[:5])], lambda: vars(m)


@program
def decision_stump() -> Any:
    def f(x, y):
        best, choice = len(y) + 1, None
        for j in range(x.shape[1]):
            for t in np.unique(x[:, j]):
                for sign in (1, -1):
                    wrong = int(((sign * (x[:, j] - t) > 0).astype(int) != y).sum())
                    if wrong < best:
                        best, choice = wrong, (j, t, sign)
        return best, choice

    return f, [(X[:4], Y[:4]), (X[4:8], Y[4:8]), (-X[:4], Y[:4])], None


@program
def naive_bayes() -> Any:
    class Bayes:
        def fit(self, x, y):
            self.classes = np.unique(y)
            self.mean = {c: x[y == c].mean(axis=0) for c in self.classes}
            self.var = {c: x[y == c].var(axis=0) + 1e-9 for c in self.classes}
            self.prior = {c: np.mean(y == c) for c in self.classes}
            return self

        def predict(self, x):
            out = []
            for row in x:
                score = {
                    c: np.log(self.prior[c]) - 0.5 * np.sum((row - self.mean[c]) ** 2 / self.var[c])
                    for c in self.classes
                }
                out.append(max(score, key=score.get))
            return np.array(out)

    m = Bayes()
    return lambda x, y: m.fit(x, y).predict(x), [(X, Y), (X + 1, Y), (X, 1 - Y)], lambda: vars(m)


@program
def perceptron() -> Any:
    class Perceptron:
        def __init__(self, n):
            self.w, self.b, self.errors = np.zeros(n), 0, []

        def fit(self, x, y, epochs=3):
            for _ in range(epochs):
                wrong = 0
                for row, target in zip(x, y, strict=True):
                    step = 0.1 * (target - int(self.w @ row + self.b > 0))
                    if step != 0:
                        self.w += step * row
                        self.b += step
                        wrong += 1
                self.errors.append(wrong)
                if wrong == 0:
                    break
            return self.w

    m = Perceptron(2)
    return m.fit, [(X, Y), (X, Y, 1), (-X, Y, 2)], lambda: vars(m)


@program
def components() -> Any:
    class PCA:
        def __init__(self, k):
            self.k = k

        def fit_transform(self, x):
            self.mean = x.mean(axis=0)
            vals, vecs = np.linalg.eigh(np.cov(x - self.mean, rowvar=False))
            order = np.argsort(vals)[::-1][: self.k]
            self.parts = vecs[:, order]
            self.parts = self.parts * np.sign(self.parts[np.abs(self.parts).argmax(axis=0), range(self.k)])
            self.ratio = vals[order] / vals.sum()
            return (x - self.mean) @ self.parts

    m = PCA(1)
    return m.fit_transform, [(X,), (X * [3, 1],), (X[:4],)], lambda: vars(m)


@program
def neighbours() -> Any:
    class Knn:
        def __init__(self, k=3):
            self.k = k

        def fit(self, x, y):
            self.x, self.y = x, y
            return self

        def predict(self, q):
            return [self._one(row) for row in q]

        def _one(self, row):
            d = np.sqrt(((self.x - row) ** 2).sum(axis=1))
            labels = self.y[np.argsort(d)[: self.k]]
            values, counts = np.unique(labels, return_counts=True)
            return values[np.argmax(counts)]

    m = Knn().fit(X, Y)

    def refit(n):
        m.k = 1 + 2 * (n == 2)

    return m.predict, [(X[:2],), (X[:3] + 0.5,), (X[:2] * 0,)], lambda: vars(m), refit


@program
def neighbours_on_lists() -> Any:
    def f(train, labels, query, k):
        d = sorted(
            (sum((a - b) ** 2 for a, b in zip(p, query, strict=True)) ** 0.5, i) for i, p in enumerate(train)
        )
        votes: dict = {}
        for _, i in d[:k]:
            votes[labels[i]] = votes.get(labels[i], 0) + 1
        return max(votes, key=lambda v: (votes[v], v)), d[0][0], votes

    t = [[0, 0], [1, 1.5], [4, 4]]
    return f, [(t, ["a", "b", "b"], [0.2, 0], 1), (t, [0, 1, 1], [3, 3], 3), (t, [1, 2, 3], [1, 1], 2)], None


@program
def mixture() -> Any:
    def f(x, mu, sigma, pi, steps):
        history = []
        for _ in range(steps):
            dens = pi * np.exp(-0.5 * ((x[:, None] - mu) / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi))
            total = dens.sum(axis=1, keepdims=True)
            resp = dens / total
            n = resp.sum(axis=0)
            mu = (resp * x[:, None]).sum(axis=0) / n
            sigma = np.sqrt((resp * (x[:, None] - mu) ** 2).sum(axis=0) / n)
            pi = n / len(x)
            history.append(np.log(total).sum())
            if len(history) > 1 and abs(history[-1] - history[-2]) < 1e-2:
                break
        return mu, sigma, pi, history

    a = np.array([-1.0, 1]), np.ones(2), np.ones(2) / 2
    return f, [(X[:, 0], *a, 3), (X[:, 1], *a, 10), (X[:6, 0], *a, 1)], None


@program
def forward_backward() -> Any:
    def f(obs, start, trans, emit):
        n, k = len(obs), len(start)
        alpha, beta, scale = np.zeros((n, k)), np.ones((n, k)), np.zeros(n)
        for t, o in enumerate(obs):
            alpha[t] = (start if t == 0 else alpha[t - 1] @ trans) * emit[:, o]
            scale[t] = alpha[t].sum()
            alpha[t] /= scale[t]
        for t in range(n - 2, -1, -1):
            beta[t] = trans @ (emit[:, obs[t + 1]] * beta[t + 1]) / scale[t + 1]
        gamma = alpha * beta
        return gamma, np.log(scale).sum(), gamma.argmax(axis=1)

    p = np.array([0.6, 0.4]), np.array([[0.7, 0.3], [0.4, 0.6]]), np.array([[0.5, 0.5], [0.1, 0.9]])
    return f, [([0, 1, 1], *p), (np.array([1, 0, 0]), *p), ([0], *p)], None


@program
def viterbi() -> Any:
    def f(obs, states, start, trans, emit):
        table = [{s: (start[s] * emit[s][obs[0]], None) for s in states}]
        for o in obs[1:]:
            row = {}
            for s in states:
                prob, prev = max((table[-1][r][0] * trans[r][s] * emit[s][o], r) for r in states)
                row[s] = (prob, prev)
            table.append(row)
        best = max(states, key=lambda s: table[-1][s][0])
        path = [best]
        for row in table[:0:-1]:
            path.insert(0, row[path[0]][1])
        return path, table[-1][best][0]

    m = (
        "ab",
        {"a": 0.6, "b": 0.4},
        {"a": {"a": 0.7, "b": 0.3}, "b": {"a": 0.4, "b": 0.6}},
        {"a": [0.5, 0.5], "b": [0.1, 0.9]},
    )
    return f, [([0, 1, 1], *m), ([1, 1], *m), ([0], *m)], None


@program
def network() -> Any:
    class Layer:
        def __init__(self, n, m, act):
            self.w, self.b, self.act = np.full((n, m), 0.3) + 0.1 * np.arange(m), np.zeros(m), act

        def forward(self, x):
            self.x, self.z = x, x @ self.w + self.b
            return np.tanh(self.z) if self.act == "tanh" else self.z

        def backward(self, g, lr):
            if self.act == "tanh":
                g = g * (1 - np.tanh(self.z) ** 2)
            back = g @ self.w.T
            self.w -= lr * self.x.T @ g
            self.b -= lr * g.sum(axis=0)
            return back

    class Net:
        def __init__(self):
            self.layers, self.losses = [Layer(2, 3, "tanh"), Layer(3, 1, None)], []

        def train(self, x, y, lr):
            for layer in self.layers:
                last = x = layer.forward(x)
            g = 2 * (last - y[:, None]) / len(y)
            self.losses.append(float(((last - y[:, None]) ** 2).mean()))
            for layer in reversed(self.layers):
                g = layer.backward(g, lr)
            return self.losses[-1]

    net = Net()
    return (
        net.train,
        [(X, Y, 0.1), (X, Y, 0.01), (X[:3], Y[:3], 1)],
        lambda: [*net.losses, *map(vars, net.layers)],
    )


@program
def adam() -> Any:
    state: dict = {"m": 0, "v": 0, "t": 0}

    def f(w, g, lr=1e-3, b1=0.9, b2=0.999):
        state["t"] += 1
        state["m"] = b1 * state["m"] + (1 - b1) * g
        state["v"] = b2 * state["v"] + (1 - b2) * g**2
        m, v = state["m"] / (1 - b1 ** state["t"]), state["v"] / (1 - b2 ** state["t"])
        return w - lr * m / (np.sqrt(v) + 1e-8)

    return (
        f,
        [(np.ones(2), np.array([1.0, 2])), (np.ones(2), np.ones(2), 0.1), (np.zeros(2), np.ones(2))],
        lambda: state,
    )


@program
def k_means_on_arrays() -> Any:
    def f(x, k, rounds=10):
        centers = x[:k].copy()
        for n in range(rounds):
            labels = np.argmin(((x[:, None] - centers) ** 2).sum(-1), axis=1)
            new = np.array(
                [x[labels == i].mean(axis=0) if (labels == i).any() else centers[i] for i in range(k)]
            )
            if np.allclose(new, centers):
                break
            centers = new
        return centers, labels, n

    return f, [(X, 2), (X[::-1], 2), (X[:5], 1)], None


@program
def k_means_on_lists() -> Any:
    def f(points, centers):
        for _ in range(5):
            groups = [[] for _ in centers]
            for p in points:
                d = [(p[0] - c[0]) ** 2 + (p[1] - c[1]) ** 2 for c in centers]
                groups[d.index(min(d))].append(p)
            new = [
                [sum(v) / len(g) for v in zip(*g, strict=True)] if g else c
                for g, c in zip(groups, centers, strict=True)
            ]
            if new == centers:
                break
            centers = new
        return centers, [len(g) for g in groups]

    pts = [[0, 0], [1, 0], [5.0, 5], [6, 5.5]]
    return f, [(pts, [[0, 1], [5, 5]]), (pts, [[100, 100], [0, 0]]), (pts[:1], [[0, 0]])], None


@program
def softmax_and_entropy() -> Any:
    def f(z, labels):
        z = z - z.max(axis=1, keepdims=True)
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        loss = -np.log(p[np.arange(len(labels)), labels]).mean()
        g = p.copy()
        g[range(len(labels)), labels] -= 1
        return loss, g / len(labels), (p.argmax(1) == labels).mean()

    return f, [(X[:3], Y[:3]), (X[:3] * 100, Y[:3]), (np.zeros((2, 2)), [0, 1])], None


@program
def confusion() -> Any:
    def f(true, pred, k):
        m = np.zeros((k, k), dtype=int)
        for t, p in zip(true, pred, strict=True):
            m[t, p] += 1
        tp = np.diag(m)
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = np.where(m.sum(0) > 0, tp / m.sum(0), 0)
        return m, precision, tp.sum() / m.sum(), m[0, 1] == 0

    return f, [(Y[:5], Y[1:6], 2), ([0, 1, 2], [0, 1, 1], 3), (Y, Y, 2)], None


@program
def batches() -> Any:
    state = {"epoch": 0, "w": np.zeros(2)}

    def f(x, y, size):
        for start in range(0, len(x), size):
            xb, yb = x[start : start + size], y[start : start + size]
            state["w"] = state["w"] - 0.1 * xb.T @ (xb @ state["w"] - yb) / len(xb)
        state["epoch"] += 1
        return ((x @ state["w"] - y) ** 2).mean()

    return f, [(X, Y, 5), (X, Y, 12), (X, Y, 5)], lambda: state
