"""Image filters, pixel by pixel."""

import math

import numpy as np

from examples.programs import program


def picture(rng, n):
    return (rng.uniform(0, 255, size=(n, n + 1)),)


@program(picture)
def median_filter(image):
    """The middle one of nine pixels; the edge stays as it is."""
    rows, columns = image.shape
    out = image.copy()
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            window = image[i - 1 : i + 2, j - 1 : j + 2].flatten()
            window.sort()
            out[i, j] = window[4]
    return out


@program(lambda rng, n: (*picture(rng, n), 2, 1.5, 60.0), wrt=(0,))
def bilateral_filter(image, radius, sigma_space, sigma_value):
    rows, columns = image.shape
    out = np.zeros_like(image)
    for i in range(rows):
        for j in range(columns):
            total = 0.0
            weight_sum = 0.0
            for a in range(max(i - radius, 0), min(i + radius + 1, rows)):
                for b in range(max(j - radius, 0), min(j + radius + 1, columns)):
                    near = ((a - i) ** 2 + (b - j) ** 2) / (2 * sigma_space**2)
                    alike = (image[a, b] - image[i, j]) ** 2 / (2 * sigma_value**2)
                    weight = math.exp(-near - alike)
                    total += weight * image[a, b]
                    weight_sum += weight
            out[i, j] = total / weight_sum
    return np.mean(out**2) / 1e4


@program(lambda rng, n: (rng.normal(size=(n, n + 2)), 0.25), wrt=(0,))
def deriche(img, alpha):
    """An edge detector of recursions to the right, left, down and up."""
    w, h = img.shape
    k = (1 - np.exp(-alpha)) ** 2 / (1 + alpha * np.exp(-alpha) * 2 - np.exp(2 * alpha))
    a1 = a5 = k
    a2 = a6 = k * np.exp(-alpha) * (alpha - 1)
    a3 = a7 = k * np.exp(-alpha) * (alpha + 1)
    a4 = a8 = -k * np.exp(-2 * alpha)
    b1 = 2.0 ** (-alpha)
    b2 = -np.exp(-2 * alpha)
    y1 = np.empty_like(img)
    y2 = np.empty_like(img)
    y1[:, 0] = a1 * img[:, 0]
    y1[:, 1] = a1 * img[:, 1] + a2 * img[:, 0] + b1 * y1[:, 0]
    for j in range(2, h):
        y1[:, j] = a1 * img[:, j] + a2 * img[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
    y2[:, -1] = 0.0
    y2[:, -2] = a3 * img[:, -1]
    for j in range(h - 3, -1, -1):
        y2[:, j] = a3 * img[:, j + 1] + a4 * img[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
    out = y1 + y2
    y1[0, :] = a5 * out[0, :]
    y1[1, :] = a5 * out[1, :] + a6 * out[0, :] + b1 * y1[0, :]
    for i in range(2, w):
        y1[i, :] = a5 * out[i, :] + a6 * out[i - 1, :] + b1 * y1[i - 1, :] + b2 * y1[i - 2, :]
    y2[-1, :] = 0.0
    y2[-2, :] = a7 * out[-1, :]
    for i in range(w - 3, -1, -1):
        y2[i, :] = a7 * out[i + 1, :] + a8 * out[i + 2, :] + b1 * y2[i + 1, :] + b2 * y2[i + 2, :]
    out[:] = y1 + y2
    return np.sum(out * out)


@program(lambda rng, n: (rng.integers(0, 2, size=(n, n)), n // 2, n // 2, 7))
def flood_fill(image, row, column, colour):
    """With a stack of pixels; says how many were painted."""
    old = image[row, column]
    if old == colour:
        return 0
    stack = np.zeros((4 * image.size, 2), dtype=np.int64)
    stack[0] = row, column
    top = 1
    painted = 0
    while top > 0:
        top -= 1
        i, j = stack[top]
        if i < 0 or j < 0 or i >= image.shape[0] or j >= image.shape[1] or image[i, j] != old:
            continue
        image[i, j] = colour
        painted += 1
        for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            stack[top] = i + di, j + dj
            top += 1
    return painted


@program(lambda rng, n: (rng.integers(0, 256, size=(n, n)).astype(np.uint8),))
def otsu_threshold(image):
    """The grey level that separates the histogram best; the picture becomes black and white."""
    counts = np.zeros(256, dtype=np.int64)
    np.add.at(counts, image.ravel(), 1)
    total = (counts * np.arange(256)).sum()
    below = 0
    weight = 0
    best, level = -1.0, 0
    for t in range(256):
        weight += counts[t]
        if weight == 0:
            continue
        rest = image.size - weight
        if rest == 0:
            break
        below += t * counts[t]
        between = weight * rest * (below / weight - (total - below) / rest) ** 2
        if between > best:
            best, level = between, t
    image[image > level] = 255
    image[image <= level] = 0
    return level


@program(lambda rng, n: (rng.uniform(0, 1, size=(n, 2 * n)),), wrt=(0,))
def error_diffusion(image):
    """Floyd and Steinberg's dithering, rows by turns from the left and from the right, with a soft step."""
    rows, columns = image.shape
    out = np.empty(image.shape)
    for i in range(rows):
        ahead = 1 if i % 2 == 0 else -1
        for k in range(columns):
            j = k if ahead == 1 else columns - 1 - k
            out[i, j] = 1 / (1 + np.exp(-8 * (image[i, j] - 0.5)))
            error = image[i, j] - out[i, j]
            for di, dj, share in ((0, ahead, 7), (1, -ahead, 3), (1, 0, 5), (1, ahead, 1)):
                if i + di < rows and 0 <= j + dj < columns:
                    image[i + di, j + dj] += error * share / 16
    return np.sum(out**2)
