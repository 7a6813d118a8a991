"""SciPy's functions for traced arrays, with their names: `fft`, `linalg`, `signal`, `special`, `stats`."""

from tracejit.scipy import fft, linalg, signal, special, stats

__all__ = ["fft", "linalg", "signal", "special", "stats"]
