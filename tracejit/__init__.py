"""tracejit: a tracing JIT with composable function transformations for NumPy programs.

    import tracejit as tj

Write plain NumPy; `tj.jit`, `tj.grad`, `tj.vmap` and their friends run it, differentiate it, batch it and
compile it, in any nesting.
"""

from tracejit import lax, numpy, ops, tree
from tracejit.api.batching import vmap
from tracejit.api.derivatives import grad, jvp, linearize, value_and_grad, vjp
from tracejit.api.explain import explain
from tracejit.api.introspect import (
    ShapeDtypeStruct,
    block_until_ready,
    disable_jit,
    eval_shape,
    make_jaxpr,
)
from tracejit.api.jacobians import hessian, hvp, jacfwd, jacrev, linear_transpose
from tracejit.api.jitted import jit
from tracejit.config import config
from tracejit.control.checkpoint import checkpoint, checkpoint_policies, remat
from tracejit.control.custom import custom_jvp, custom_vjp
from tracejit.errors import TracejitError

__version__ = "0.1.0"

__all__ = [
    "ShapeDtypeStruct",
    "TracejitError",
    "block_until_ready",
    "checkpoint",
    "checkpoint_policies",
    "config",
    "custom_jvp",
    "custom_vjp",
    "disable_jit",
    "eval_shape",
    "explain",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "lax",
    "linear_transpose",
    "linearize",
    "make_jaxpr",
    "numpy",
    "ops",
    "remat",
    "tree",
    "value_and_grad",
    "vjp",
    "vmap",
]
