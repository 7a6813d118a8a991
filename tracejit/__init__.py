"""tracejit: a tracing JIT with composable function transformations for NumPy programs.

    import tracejit as tj

Write plain NumPy; `tj.jit`, `tj.grad`, `tj.vmap` and their friends run it, differentiate it, batch it and
compile it, in any nesting.
"""

from tracejit.startup import without_collection

with without_collection():
    from tracejit import (
        ad_checkpoint,
        custom_batching,
        custom_derivatives,
        debug,
        dtypes,
        extend,
        lax,
        nn,
        numpy,
        ops,
        random,
        scipy,
        test_util,
        tree,
    )
    from tracejit.api.batching import vmap
    from tracejit.api.derivatives import grad, jvp, linearize, value_and_grad, vjp
    from tracejit.api.explain import explain
    from tracejit.api.introspect import (
        ShapeDtypeStruct,
        block_until_ready,
        checking_leaks,
        disable_jit,
        eval_shape,
        make_jaxpr,
    )
    from tracejit.api.jacobians import hessian, hvp, jacfwd, jacrev, linear_transpose
    from tracejit.api.jitted import clear_caches, jit
    from tracejit.api.residuals import print_saved_residuals
    from tracejit.api.sparse import jacobian
    from tracejit.api.taylor import jet
    from tracejit.config import config
    from tracejit.control.callbacks import io_callback, pure_callback
    from tracejit.control.checkpoint import checkpoint, checkpoint_policies, remat
    from tracejit.control.custom import closure_convert, custom_gradient, custom_jvp, custom_vjp
    from tracejit.errors import TracejitError
    from tracejit.version import __version__

__all__ = [
    "ShapeDtypeStruct",
    "TracejitError",
    "ad_checkpoint",
    "block_until_ready",
    "checking_leaks",
    "checkpoint",
    "checkpoint_policies",
    "clear_caches",
    "closure_convert",
    "config",
    "custom_batching",
    "custom_derivatives",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug",
    "disable_jit",
    "dtypes",
    "eval_shape",
    "explain",
    "extend",
    "grad",
    "hessian",
    "hvp",
    "io_callback",
    "jacfwd",
    "jacrev",
    "jacobian",
    "jet",
    "jit",
    "jvp",
    "lax",
    "linear_transpose",
    "linearize",
    "make_jaxpr",
    "nn",
    "numpy",
    "ops",
    "pure_callback",
    "print_saved_residuals",
    "random",
    "remat",
    "scipy",
    "test_util",
    "tree",
    "value_and_grad",
    "vjp",
    "vmap",
]
