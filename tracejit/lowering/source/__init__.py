"""Programs as Python files: the loop IR printed as functions that Numba compiles.

In comes a `Lowered`, out goes the text of a file that needs `numpy` and `numba` only (and SciPy where it calls BLAS,
LAPACK or special functions): `module.file_of` is the whole file, `body.Writer` the statements of the program,
`straight` and `scalars` their expressions, `functions` the vector functions, `prelude` the few LLVM instructions for
which Python has no spelling. The file computes what the LLVM target computes, operation by operation; read `scalars`
first. `cuda` prints programs of one nest as kernels of Numba's CUDA. `runtime.printed` loads a file and calls it.
"""

from typing import TYPE_CHECKING

from tracejit.lazily import parts

if TYPE_CHECKING:
    from tracejit.lowering.source import cuda, module

__getattr__, __dir__ = parts(__name__, ["cuda", "module"])
