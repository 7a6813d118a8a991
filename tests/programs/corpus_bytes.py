"""Programs that compute with bytes: buffers that are filled and sent, check sums, ciphers, hashes of results."""

from __future__ import annotations

import array
import binascii
import hashlib
import zlib
from typing import Any

import numpy as np

from tests.programs.observe import program

X = np.linspace(-1.0, 2.0, 6)


@program
def fletchers_check_sum() -> Any:
    def f(data):
        low = high = 0
        for byte in data:
            low = (low + byte) % 255
            high = (high + low) % 255
        return high << 8 | low

    return f, [(bytearray(b"abcde"),), (bytearray(b"abcdef" * 9),), (bytearray(b"abcde"),)], None


@program
def a_hash_of_32_bits() -> Any:
    def fnv(data):
        h = 2166136261
        for byte in data:
            h = ((h ^ byte) * 16777619) & 0xFFFFFFFF
        return h

    return fnv, [(bytearray(b"hello world" * 4),), (bytearray(44),), (array.array("B", range(44)),)], None


@program
def a_stream_cipher() -> Any:
    def rc4(key, data):
        box = bytearray(range(256))
        j = 0
        for i in range(256):
            j = (j + box[i] + key[i % len(key)]) % 256
            box[i], box[j] = box[j], box[i]
        i = j = 0
        out = bytearray(len(data))
        for n in range(len(data)):
            i = (i + 1) % 256
            j = (j + box[i]) % 256
            box[i], box[j] = box[j], box[i]
            out[n] = data[n] ^ box[(box[i] + box[j]) % 256]
        return out

    return rc4, [(bytearray(b"Key"), bytearray(b"Plaintext")), (bytearray(b"abc"), bytearray(9))], None


@program
def how_often_each_byte_comes() -> Any:
    def f(data):
        counts = array.array("l", bytes(8 * 256))
        for byte in data:
            counts[byte] += 1
        return counts[97], max(counts), sum(counts)

    return f, [(bytearray(b"banana"),), (bytearray(b"bandit"),)], None


@program
def a_ring_of_samples() -> Any:
    """A recorder that overwrites the oldest."""

    class Recorder:
        def __init__(self):
            self.samples, self.at = array.array("f", [0.0] * 4), 0

        def put(self, x):
            self.samples[self.at] = x
            self.at = (self.at + 1) % len(self.samples)
            return sum(self.samples) / len(self.samples)

    r = Recorder()
    return r.put, [(1.1,), (2.5,), (-0.3,), (4.0,), (5.0,)], lambda: (list(r.samples), r.at)


@program
def a_message_is_put_together() -> Any:
    def f(kind, values):
        message = bytearray(4)
        message[0] = kind
        message[1] = len(values)
        for v in values:
            message.append(v & 255)
        message[2] = sum(message) % 256
        return bytes(message), message.hex()

    return f, [(1, [5, 6]), (2, [255, 300]), (3, [1, 2])], None


@program
def a_board_in_bytes() -> Any:
    """Conway's game on a bytearray that the caller keeps."""
    side = 6
    board = bytearray(side * side)
    for place in (8, 14, 20):
        board[place] = 1

    def step(n):
        for _ in range(n):
            old = bytes(board)
            for r in range(side):
                for c in range(side):
                    alive = 0
                    for dr in (-1, 0, 1):
                        for dc in (-1, 0, 1):
                            alive += old[(r + dr) % side * side + (c + dc) % side]
                    here = old[r * side + c]
                    board[r * side + c] = 1 if alive == 3 or (here and alive == 4) else 0
        return sum(board)

    return step, [(1,), (2,), (1,)], lambda: bytes(board)


@program
def results_with_their_hash() -> Any:
    def f(x, k):
        y = np.sort(x * k)
        digest = hashlib.sha256(y.tobytes())
        return {"values": y, "sha": digest.hexdigest()[:12], "short": digest.digest()[0]}

    return f, [(X, 1.0), (X, -2.0), (X + 1, 1.0)], None


@program
def parts_of_a_state_are_hashed() -> Any:
    state = {"w": np.ones(3), "step": 0, "hashes": []}

    def f(x):
        state["w"] = state["w"] * x
        state["step"] += 1
        h = hashlib.md5(b"state")
        h.update(str(state["step"]).encode())
        h.update(state["w"].tobytes())
        state["hashes"].append(h.hexdigest())
        return h.name, h.digest_size

    return f, [(1.5,), (0.5,), (1.5,)], lambda: state


@program
def check_sums_of_arrays() -> Any:
    def f(x):
        raw = x.astype(np.float32).tobytes()
        return zlib.crc32(raw), zlib.adler32(raw, 5), binascii.crc32(raw[4:]) & 0xFFFF, len(raw), raw[0]

    return f, [(X,), (X * 3,), (X[:4],)], None


@program
def bytes_seen_as_numbers_and_back() -> Any:
    def f(x, k):
        raw = bytearray(x.tobytes())
        raw[k] ^= 0x80
        flipped = np.frombuffer(bytes(raw), float)
        words = np.frombuffer(x.tobytes(), np.uint16, count=4, offset=8)
        return (
            flipped * 1.0,
            words.sum(),
            flipped.flags.writeable,
            bytes(raw[:3]),
            raw == bytearray(x.tobytes()),
        )

    return f, [(X, 7), (X, 15), (X + 1, 0)], None


@program
def the_callers_buffer_is_filled() -> Any:
    def f(buffer, x):
        a = np.frombuffer(buffer, float)
        a[1:] = x * a[:-1] + 1
        return a.sum(), len(buffer)

    return f, [(bytearray(32), 2.0), (bytearray(32), 3.0), (bytearray(16), 2.0)], None


@program
def one_buffer_by_two_names() -> Any:
    def f(a, b, k):
        a[0] = k
        b[1] = a[0] + b[0]
        return a is b, a[1], b[0]

    one = bytearray(b"ab")
    return f, [(one, one, 3), (one, bytearray(b"cd"), 4), (bytearray(b"xy"), one, 5)], lambda: one


@program
def bytes_that_do_not_fit() -> Any:
    def f(b, k):
        b[0] = k
        return b[0] * 2

    b = bytearray(2)
    return (
        f,
        [(b, 3), (b, 256), (b, -1), (array.array("b", [1]), 200), (array.array("b", [1]), 100)],
        lambda: b,
    )


@program
def a_position_beyond_the_buffer() -> Any:
    def f(b, k):
        total = 0
        for n in range(k):
            total += b[n]
            b[n] = n
        return total

    b = bytearray(b"0123")
    return f, [(b, 3), (b, 5), (b, 4)], lambda: b


@program
def a_buffer_in_a_branch() -> Any:
    def f(b, x):
        if x.sum() > 2.0:
            b[0] = 7
            note = bytes(b[:2])
        else:
            note = b"no"
            b[-1] = 9
        return note, b

    b = bytearray(b"abcd")
    return f, [(b, X), (b, X - 1), (b, X)], lambda: b


@program
def a_buffer_gets_longer_while_it_is_seen() -> Any:
    """Left to Python, which refuses it."""

    def f(b, x):
        a = np.frombuffer(b, np.uint8)
        b.append(1)
        return a.sum() * x

    return f, [(bytearray(2), 1.0), (bytearray(3), 2.0)], None


@program
def an_array_of_a_buffer_is_kept() -> Any:
    kept: list[Any] = []
    b = bytearray(b"abcd")

    def f(x):
        kept.append(np.frombuffer(b, np.uint8))
        b[0] += 1
        return x

    return f, [(1.0,), (2.0,)], lambda: [k.tolist() for k in kept]


@program
def text_of_a_buffer_that_is_written_later() -> Any:
    def f(b, n):
        first = b.hex()
        b[0] = n
        if n > 6:
            second = b.hex()
            b[1] = 1
        else:
            second = "none"
        b[0] = 0
        return first, second

    return f, [(bytearray(2), 5), (bytearray(2), 9)], None


@program
def a_buffer_is_put_in_the_place_of_another() -> Any:
    class Holder:
        """Has a buffer."""

    def f(n):
        holder.buffer[1] = n
        holder.buffer = bytearray(3)
        holder.buffer[0] = n
        entries["a"] = entries["a"] + array.array("i", [n])
        return holder.buffer

    holder, entries = Holder(), {"a": array.array("i", [1])}
    holder.buffer = bytearray(2)
    held = [holder.buffer, entries["a"]]
    return f, [(5,), (9,), (3,)], lambda: (holder, entries, held)


@program
def two_buffers_change_places() -> Any:
    class Holder:
        """Has two buffers."""

    def f(n):
        holder.a[0] = n
        holder.a, holder.b = holder.b, holder.a
        holder.a[1] = n + 1

    holder = Holder()
    holder.a, holder.b = bytearray(2), bytearray(2)
    held = [holder.a, holder.b]
    return f, [(5,), (9,)], lambda: (holder, held)


@program
def a_buffer_is_written_ahead_of_an_iterator() -> Any:
    def f(b, n):
        seen = []
        b[0] = n
        for k, v in enumerate(b):
            if k + 1 < len(b):
                b[k + 1] = v + 1
            seen.append(v)
        for v in b:
            seen.append(v)
            if len(b) < 5:
                b.append(n)
        items = iter(b)
        next(items)
        b[1] = 77
        return seen, next(items), list(b)

    return f, [(bytearray(3), 5), (bytearray(3), 9), (bytearray(4), 1)], None


@program
def numpys_booleans_are_no_bytes() -> Any:
    def f(b, x):
        b[0] = x > 1
        return b[0]

    return f, [(bytearray(2), 2.0), (bytearray(2), np.float64(2.0)), (bytearray(2), np.float64(0.5))], None


@program
def bytes_are_compared_with_arrays() -> Any:
    def f(a, n):
        a[0] = n
        return bytes(a) == a, a == bytes(a), bytearray(a) == a, bytes(a) == bytearray(a)

    return f, [(array.array("B", [1, 2]), 1), (array.array("B", [1, 2]), 2)], None


@program
def bytes_are_added_to_arrays() -> Any:
    def f(a, n):
        a[0] = n
        return a + bytes(a)

    return f, [(array.array("B", [1, 2]), 1), (array.array("B", [1, 2]), 2)], None


@program
def a_buffer_gets_longer_by_a_condition() -> Any:
    def f(x):
        if x > 0:
            held.append(5)
        return len(held)

    held = bytearray(3)
    return f, [(1.0,), (-1.0,), (1.0,)], lambda: held


@program
def check_sums_go_on() -> Any:
    def f(x, y):
        total = zlib.crc32(x.tobytes())
        return zlib.crc32(y.tobytes(), total), zlib.crc32(b"end", total), zlib.adler32(x.tobytes(), total % 9)

    return f, [(X, X + 1), (X + 1, X)], None
