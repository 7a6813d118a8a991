"""Hashes, check sums and random numbers of Python's integers, of which a mask or a modulus leaves some bits; and numbers as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.observe import program

TEXT = np.frombuffer(b"the quick brown fox jumps over the lazy dog", dtype=np.uint8)
TEXTS = [(TEXT,), (TEXT[::2].copy(),), (TEXT[:3].copy(),)]
SEEDS = [(12345, 40), (2**32 - 5, 7), (1, 0)]


@program
def murmur_of_words() -> Any:
    def mixed(k):
        k = (k * 0xCC9E2D51) & 0xFFFFFFFF
        k = ((k << 15) | (k >> 17)) & 0xFFFFFFFF
        return (k * 0x1B873593) & 0xFFFFFFFF

    def f(words, seed):
        h = seed
        for w in words:
            h ^= mixed(int(w))
            h = ((h << 13) | (h >> 19)) & 0xFFFFFFFF
            h = (h * 5 + 0xE6546B64) & 0xFFFFFFFF
        h ^= 4 * len(words)
        h ^= h >> 16
        h = (h * 0x85EBCA6B) & 0xFFFFFFFF
        h ^= h >> 13
        h = (h * 0xC2B2AE35) & 0xFFFFFFFF
        return h ^ (h >> 16)

    words = np.array([0xDEADBEEF, 0xFFFFFFFF, 0x12345678, 0x80000001], dtype=np.uint32)
    return f, [(words, 0), (words[::-1].copy(), 2**32 - 1), (words[:0], 7)], None


@program
def words_mixed_by_xxhash() -> Any:
    def f(words):
        h = (374761393 + 4 * len(words)) & 0xFFFFFFFF
        for w in words:
            h = (h + int(w) * 3266489917) & 0xFFFFFFFF
            h = (((h << 17) | (h >> 15)) * 668265263) & 0xFFFFFFFF
        h = ((h ^ (h >> 15)) * 2246822519) & 0xFFFFFFFF
        h = ((h ^ (h >> 13)) * 3266489917) & 0xFFFFFFFF
        return h ^ (h >> 16)

    return f, [(TEXT.astype(np.int64) * 98765431 % 2**32,), (np.arange(5),)], None


@program
def jenkins_one_at_a_time() -> Any:
    def f(text):
        h = 0
        for b in text:
            h = (h + int(b)) & 0xFFFFFFFF
            h = (h + (h << 10)) & 0xFFFFFFFF
            h ^= h >> 6
        h = (h + (h << 3)) & 0xFFFFFFFF
        h ^= h >> 11
        return (h + (h << 15)) & 0xFFFFFFFF

    return f, TEXTS, None


@program
def fletcher_and_adler() -> Any:
    def f(text):
        a, b, low, high = 1, 0, 0, 0
        for c in text:
            a = (a + int(c)) % 65521
            b = (b + a) % 65521
            low = (low + int(c)) % 255
            high = (high + low) % 255
        return (b << 16) | a, (high << 8) | low

    return f, TEXTS, None


@program
def buckets_by_multiplication() -> Any:
    def f(keys, bits):
        counts = np.zeros(1 << 6, dtype=int)
        for k in keys:
            counts[((int(k) * 11400714819323198485) & (2**63 - 1)) >> (63 - bits)] += 1
        return counts

    return f, [(np.arange(200), 6), (np.arange(0, 10**9, 10**7), 5), (np.array([2**62, 5]), 6)], None


@program
def random_numbers_of_63_bits() -> Any:
    def f(seed, n):
        out = np.zeros(n)
        for i in range(n):
            seed = (seed * 2862933555777941757 + 3037000493) % 2**63
            out[i] = (seed >> 10) / 2**53
        return out, seed

    return f, SEEDS, None


@program
def dice_of_a_generator_of_its_own() -> Any:
    class Dice:
        def __init__(self, seed):
            self.state = seed
            self.thrown = 0

        def bits(self):
            self.state = (self.state * 1103515245 + 12345) & 0x7FFFFFFF
            return self.state

        def throw(self):
            self.thrown += 1
            return 1 + (self.bits() >> 16) % 6

    def f(seed, n):
        dice, counts = Dice(seed), [0] * 7
        for _ in range(n):
            counts[dice.throw()] += 1
        return counts, dice.state, dice.thrown

    return f, SEEDS, None


@program
def xorshift_of_32_bits_keeps_its_state() -> Any:
    class Xorshift:
        def __init__(self, seed):
            self.x = seed

        def next(self):
            self.x ^= (self.x << 13) & 0xFFFFFFFF
            self.x ^= self.x >> 17
            self.x ^= (self.x << 5) & 0xFFFFFFFF
            return self.x / 2**32

    r = Xorshift(2463534242)

    def f(n):
        inside = 0
        for _ in range(n):
            x, y = r.next(), r.next()
            inside += x * x + y * y < 1
        return 4 * inside / n

    return f, [(50,), (20,), (50,)], lambda: r.x


@program
def multiply_with_carry() -> Any:
    def f(seed, n):
        z, w, out = 362436069, seed, []
        for _ in range(n):
            z = 36969 * (z & 65535) + (z >> 16)
            w = 18000 * (w & 65535) + (w >> 16)
            out.append(((z << 16) + w) & 0xFFFFFFFF)
        return out

    return f, SEEDS, None


@program
def counters_of_a_noise() -> Any:
    def f(ix, iy, seed):
        n = (ix * 374761393 + iy * 668265263 + seed * 1274126177) & 0xFFFFFFFF
        n = ((n ^ (n >> 13)) * 1274126177) & 0xFFFFFFFF
        return (n ^ (n >> 16)) / 0xFFFFFFFF

    return f, [(3, 4, 5), (-7, 2**31, 99), (10**12, -(10**9), 1)], None


@program
def rolling_hash_of_a_window() -> Any:
    def f(text, m):
        base, mask = 257, (1 << 61) - 1
        h, power = 0, 1
        for i in range(m):
            h = (h * base + int(text[i])) & mask
            power = (power * base) & mask
        found = [h]
        for i in range(m, len(text)):
            h = (h * base + int(text[i]) - power * int(text[i - m])) & mask
            found.append(h)
        return found

    return f, [(TEXT, 5), (TEXT[5:20].copy(), 3)], None


@program
def fowler_noll_vo_by_statements() -> Any:
    def f(text):
        h = 0x811C9DC5
        for b in text:
            h ^= int(b)
            h *= 0x01000193
            h &= 0xFFFFFFFF
        return f"{h:08x}"

    return f, TEXTS, None


@program
def wang_by_statements() -> Any:
    def f(keys):
        table = [0] * 16
        for key in keys:
            h = int(key)
            h -= 61
            h &= 0xFFFFFFFF
            h ^= h >> 16
            h *= 668265263
            h &= 0xFFFFFFFF
            h ^= h >> 15
            h *= 2246822519
            h %= 2**32
            table[h % 16] += 1
        return table

    return f, [(np.arange(40),), (np.arange(0, 2**31, 2**26),), (np.array([-5, 2**40, 7]),)], None


@program
def xorshift_by_statements() -> Any:
    def f(x, n):
        out = np.empty(n)
        for i in range(n):
            x ^= x << 13
            x &= 0xFFFFFFFF
            x ^= x >> 17
            x ^= x << 5
            x &= 0xFFFFFFFF
            out[i] = x / 2**32
        return out.mean(), x

    return f, SEEDS, None


@program
def numbers_in_short() -> Any:
    def f(x):
        lines = []
        for v in x:
            lines.append(np.format_float_positional(v, precision=3, trim="-"))
        return lines, np.format_float_scientific(x.max() / 3, precision=2, exp_digits=2)

    return f, [(np.linspace(0.0, 1e6, 5),), (np.array([1.0, 2.5e-7, -3.0]),)], None
