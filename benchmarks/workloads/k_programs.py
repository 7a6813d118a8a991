"""The NumPy programs of examples/programs, unchanged: beside NumPy, Numba on the same source (or on loops where it does
not take that), and JAX in two forms. Their results are compared first.

Arguments are copied at every call by everyone, since many programs write into them. Not here: five programs
that are over before a call is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import in_jax, in_numba
from benchmarks.in_jax import best, loops
from benchmarks.registry import WORKLOADS, Workload
from examples.programs import PROGRAMS, Program

#: Sizes at which NumPy needs some 5 to 50 ms.
SIZES = {
    "adaptive_filter": 1024,
    "adi": 128,
    "american_put": 256,
    "arc_lengths": 4096,
    "asian_option": 128,
    "autocorrelation": 128,
    "bilateral_filter": 32,
    "biquad_cascade": 4096,
    "bit_flipping": 256,
    "call_options": 4096,
    "cavity_flow": 128,
    "cholesky": 64,
    "clipped_mean": 4096,
    "components": 4096,
    "conjugate_gradient": 256,
    "convolution": 64,
    "crank_nicolson": 2048,
    "crc16": 4096,
    "deriche": 512,
    "dijkstra": 256,
    "durbin": 256,
    "ensemble_statistics": 128,
    "error_diffusion": 64,
    "escape_times": 4096,
    "exponential_filter": 4096,
    "far_and_near_forces": 32,
    "fdtd_2d": 256,
    "fft_butterflies": 4096,
    "flood_fill": 128,
    "floyd_warshall": 32,
    "floyd_warshall_rows": 128,
    "full_convolution": 128,
    "game_of_life": 256,
    "gauss_with_pivots": 128,
    "gift_wrapping": 512,
    "gmres": 128,
    "gramschmidt": 64,
    "haar_wavelet": 4096,
    "hamming_syndromes": 16,
    "heat_3d": 32,
    "histogram": 4096,
    "householder_least_squares": 128,
    "insertion_sort": 1024,
    "ising": 64,
    "jacobi_2d": 256,
    "jacobi_svd": 32,
    "kalman": 512,
    "kernel_density": 128,
    "kmeans": 128,
    "knapsack": 128,
    "laplace_until_converged": 64,
    "lasso": 32,
    "lattice_boltzmann": 128,
    "leapfrog": 128,
    "levenshtein": 256,
    "linear_congruence": 1024,
    "longest_rise": 4096,
    "lu": 64,
    "ludcmp": 64,
    "mandelbrot": 256,
    "median_filter": 128,
    "nearest_distances": 64,
    "needleman_wunsch": 256,
    "newton_fractal": 128,
    "nussinov": 64,
    "otsu_threshold": 512,
    "pagerank": 128,
    "pair_energy": 128,
    "pendulum_path": 512,
    "pattern_positions": 4096,
    "plasma": 256,
    "power_iteration": 256,
    "quicksort": 2048,
    "red_black_relaxation": 64,
    "rule_automaton": 1024,
    "runge_kutta_fehlberg": 8,
    "seidel_2d": 64,
    "sieve": 1024,
    "spmv": 512,
    "spmv_rows": 512,
    "thomas": 1024,
    "trisolv": 512,
    "tracking": 128,
    "upwind": 1024,
    "viterbi": 2048,
}
AVOID = {"torch": "unrolls loops", "autograd": "does not take updates in place"}


def on_copies(p: Program) -> Callable[..., Any]:
    """The program as a workload."""

    def fn(lib: Any, *args: Any) -> Any:
        return p.f(*[np.copy(a) if isinstance(a, np.ndarray) else a for a in args])

    fn.__name__ = p.f.__name__
    return fn


def rows(name: str, size: int) -> list[Workload]:
    """Forward, and the gradient where there is a JAX form."""
    p = PROGRAMS[name]
    by_hand = {"numba": in_numba.prepared(p.f)}
    for peer, forms in (("jax", best), ("jax loops", loops)):
        if hasattr(forms, name):
            by_hand[peer] = in_jax.prepared(getattr(forms, name), p.wrt)
    options: dict[str, Any] = {
        "fn": on_copies(p),
        "make": lambda rng, dtype, n: p.make(rng, n),
        "sizes": {"middle": {"n": size}},
        "dtypes": ("f8",),
        "static": p.static,
        "argnums": p.wrt,
        "by_hand": by_hand,
        "avoid": AVOID | ({} if "jax" in by_hand else {"jax": "not written for JAX"}),
    }
    modes = ("forward", "grad") if p.wrt and hasattr(loops, name) else ("forward",)
    return [Workload(f"programs: {name.replace('_', ' ')}", "programs", mode=m, **options) for m in modes]


for _name, _size in SIZES.items():
    WORKLOADS.extend(rows(_name, _size))
