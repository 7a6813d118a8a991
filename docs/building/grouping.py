"""Which modules the reference has, and how names of large modules are grouped: by the file that has them."""

from __future__ import annotations

from typing import Any

#: Module -> what its part of the reference begins with.
MODULES = {
    "tracejit": "The transformations, and what looks at programs without running them.",
    "tracejit.lax": "JAX's `lax`: control flow, and operations that promote and broadcast nothing.",
    "tracejit.lax.linalg": "JAX's `lax.linalg`: NaN where `numpy.linalg` raises.",
    "tracejit.numpy": "NumPy's names for traced arrays. Your program imports `numpy`; these stand in for it.",
    "tracejit.numpy.fft": "Fourier transforms.",
    "tracejit.numpy.linalg": "Linear algebra.",
    "tracejit.scipy.cluster.vq": "Nearest codes.",
    "tracejit.scipy.fft": "SciPy's Fourier transforms.",
    "tracejit.scipy.integrate": "Differential equations and integrals.",
    "tracejit.scipy.interpolate": "Splines and grids.",
    "tracejit.scipy.linalg": "SciPy's linear algebra.",
    "tracejit.scipy.ndimage": "Filters and interpolation of images.",
    "tracejit.scipy.optimize": "Minima, roots and fits.",
    "tracejit.scipy.signal": "Convolutions and filters.",
    "tracejit.scipy.sparse.linalg": "Linear equations whose matrix is a function, by JAX's names.",
    "tracejit.scipy.spatial.distance": "Distances.",
    "tracejit.scipy.special": "Special functions.",
    "tracejit.scipy.stats": "Distributions and statistics.",
    "tracejit.random": "Random numbers as functions of a key.",
    "tracejit.nn": "Layers, activations, losses, modules.",
    "tracejit.optim": "Optimisers and learning rates.",
    "tracejit.debug": "Looking into compiled programs.",
    "tracejit.extend": "Primitives of your own.",
    "tracejit.tree": "Nested containers of arrays.",
    "tracejit.tree_util": "The same by JAX's names.",
    "tracejit.image": "Images of another size.",
    "tracejit.experimental.ode": "Differential equations by JAX's name.",
    "tracejit.flatten_util": "Trees as vectors.",
    "tracejit.ad_checkpoint": "What a gradient keeps.",
    "tracejit.custom_derivatives": "More on derivatives of your own.",
    "tracejit.custom_batching": "Batching rules of your own.",
    "tracejit.test_util": "Checks of derivatives.",
}

#: Classes whose objects users get from calls.
OBJECTS = (
    "tracejit.api.jit.jitted.Jitted",
    "tracejit.api.jit.aot.Lowering",
    "tracejit.api.jit.aot.CompiledFunction",
    "tracejit.api.explain.Report",
    "tracejit.api.exporting.exported.Exported",
)

#: Module -> beginnings of the names of files -> the title of the group. The first that fits is taken.
_GROUPS: dict[str, dict[str, str]] = {
    "tracejit": {
        "tracejit.api.autodiff": "derivatives",
        "tracejit.control.custom": "rules of your own",
        "tracejit.control.callbacks": "callbacks",
        "tracejit.control.call": "checkpoints",
        "tracejit.api.exporting": "export",
        "tracejit.api.foreign": "export",
        "tracejit.api.introspect": "looking at programs",
        "tracejit.api.naming": "names that JAX has",
        "tracejit.api.explain": "looking at programs",
        "tracejit.errors": "looking at programs",
        "tracejit.api": "jit and vmap",
        "": "tools",
    },
    "tracejit.lax": {
        "tracejit.control.collectives": "collectives",
        "tracejit.control": "control flow",
        "tracejit.lax.indexing": "indexing",
        "tracejit.ops.indexing": "indexing",
        "tracejit.lax.convolution": "convolutions and windows",
        "tracejit.lax.pooling": "convolutions and windows",
        "tracejit.lax.hints": "hints to a compiler",
        "tracejit.ops.convolution": "convolutions and windows",
        "tracejit.lax.arrays": "arrays",
        "tracejit.lax.joining": "arrays",
        "tracejit.lax.reducing": "arrays",
        "": "elementwise operations",
    },
    "tracejit.numpy": {
        "tracejit.numpy.ufuncs": "elementwise functions",
        "tracejit.numpy.functions.arrays.creation": "making arrays",
        "tracejit.numpy.functions.arrays.ranges": "making arrays",
        "tracejit.numpy.functions.arrays": "shapes and pieces",
        "tracejit.numpy.functions.order": "sorting, searching, sets",
        "tracejit.numpy.functions.statistics": "reductions and statistics",
        "tracejit.numpy.functions.algebra": "products",
        "tracejit.numpy.functions.numerics": "polynomials, integrals, series",
        "tracejit.numpy.functions.refused": "what is refused",
        "": "questions and types",
    },
    "tracejit.nn": {
        "tracejit.nn.activations": "activations",
        "tracejit.nn.losses": "losses",
        "tracejit.nn.module": "modules",
        "": "layers and functions",
    },
    "tracejit.scipy.stats": {"tracejit.scipy.distributions": "distributions", "": "statistics"},
}


def group_of(module: str, x: Any) -> str:
    """The title of a name's group; nothing where the module is one page."""
    groups = _GROUPS.get(module, {})
    home = str(getattr(x, "__module__", ""))
    return next((title for start, title in groups.items() if home.startswith(start)), "")
