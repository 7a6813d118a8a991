"""Transforms and filters of signals."""

from dataclasses import dataclass

import numpy as np

from examples.programs import program
from examples.programs.solvers import symmetric_inverse


@program(lambda rng, n: (rng.normal(size=2 * n) + 1j * rng.normal(size=2 * n),))
def fft_butterflies(x):
    """Cooley and Tukey's transform in place: bits reversed, then butterflies."""
    n = len(x)
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            x[i], x[j] = x[j], x[i]
    size = 2
    while size <= n:
        half = size // 2
        root = np.exp(-2j * np.pi / size)
        for start in range(0, n, size):
            w = 1.0 + 0j
            for k in range(start, start + half):
                even, odd = x[k], w * x[k + half]
                x[k] = even + odd
                x[k + half] = even - odd
                w *= root
        size *= 2
    return x


@program(lambda rng, n: (rng.normal(size=4 * n),), wrt=(0,))
def haar_wavelet(signal):
    """All levels of the transform; each halves the part that is left."""
    out = signal.copy()
    n = len(out)
    while n > 1:
        n //= 2
        even, odd = out[0 : 2 * n : 2].copy(), out[1 : 2 * n : 2].copy()
        out[:n] = (even + odd) / np.sqrt(2.0)
        out[n : 2 * n] = (even - odd) / np.sqrt(2.0)
    return np.sum(np.abs(out) ** 1.5)


@dataclass
class Biquad:
    """A filter of second order that remembers two numbers."""

    b: tuple[float, float, float]
    a: tuple[float, float]
    z1: float = 0.0
    z2: float = 0.0

    def step(self, x):
        y = self.b[0] * x + self.z1
        self.z1 = self.b[1] * x - self.a[0] * y + self.z2
        self.z2 = self.b[2] * x - self.a[1] * y
        return y


@program(lambda rng, n: (rng.normal(size=5 * n),), wrt=(0,))
def biquad_cascade(x):
    stages = [
        Biquad((0.2, 0.4, 0.2), (-0.5, 0.2)),
        Biquad((0.3, 0.0, -0.3), (-0.9, 0.4)),
    ]
    y = np.empty_like(x)
    for n in range(len(x)):
        sample = x[n]
        for stage in stages:
            sample = stage.step(sample)
        y[n] = sample
    return np.sqrt(np.mean(y**2))


@program(lambda rng, n: (np.cumsum(rng.normal(size=(3 * n, 2)), axis=0), 0.1, 0.5), wrt=(0, 1, 2))
def kalman(observed, process_noise, noise):
    """Position and speed in the plane from noisy positions; the negative log-likelihood."""
    dt = 1.0
    F = np.eye(4)
    F[0, 2] = F[1, 3] = dt
    H = np.zeros((2, 4))
    H[0, 0] = H[1, 1] = 1.0
    Q = process_noise * np.diag([0.25, 0.25, 1.0, 1.0])
    R = noise * np.eye(2)
    state, P = np.zeros(4), 10.0 * np.eye(4)
    loss = 0.0
    for z in observed:
        state = F @ state
        P = F @ P @ F.T + Q
        residual = z - H @ state
        S = H @ P @ H.T + R
        inverse, det = symmetric_inverse(S)
        K = P @ H.T @ inverse
        state = state + K @ residual
        P = (np.eye(4) - K @ H) @ P
        loss += 0.5 * (residual @ inverse @ residual + np.log(det))
    return loss


@program(lambda rng, n: (rng.normal(size=6 * n), rng.normal(size=4) / 4, 0.05), wrt=(0, 1, 2))
def adaptive_filter(x, weights, rate):
    """Least mean squares: predicts the next sample from the last ones, newest first."""
    taps = len(weights)
    errors = np.zeros(len(x) - taps)
    for t in range(taps, len(x)):
        past = x[t - taps : t][::-1]
        errors[t - taps] = x[t] - weights @ past
        weights += rate * errors[t - taps] * past
    return np.sum(errors**2)


@program(lambda rng, n: (rng.normal(size=5 * n), rng.normal(size=n)), wrt=(0, 1))
def full_convolution(signal, kernel):
    out = np.zeros(len(signal) + len(kernel) - 1)
    for i, s in enumerate(signal):
        for j, k in enumerate(kernel):
            out[i + j] += s * k
    return np.sum(out**2)


@program(lambda rng, n: (np.array([1, 0, 1, 1, 0, 0, 1] * n), 0b1011))
def hamming_syndromes(bits, polynomial):
    """Corrects one wrong bit in each word of seven; the remainders of the division by the polynomial."""
    words = bits.reshape(-1, 7)
    syndromes = np.zeros(len(words), dtype=np.int64)

    def remainder(word):
        r = 0
        for bit in word:
            r = (r << 1) | bit
            if r & 0b1000:
                r ^= polynomial
        return r

    for n, word in enumerate(words):
        word[n % 7] ^= 1
        syndromes[n] = remainder(word)
        for position in range(7):
            word[position] ^= 1
            if remainder(word) == 0:
                break
            word[position] ^= 1
    return syndromes, sum(remainder(w) for w in words)
