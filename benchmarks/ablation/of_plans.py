"""The mechanisms of programs: passes, derivatives, and what is stored where (see `mechanism`)."""

from __future__ import annotations

from typing import Any

from benchmarks.ablation.mechanism import Changed, Mechanism, gives, without
from tracejit.lowering.loops.ranges import ANY


def _pass(name: str, promise: str, *rows: str, serves: str = "") -> Mechanism:
    off = {"tracejit.passes.pipeline:PASSES": without(name)}
    return Mechanism(f"pass {name}", promise, (f"passes/{name}.py",), off, rows, serves)


def _of_nothing(f: Any) -> Any:
    """`settled_slices` that is asked about no residuals."""
    return lambda forward, residuals, *others: f(forward, (), *others)


STENCIL_GRADS = ("2-D heat energy grad", "3-D Dirichlet energy grad", "programs: jacobi 2d grad")
FACTORISATIONS = ("Cholesky by fori_loop grad", "LU by fori_loop grad", "Gram-Schmidt by fori_loop grad")
NETWORKS = ("4-layer perceptron value and grad", "attention block grad", "two convolutions value and grad")

PASSES = (
    _pass(
        "inline",
        "calls are replaced by what they call, so that later passes see one program",
        "softmax",
        *NETWORKS[:1],
    ),
    _pass(
        "dce",
        "what nobody needs is not computed; regions lose unused parts",
        *NETWORKS[:1],
        "Kalman filter grad",
        "programs: thomas grad",
    ),
    _pass(
        "loops",
        "constants enter the bodies of loops; carries that never change become constants",
        "Kalman filter grad",
        "programs: cholesky grad",
        "programs: leapfrog grad",
        "Mandelbrot, vmap of while_loop",
        "programs: nussinov",
    ),
    _pass(
        "simplify",
        "identities such as x * 1 = x",
        "Black-Scholes Greeks grad",
        "Kalman filter grad",
        *STENCIL_GRADS[:1],
        *NETWORKS[:1],
    ),
    _pass(
        "cse",
        "nothing is computed twice",
        "the same twice",
        "Black-Scholes Greeks grad",
        "HMC chain grad",
        "GRU grad",
    ),
    _pass(
        "chains",
        "products of several matrices in the order that multiplies least, with fastmath",
        "chain of products, fastmath",
    ),
    _pass(
        "layout",
        "products are written in the order in which they are read",
        "3x3 matrix carry grad",
        "attention block grad",
        "4-layer perceptron value and grad @large f4",
        "minimum by gradient descent grad",
    ),
    _pass(
        "products",
        "matrix products of a loop's rows that no step waits for leave the loop",
        "LSTM",
        "LSTM grad",
        "GRU",
    ),
    _pass(
        "hoist",
        "costly work that does not change in a loop is done before it",
        "programs: viterbi",
        "invariant work in a loop",
    ),
)

DERIVATIVES = (
    Mechanism(
        "residual slimming",
        "residuals that cheap operations make again from others are not kept",
        ("interpreters/autodiff/provenance.py",),
        {"tracejit.interpreters.autodiff.provenance:is_cheap": gives(False)},
        (
            "n-body grad",
            "programs: jacobi 2d grad",
            "programs: fdtd 2d grad",
            "programs: convolution grad",
            "minimum by gradient descent grad",
            "eager gradient of a network",
        ),
        "memory of eager gradients, and of the rows that loops keep",
    ),
    Mechanism(
        "settled slices",
        "parts of a carry that no later step writes are read from the final one instead of being kept",
        ("control/scan/settled.py",),
        {"tracejit.control.scan.linear:settled_slices": Changed(_of_nothing)},
        (
            "Cholesky by fori_loop grad",
            "LU by fori_loop grad",
            "Gram-Schmidt by fori_loop grad",
            "programs: durbin grad",
        ),
    ),
    Mechanism(
        "products leave backward loops",
        "cotangents that are sums of products over the steps are one product after the loop",
        ("control/scan/products.py",),
        {"tracejit.control.scan.transpose:defer_products": gives(None)},
        ("LSTM grad", "GRU grad", "LSTM grad @large f8"),
    ),
    Mechanism(
        "eager recipes",
        "eager derivatives of simple operations do not run their rules each time",
        ("interpreters/autodiff/recipes.py", "numpy/eager.py"),
        {"tracejit.interpreters.autodiff.recipes:recipe": gives(None)},
        (
            "eager gradient of 30 operations grad",
            "eager gradient of a network",
        ),
    ),
)

PLANNING = (
    Mechanism(
        "fusion",
        "values are computed where they are read instead of being stored",
        ("lowering/plan/schedule.py:Schedule._inline", "lowering/plan/schedule.py:Schedule._worth_repeating"),
        {"tracejit.lowering.plan.schedule:Schedule._inline": gives(False)},
        ("Black-Scholes price", "softmax", "2-D heat step", "programs: heat 3d"),
    ),
    Mechanism(
        "boxes",
        "a chain of updates of boxes is one nest",
        ("lowering/plan/boxes.py", "lowering/plan/chains.py", "lowering/emit/boxloops.py"),
        {"tracejit.lowering.plan.roots:find_chain": gives(None)},
        (
            "2-D heat energy grad",
            "3-D Dirichlet energy grad",
            "programs: jacobi 2d grad",
            "programs: fdtd 2d grad",
            "Rosenbrock grad",
        ),
    ),
    Mechanism(
        "updates are read back",
        "later readers of what an update writes find it where it was written",
        ("lowering/plan/roots.py:_read_back",),
        {"tracejit.lowering.plan.roots:_read_back": gives(None)},
        (
            "programs: american put",
            "programs: heat 3d",
            "programs: jacobi 2d",
        ),
    ),
    Mechanism(
        "relabelled reshapes",
        "a reshape whose operand can be computed in its result's storage has no code",
        ("lowering/plan/schedule.py:Schedule._relabel",),
        {"tracejit.lowering.plan.schedule:Schedule._relabel": gives(False)},
        (
            "100 variables hessian",
            "programs: gramschmidt grad",
            "sorted rows in a vector",
        ),
    ),
    Mechanism(
        "stored sources of views",
        "of elements that are repeated, one each is stored",
        ("lowering/plan/schedule.py:Schedule._store_source",),
        {"tracejit.lowering.plan.schedule:Schedule._store_source": gives(False)},
        (
            "weights of columns",
            "LU by fori_loop grad",
            "bundle adjustment, 2x14 blocks",
            "programs: lattice boltzmann",
        ),
    ),
    Mechanism(
        "updates in order",
        "an update may overwrite what its later iterations do not read any more",
        ("lowering/plan/planner.py:Planner._is_ahead",),
        {"tracejit.lowering.plan.planner:Planner._is_ahead": gives(False)},
        ("programs: american put", "programs: cavity flow"),
    ),
    Mechanism(
        "narrowed residuals",
        "of residuals that only a part is read of, that part is kept",
        ("control/regions/residuals.py:narrow",),
        {"tracejit.control.scan.linear:narrow": lambda forward, linear, count: (forward, linear)},
        ("HMC chain grad", "LU by fori_loop grad"),
    ),
    Mechanism(
        "no crossed reads",
        "several operands that a nest strides through are walked through once, in order, and their result moved",
        ("lowering/plan/schedule.py:Schedule._crosses",),
        {"tracejit.lowering.plan.schedule:Schedule._crosses": gives(False)},
        ("transposed expression", "transposed expression @large f8", "bundle adjustment, 2x14 blocks"),
    ),
    Mechanism(
        "no repeated costly reads",
        "what is costly is stored if an outer loop would compute it again",
        ("lowering/plan/schedule.py:Schedule._revisits",),
        {"tracejit.lowering.plan.schedule:Schedule._revisits": gives(False)},
        (
            "100 variables jacobian",
            "bundle adjustment, 2x14 blocks",
            "programs: lattice boltzmann",
            "programs: mandelbrot",
            "programs: householder least squares",
        ),
    ),
    Mechanism(
        "rotating carries",
        "blocks of a loop's carries take turns instead of being copied",
        (
            "lowering/emit/regions/carries.py:find_rotations",
            "lowering/emit/regions/carries.py:_chains",
            "lowering/emit/regions/carries.py:_copied",
            "lowering/emit/regions/carries.py:Carries._aim",
            "lowering/emit/regions/carries.py:Carries._settle",
            "lowering/emit/regions/carries.py:Carries._copy_back",
        ),
        {"tracejit.lowering.emit.regions.carries:find_rotations": gives([])},
        (
            "Jacobi, 20 sweeps",
            "programs: cavity flow",
            "programs: upwind grad",
            "programs: pagerank",
            "programs: durbin",
        ),
    ),
    Mechanism(
        "rows side by side",
        "rows of a loop that only other loops read lie in one block",
        ("lowering/emit/regions/rowblocks.py",),
        {"tracejit.lowering.emit.regions.control:place_rows": gives(None)},
        (
            "Lorenz RK4, 3 scalars grad",
            "12 scalar leaves grad",
            "60 scalar leaves grad",
            "Kalman filter grad",
            "Thomas solve grad",
        ),
    ),
    Mechanism(
        "spans of carries",
        "the ranges of integers that loops carry, so that indices need no check",
        ("lowering/emit/regions/spans.py",),
        {
            "tracejit.lowering.emit.regions.carries:of_carries": lambda inner, given, inits, entry: (
                [None] * len(inits),
                [None] * len(inits),
            )
        },
        (
            "programs: quicksort",
            "programs: insertion sort",
            "programs: needleman wunsch",
            "programs: longest rise",
            "programs: gauss with pivots",
            "programs: pattern positions",
        ),
    ),
    Mechanism(
        "what conditions say",
        "the condition of a while loop bounds the integers it is made of, and with them how often the loop runs",
        ("lowering/emit/regions/implied.py",),
        {"tracejit.lowering.emit.regions.control:entry_of": gives(None)},
        ("programs: insertion sort", "programs: quicksort", "programs: longest rise"),
    ),
    Mechanism(
        "comparisons of small integers",
        "in twice their bits, with what is known before the loop",
        ("lowering/loops/hoist.py:Recorder.compare", "lowering/loops/hoist.py:Recorder.cast"),
        {"tracejit.lowering.loops.hoist:_WIDER": {}},
        ("programs: otsu threshold",),
    ),
    Mechanism(
        "ranges of integers",
        "indices that are sure to be inside are not checked, sums that cannot overflow are known to be so",
        ("lowering/loops/ranges.py",),
        {"tracejit.lowering.loops.hoist:range_of_inst": gives(ANY)},
        (
            "programs: seidel 2d",
            "programs: levenshtein",
            "programs: floyd warshall",
            "programs: lu",
            "programs: spmv",
        ),
    ),
    Mechanism(
        "tiles",
        "nests that read across the grain run in blocks",
        ("lowering/emit/tiles.py",),
        {"tracejit.lowering.emit.tiles:_crossed_axis": gives(None)},
        (
            "transposed sum",
            "transposed sum @large f8",
        ),
    ),
    Mechanism(
        "checks in blocks",
        "elements that are checked are computed by blocks, which are vectorised",
        ("lowering/emit/checks.py",),
        {"tracejit.lowering.emit.checks:in_blocks": gives(False)},
        (
            "gather",
            "gather and square, its scatter-add grad",
            "Gaussian mixture value and grad",
            "programs: otsu threshold",
        ),
    ),
    Mechanism(
        "loop distribution",
        "functions of single iterations are computed as vectors, a block ahead of the sums and checks of their loop",
        ("lowering/loops/distribute.py",),
        {"tracejit.lowering.fuse:distribute": gives(None)},
        ("programs: call options", "programs: kernel density"),
    ),
    Mechanism(
        "join",
        "loops one after another over the same rows become one",
        ("lowering/loops/join.py",),
        {"tracejit.lowering.fuse:join_loops": gives(None)},
        (
            "gather",
            "gather @large f8",
            "bundle adjustment, 2x14 blocks",
        ),
    ),
    Mechanism(
        "join of loops",
        "of these, loops over rows",
        (
            "lowering/loops/join.py:_worth_joining",
            "lowering/loops/join.py:_follow",
            "lowering/loops/join.py:_Rows",
            "lowering/loops/join.py:_Ranges",
            "lowering/loops/join.py:_join",
        ),
        {"tracejit.lowering.loops.join:_worth_joining": gives([])},
        (
            "bundle adjustment, 2x14 blocks",
            "bundle adjustment, 2x14 blocks @large f8",
        ),
    ),
    Mechanism(
        "join of checked blocks",
        "of these, indices that are checked and what reads them",
        (
            "lowering/loops/join.py:_join_blocks",
            "lowering/loops/join.py:_is_flat",
            "lowering/loops/join.py:_ends",
        ),
        {"tracejit.lowering.loops.join:_join_blocks": gives(None)},
        ("gather", "gather @large f8", "gather and square, its scatter-add grad"),
    ),
)
