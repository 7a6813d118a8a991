"""
A transformer that writes
=========================

Two blocks of attention learn to continue a text, one character after the other.
"""

import matplotlib.pyplot as plt
import numpy as np

import tracejit as tj
from tracejit import nn, optim

text = "the wind wound round the round tower, and the round tower wound the wind around the town. " * 20
letters = sorted(set(text))
codes = np.array([letters.index(c) for c in text])
width, length, heads = 32, 32, 4


class Block(nn.Module):
    """What each place knows, with what it takes from those before it, and a network on that."""

    first: nn.LayerNorm
    attention: nn.MultiHeadAttention
    second: nn.LayerNorm
    network: nn.MLP

    def __call__(self, x):
        x = x + self.attention(self.first(x))
        return x + self.network(self.second(x))


class Writer(nn.Module):
    letters: nn.Embedding
    places: np.ndarray
    blocks: list
    out: nn.Linear

    def __call__(self, codes):
        """The logits of what comes after each place of `codes` (batch, length)."""
        x = self.letters(codes) + self.places[: codes.shape[-1]]
        for block in self.blocks:
            x = block(x)
        return self.out(x)


keys = iter(tj.random.split(tj.random.key(0), 12))
writer = Writer(
    nn.Embedding(len(letters), width, key=next(keys)),
    0.02 * np.random.default_rng(1).normal(size=(length, width)),
    [
        Block(
            nn.LayerNorm(width),
            nn.MultiHeadAttention(width, heads, causal=True, key=next(keys)),
            nn.LayerNorm(width),
            nn.MLP([width, 2 * width, width], nn.gelu, key=next(keys)),
        )
        for _ in range(2)
    ],
    nn.Linear(width, len(letters), key=next(keys)),
)


def loss(writer, codes):
    return nn.cross_entropy(writer(codes[:, :-1]), codes[:, 1:])


method = optim.chain(optim.clip_by_global_norm(1.0), optim.adamw(3e-3, weight_decay=1e-4))


@tj.jit
def improve(writer, state, codes):
    value, slope = tj.value_and_grad(loss)(writer, codes)
    updates, state = method.update(slope, state, writer)
    return optim.apply_updates(writer, updates), state, value


state, curve, rng = method.init(writer), [], np.random.default_rng(0)
for _ in range(250):
    begin = rng.integers(0, len(codes) - length - 1, 16)
    batch = codes[begin[:, None] + np.arange(length + 1)]
    writer, state, value = improve(writer, state, batch)
    curve.append(value)


# %%
# It writes: the most likely character goes behind the others, and so on.

logits = tj.jit(lambda writer, codes: writer(codes[None])[0, -1])
written = list(codes[:length])
for _ in range(60):
    written.append(int(np.argmax(logits(writer, np.array(written[-length:])))))
answer = "".join(letters[c] for c in written[length:])
print(text[:length], "...", answer)
print(f"loss {curve[0]:.2f} -> {curve[-1]:.3f}")
assert curve[-1] < 0.5

plt.figure(figsize=(7, 3))
plt.semilogy(curve)
plt.xlabel("step")
plt.title("cross-entropy of the next character")
plt.show()
