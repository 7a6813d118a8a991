"""tracejit: a tracing JIT with composable function transformations for NumPy programs.

    import tracejit as tj

Write plain NumPy; `tj.jit`, `tj.grad`, `tj.vmap` and their friends run it, differentiate it, batch it and
compile it, in any nesting.
"""

import importlib
import os
from typing import TYPE_CHECKING, Any

from tracejit.startup import without_collection

with without_collection():
    from tracejit import control, dtypes, errors, numpy, ops, tree
    from tracejit.api.autodiff.derivatives import grad, jvp, linearize, value_and_grad, vjp
    from tracejit.api.batching import vmap
    from tracejit.api.introspect import (
        ShapeDtypeStruct,
        block_until_ready,
        checking_leaks,
        disable_jit,
        eval_shape,
        make_jaxpr,
        typeof,
    )
    from tracejit.api.jit.bounded import clear_caches
    from tracejit.api.jit.jitted import jit
    from tracejit.config import config
    from tracejit.docstrings import complete
    from tracejit.errors import TracejitError
    from tracejit.ir.drawn import Drawn
    from tracejit.ir.primitive import REGISTRY
    from tracejit.lazily import LazyModule, load, parts
    from tracejit.numpy import ndarray as Array
    from tracejit.version import __version__

if TYPE_CHECKING:
    from tracejit import (
        ad_checkpoint,
        custom_batching,
        custom_derivatives,
        debug,
        experimental,
        extend,
        flatten_util,
        image,
        lax,
        nn,
        optim,
        random,
        scipy,
        test_util,
        tree_util,
    )
    from tracejit.api.autodiff.jacobians import hessian, hvp, jacfwd, jacrev, linear_transpose
    from tracejit.api.autodiff.residuals import print_saved_residuals
    from tracejit.api.autodiff.sparse import jacobian
    from tracejit.api.autodiff.taylor import jet
    from tracejit.api.device.public import default_device, device_get, device_put, devices
    from tracejit.api.explain import explain
    from tracejit.api.exporting.public import export, load_exported, symbolic_shape
    from tracejit.api.foreign.printing import export_numba
    from tracejit.api.naming import (
        check_tracer_leaks,
        debug_infs,
        debug_nans,
        default_backend,
        effects_barrier,
        ensure_compile_time_eval,
        log_compiles,
        named_call,
        named_scope,
        process_count,
        process_index,
    )
    from tracejit.control.call.checkpoint import checkpoint, checkpoint_policies, remat
    from tracejit.control.callbacks.ops import io_callback, pure_callback
    from tracejit.control.custom.public import closure_convert, custom_gradient, custom_jvp, custom_vjp
    from tracejit.frontend.rewrite.hooks.progress import progress
    from tracejit.pictures.public import draw
    from tracejit.profiling.profile import profile

# What most programs don't need is imported when it is first asked for.
_MODULES = [
    "ad_checkpoint",
    "custom_batching",
    "custom_derivatives",
    "debug",
    "experimental",
    "extend",
    "image",
    "lax",
    "flatten_util",
    "nn",
    "optim",
    "random",
    "scipy",
    "test_util",
    "tree_util",
]
_NAMES = {
    "tracejit.api.device.public": ["default_device", "device_get", "device_put", "devices"],
    "tracejit.api.explain": ["explain"],
    "tracejit.api.exporting.public": ["export", "load_exported", "symbolic_shape"],
    "tracejit.api.foreign.printing": ["export_numba"],
    "tracejit.api.autodiff.jacobians": ["hessian", "hvp", "jacfwd", "jacrev", "linear_transpose"],
    "tracejit.api.autodiff.residuals": ["print_saved_residuals"],
    "tracejit.api.autodiff.sparse": ["jacobian"],
    "tracejit.api.autodiff.taylor": ["jet"],
    "tracejit.api.naming": [
        "check_tracer_leaks",
        "debug_infs",
        "debug_nans",
        "default_backend",
        "effects_barrier",
        "ensure_compile_time_eval",
        "log_compiles",
        "named_call",
        "named_scope",
        "process_count",
        "process_index",
    ],
    "tracejit.control.callbacks.ops": ["io_callback", "pure_callback"],
    "tracejit.control.call.checkpoint": ["checkpoint", "checkpoint_policies", "remat"],
    "tracejit.control.custom.public": ["closure_convert", "custom_gradient", "custom_jvp", "custom_vjp"],
    "tracejit.profiling.profile": ["profile"],
    "tracejit.frontend.rewrite.hooks.progress": ["progress"],
    "tracejit.pictures.public": ["draw"],
}
__getattr__, __dir__ = parts(__name__, _MODULES, _NAMES)
REGISTRY.rest = lambda: load(ops, control)
Drawn.pictures = LazyModule("tracejit.pictures.public")
_magic = LazyModule("tracejit.terminal.magic")
complete(__name__)


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext tracejit` calls: `%%tracejit` jits the functions of a cell, and shows what `explain` says."""
    _magic.register(shell)


if path := os.environ.get("TRACEJIT_PROFILE"):
    importlib.import_module("tracejit.profiling.whole").begin(path)

__all__ = [
    "Array",
    "ShapeDtypeStruct",
    "TracejitError",
    "ad_checkpoint",
    "block_until_ready",
    "check_tracer_leaks",
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
    "debug_infs",
    "debug_nans",
    "default_backend",
    "default_device",
    "device_get",
    "device_put",
    "devices",
    "disable_jit",
    "draw",
    "dtypes",
    "effects_barrier",
    "ensure_compile_time_eval",
    "errors",
    "eval_shape",
    "experimental",
    "explain",
    "export",
    "export_numba",
    "extend",
    "flatten_util",
    "grad",
    "hessian",
    "hvp",
    "image",
    "io_callback",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jet",
    "jit",
    "jvp",
    "lax",
    "linear_transpose",
    "linearize",
    "load_exported",
    "log_compiles",
    "make_jaxpr",
    "named_call",
    "named_scope",
    "nn",
    "numpy",
    "ops",
    "optim",
    "print_saved_residuals",
    "process_count",
    "process_index",
    "profile",
    "progress",
    "pure_callback",
    "random",
    "remat",
    "scipy",
    "symbolic_shape",
    "test_util",
    "tree",
    "tree_util",
    "typeof",
    "value_and_grad",
    "vjp",
    "vmap",
]
