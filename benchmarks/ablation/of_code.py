"""The mechanisms of machine code and of calls: reductions, loops, LLVM, memory (see `mechanism`)."""

from __future__ import annotations

from typing import Any

from benchmarks.ablation.mechanism import Changed, Mechanism, gives

STENCIL_GRADS = ("2-D heat energy grad", "3-D Dirichlet energy grad", "programs: jacobi 2d grad")
NETWORKS = ("4-layer perceptron value and grad", "attention block grad", "two convolutions value and grad")


def _side_by_side(order: list[Any]) -> tuple[dict[Any, int], int]:
    """Offsets of buffers that share no space, and the bytes in all."""
    offsets, total = {}, 0
    for buffer in order:
        offsets[buffer] = total
        total += -(-max(1, buffer.size) * buffer.dtype.itemsize // 64) * 64
    return offsets, total


REDUCTIONS = (
    Mechanism(
        "eight rows at a time",
        "reductions down columns take in eight rows each time that the accumulators are read and written",
        ("lowering/emit/columns.py:_are_rows_of_arrays",),
        {"tracejit.lowering.emit.columns:_are_rows_of_arrays": gives(False)},
        ("sum over axis 0", "sum over axis 0 @large f4", "sum over axis 0 @large f8"),
    ),
    Mechanism(
        "narrow columns",
        "a few columns have an accumulator each, in registers",
        ("lowering/emit/columns.py:_is_narrow", "lowering/emit/columns.py:_emit_narrow_columns"),
        {"tracejit.lowering.emit.columns:_is_narrow": gives(False)},
        (
            "n-body",
            "n-body grad",
            "programs: leapfrog grad",
            "sum of narrow rows",
        ),
    ),
    Mechanism(
        "columns in parts",
        "threads share the rows of reductions down columns",
        ("lowering/emit/columns.py:_rows_of_a_part", "lowering/emit/columns.py:_emit_parts"),
        {"tracejit.lowering.emit.columns:_rows_of_a_part": gives(None)},
        (
            "sum over axis 0 @large f8",
            "sum over axis 0 @large f4",
            "sum of exp over axis 0",
            "sum of exp over axis 0 @large f8",
        ),
        "threads; results are the same at every number of them",
        threads=2,
    ),
    Mechanism(
        "search of extremes",
        "the position of an extreme is searched after its value",
        ("lowering/emit/accumulate.py:Search",),
        {"tracejit.lowering.emit.reduce:_is_long": gives(False)},
        ("argmax of rows", "argmax @large f8"),
    ),
    Mechanism(
        "kept rows",
        "what is costly and read in several passes over a row is kept for it",
        ("lowering/emit/reduce.py:_row_buffer",),
        {"tracejit.lowering.emit.reduce:_EXPENSIVE": 10**9},
        (
            "softmax",
            "attention block grad",
            "Gaussian mixture value and grad",
        ),
    ),
    Mechanism(
        "sums in parts",
        "a reduction of everything is done in parts that threads share",
        ("lowering/emit/parts.py:Parts", "lowering/emit/parts.py:is_worth_parts"),
        {"tracejit.lowering.emit.reduce:is_worth_parts": gives(False)},
        ("sum over axis None @large f8", "logsumexp @large f8"),
        "threads; results are the same at every number of them",
        threads=2,
    ),
    Mechanism(
        "small products by loops",
        "small matrix products and products by vectors are loops, without a call of BLAS",
        ("lowering/emit/contract.py:_gemv_by_loops",),
        {"tracejit.lowering.emit.contract:_CACHED": 0, "tracejit.lowering.emit.products:TINY": 0},
        (
            "LSTM",
            "conjugate gradients",
            "minimum by gradient descent",
            "programs: power iteration",
            "Kalman filter",
        ),
    ),
    Mechanism(
        "packed parts",
        "matrices that have to be copied for BLAS are copied part by part, so that these stay in the cache",
        ("lowering/emit/contract.py:_pays_in_parts",),
        {"tracejit.lowering.emit.contract:_pays_in_parts": gives(False)},
        ("two convolutions value and grad @large f8", "two convolutions value and grad @large f4"),
    ),
)

CODE = (
    Mechanism(
        "shared instructions",
        "equal instructions of the loop IR are recorded once",
        ("lowering/loops/hoist.py:_key",),
        {"tracejit.lowering.loops.hoist:_key": Changed(lambda f: lambda x: object())},
        ("2-D heat step", "3-D Laplacian", "programs: lattice boltzmann"),
        "compile time: LLVM finds the same",
    ),
    Mechanism(
        "invariant instructions",
        "instructions of the loop IR go to the outermost loop in which their operands are known",
        ("lowering/loops/hoist.py:Recorder.home", "lowering/loops/hoist.py:Recorder.place"),
        {"tracejit.lowering.loops.hoist:Recorder.home": lambda self, depth, trapping=False: self.depth},
        ("2-D heat step", "programs: lu", "n-body @large f8", "Gauss-Seidel, 4 sweeps"),
    ),
    Mechanism(
        "sizes as parameters",
        "programs that differ in large sizes only share machine code",
        ("lowering/loops/extents.py",),
        {"tracejit.lowering.fuse:pass_sizes": gives(None)},
        ("another size", "2-D heat step", "softmax"),
    ),
    Mechanism(
        "arena sharing",
        "buffers whose lifetimes do not overlap share space",
        ("lowering/loops/memory.py",),
        {
            "tracejit.lowering.loops.memory:_first_fit": lambda order, spans, in_time=False: _side_by_side(
                order
            )
        },
        (*NETWORKS, "4-layer perceptron value and grad @large f4", "programs: lattice boltzmann"),
    ),
    Mechanism(
        "alias scopes",
        "LLVM is told which buffers cannot overlap",
        ("lowering/llvm/alias.py:Scopes",),
        {"tracejit.lowering.llvm.alias:Scopes.enter": gives(None)},
        (
            "n-body grad",
            "programs: upwind grad",
            "3-D Laplacian",
            "bundle adjustment, 2x14 blocks",
            "programs: adi",
        ),
    ),
    Mechanism(
        "streams",
        "large results go past the cache",
        ("lowering/llvm/streams.py",),
        {"tracejit.lowering.fuse:choose_streams": gives(None)},
        ("sqrt @large f8", "exp @large f8", "2-D heat step @large f8", "Black-Scholes price @large f8"),
    ),
    Mechanism(
        "ahead",
        "loops over large arrays that compute much ask for lines before they read them",
        ("lowering/llvm/ahead.py",),
        {"tracejit.lowering.llvm.ahead:is_worth": gives(False)},
        ("exp @large f8", "tan @large f8", "power @large f8", "Black-Scholes price @large f8"),
        "Intel's server processors: exp of 32 MB took 2.2 ns an element on a Granite Rapids without and 0.7 with it",
    ),
    Mechanism(
        "interleave",
        "several vectors at once where an iteration is a long chain",
        ("lowering/llvm/interleave.py",),
        {"tracejit.lowering.llvm.body:vectors_at_once": gives(0)},
        ("Black-Scholes price", "logaddexp", "max over axis 1", "power", "arcsinh"),
    ),
    Mechanism(
        "functions out of line",
        "vector functions that are called at many places are compiled once",
        ("lowering/llvm/vecmath/outline.py", "lowering/llvm/vecmath/library.py"),
        {"tracejit.lowering.llvm.vecmath.outline:BUDGET": 10**9},
        ("300 operations grad", "Gaussian mixture value and grad", "Black-Scholes Greeks grad"),
        "compile time",
    ),
    Mechanism(
        "no vectors among many scalars",
        "LLVM does not pack the scalars of loops that carry many into vectors",
        ("lowering/llvm/cpu.py:_PACKED",),
        {"tracejit.lowering.llvm.cpu:_PACKED": 10**9},
        ("12 scalar leaves grad", "60 scalar leaves grad", "60 scalar leaves"),
        "compile time",
    ),
    Mechanism(
        "no unswitching",
        "LLVM does not write loops again for each outcome of uniform tests",
        ("lowering/runtime/compile.py:_UNSWITCHING",),
        {"tracejit.lowering.llvm.cpu:UNIFORM_TESTS": "!nothing = !{}"},
        STENCIL_GRADS,
        "compile time",
    ),
    Mechanism(
        "no strength reduction",
        "LLVM does not choose anew what addresses are computed from",
        ("lowering/runtime/compile.py:_LOOP_STRENGTH_REDUCTION",),
        {"tracejit.lowering.runtime.compile:_LOOP_STRENGTH_REDUCTION": ("-disable-lsr=false",) * 2},
        (*STENCIL_GRADS[:2], "programs: lattice boltzmann", "LU by fori_loop grad"),
        "compile time",
    ),
    Mechanism(
        "no sums of scalars",
        "LLVM does not search for sums of scalars",
        ("lowering/runtime/compile.py:_SUMS_OF_SCALARS",),
        {"tracejit.lowering.runtime.compile:_SUMS_OF_SCALARS": ("-slp-vectorize-hor=true",) * 2},
        ("3x3 matrix carry grad", "Kalman filter grad", "Lorenz RK4, vector state grad"),
        "compile time",
    ),
    Mechanism(
        "threads",
        "loops are shared among threads",
        ("lowering/loops/parallel.py", "lowering/llvm/chunks.py", "lowering/runtime/threads.py"),
        {"tracejit.lowering.fuse:parallelise": gives(None)},
        ("exp @large f8", "Black-Scholes price @large f8", "3-D Laplacian @large f8"),
        "two threads are measured; on one it costs and gains nothing",
        threads=2,
    ),
)

RUNTIME = (
    Mechanism(
        "fast path",
        "a call like an earlier one goes through one generated function",
        ("api/jit/fastpath.py",),
        {"tracejit.api.jit.jitted:fast_call": gives(None)},
        ("call with 1 array", "call with a tree", "captured array"),
    ),
    Mechanism(
        "native shell",
        "native code checks the arguments and makes the results",
        ("lowering/runtime/shell.py", "lowering/runtime/shell_text.py", "lowering/runtime/shell_numbers.py"),
        {"tracejit.lowering.runtime.shell:_KNOWN": False},
        ("call with 1 array", "call with 8 arrays", "call with numbers"),
    ),
    Mechanism(
        "results from the pool",
        "memory of large results is kept for the next call",
        ("lowering/runtime/results.py",),
        {"tracejit.lowering.runtime.results:LEAST": 1 << 62},
        ("exp", "exp @large f8", "3-D Laplacian @large f8", "several large results"),
    ),
    Mechanism(
        "pool",
        "blocks that native code asks for are kept for the next call",
        ("lowering/runtime/pool.py",),
        {"tracejit.lowering.runtime.pool:LIMIT": 0},
        ("adaptive Runge-Kutta grad", "programs: flood fill", "exp @large f8"),
    ),
    Mechanism(
        "kept arenas",
        "scratch memory is kept for the next call",
        ("lowering/runtime/arena.py",),
        {"tracejit.lowering.runtime.arena:Arena.give": gives(None)},
        (
            "Thomas solve grad @large f8",
            "k-means cost grad @large f8",
            "Gaussian mixture value and grad @large f8",
        ),
    ),
)
