"""Fourier and cosine transforms, through NumPy and SciPy.

In comes an array with the axes to transform, and out goes its transform along them. Read `fft`, then `cosine`,
which follows the same pattern.
"""
