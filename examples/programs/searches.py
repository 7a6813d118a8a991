"""Alignments, codes, automata, clusters, sorting."""

import numpy as np

from examples.programs import program


@program(lambda rng, n: (rng.integers(0, 4, size=n), rng.integers(0, 4, size=n + 3), 2, -1, -2))
def needleman_wunsch(a, b, match, mismatch, gap):
    """Score and alignment: pairs of positions from the end, -1 where there is a gap."""
    rows, columns = len(a) + 1, len(b) + 1
    score = np.zeros((rows, columns), dtype=np.int64)
    score[:, 0] = gap * np.arange(rows)
    score[0, :] = gap * np.arange(columns)
    for i in range(1, rows):
        for j in range(1, columns):
            diagonal = score[i - 1, j - 1] + (match if a[i - 1] == b[j - 1] else mismatch)
            score[i, j] = max(diagonal, score[i - 1, j] + gap, score[i, j - 1] + gap)
    aligned = np.full((rows + columns, 2), -1)
    i, j, length = rows - 1, columns - 1, 0
    while i > 0 or j > 0:
        same = i > 0 and j > 0 and a[i - 1] == b[j - 1]
        if i > 0 and j > 0 and score[i, j] == score[i - 1, j - 1] + (match if same else mismatch):
            i, j = i - 1, j - 1
            aligned[length] = i, j
        elif i > 0 and score[i, j] == score[i - 1, j] + gap:
            i -= 1
            aligned[length, 0] = i
        else:
            j -= 1
            aligned[length, 1] = j
        length += 1
    return score[-1, -1], aligned, length


@program(lambda rng, n: ((rng.random((n, 2 * n)) < 0.3).astype(np.int64), rng.integers(0, 2, size=2 * n), 20))
def bit_flipping(checks, word, rounds):
    """Decodes by flipping the bit that fails most checks; whether all held, and after how many rounds."""
    word = word.copy()
    for k in range(rounds):
        failed = checks @ word % 2
        if not failed.any():
            return True, k, word
        votes = failed @ checks
        word[np.argmax(votes)] ^= 1
    return False, rounds, word


@program(lambda rng, n: (rng.integers(0, 2, size=4 * n).astype(np.uint8), 110, 12), static=(2,))
def rule_automaton(cells, rule, steps):
    """Wolfram's one-dimensional automata; all generations."""
    table = np.array([(rule >> k) & 1 for k in range(8)], dtype=np.uint8)
    history = np.zeros((steps + 1, len(cells)), dtype=np.uint8)
    history[0] = cells
    for t in range(steps):
        for i in range(len(cells)):
            left, here = history[t, i - 1], history[t, i]
            right = history[t, i + 1] if i + 1 < len(cells) else history[t, 0]
            history[t + 1, i] = table[4 * left + 2 * here + right]
    return history


@program(lambda rng, n: (rng.normal(size=(5 * n, 2)), rng.normal(size=(3, 2)), 50), tolerance=1e-11)
def kmeans(points, centres, limit):
    """Lloyd's iteration until no point changes its cluster."""
    label = np.full(len(points), -1)
    for iteration in range(limit):
        changed = 0
        for n, point in enumerate(points):
            distance = ((centres - point) ** 2).sum(axis=1)
            nearest = distance.argmin()
            if nearest != label[n]:
                label[n] = nearest
                changed += 1
        if changed == 0:
            break
        sums, counts = np.zeros_like(centres), np.zeros(len(centres))
        np.add.at(sums, label, points)
        np.add.at(counts, label, 1)
        for k in range(len(centres)):
            if counts[k] > 0:
                centres[k] = sums[k] / counts[k]
    return label, iteration


@program(lambda rng, n: (25, n, 2 * n), static=(1, 2))
def newton_fractal(limit, rows, columns):
    """Which root of z³ = 1 Newton's iteration finds, and how soon, with masks."""
    roots = np.exp(2j * np.pi * np.arange(3) / 3)
    z = np.linspace(-1.5, 1.5, columns) + 1j * np.linspace(-1, 1, rows)[:, None]
    root = np.full(z.shape, -1, dtype=np.int8)
    steps = np.zeros(z.shape, dtype=np.int64)
    for k in range(limit):
        active = root < 0
        if not np.any(active):
            break
        z[active] -= (z[active] ** 3 - 1) / (3 * z[active] ** 2)
        for n, r in enumerate(roots):
            found = active & (np.abs(z - r) < 1e-6)
            root[found] = n
            steps[found] = k + 1
    return root, steps


@program(lambda rng, n: (rng.normal(size=4 * n),))
def quicksort(x):
    """With a stack of its own."""
    stack = np.zeros((64, 2), dtype=np.int64)
    stack[0] = 0, len(x) - 1
    depth = 1
    while depth:
        depth -= 1
        lo, hi = stack[depth]
        if lo >= hi:
            continue
        pivot = x[(lo + hi) // 2]
        i, j = lo, hi
        while i <= j:
            while x[i] < pivot:
                i += 1
            while x[j] > pivot:
                j -= 1
            if i <= j:
                x[i], x[j] = x[j], x[i]
                i += 1
                j -= 1
        stack[depth], stack[depth + 1] = (lo, j), (i, hi)
        depth += 2
    return x


@program(lambda rng, n: (rng.integers(0, 2, size=8 * n), np.array([1, 0, 1])))
def pattern_positions(text, pattern):
    """Knuth, Morris and Pratt's search; how often the pattern is there, and where first."""
    m = len(pattern)
    failure = np.zeros(m, dtype=np.int64)
    k = 0
    for i in range(1, m):
        while k > 0 and pattern[k] != pattern[i]:
            k = failure[k - 1]
        if pattern[k] == pattern[i]:
            k += 1
        failure[i] = k
    count, first = 0, -1
    k = 0
    for i, c in enumerate(text):
        while k > 0 and pattern[k] != c:
            k = failure[k - 1]
        if pattern[k] == c:
            k += 1
        if k == m:
            count += 1
            if first < 0:
                first = i - m + 1
            k = failure[k - 1]
    return count, first


@program(lambda rng, n: (rng.normal(size=(3 * n, 2)),))
def gift_wrapping(points):
    """The corners of the convex hull, in order."""
    n = len(points)
    start = int(np.argmin(points[:, 0]))
    corners = np.full(n, -1)
    here, count = start, 0
    while True:
        corners[count] = here
        count += 1
        candidate = (here + 1) % n
        for k in range(n):
            (ax, ay), (bx, by) = points[candidate] - points[here], points[k] - points[here]
            if ax * by - ay * bx < 0:
                candidate = k
        here = candidate
        if here == start:
            return corners, count


@program(lambda rng, n: (rng.normal(size=(4 * n,)) * np.where(rng.random(4 * n) < 0.1, 30, 1), 3.0), wrt=(0,))
def clipped_mean(x, limit):
    """The mean without outliers: what is far from it is left out, until nothing more is."""
    keep = np.ones(len(x), dtype=bool)
    while True:
        kept = x[keep]
        centre, spread = kept.mean(), kept.std()
        new = np.abs(x - centre) <= limit * spread
        if np.array_equal(new, keep):
            return centre
        keep = new
