"""The primitives, one file a family; importing this package fills the registry."""

# Families use each other at call time through this package; the order below is that of their needs at import.
# isort: off
from tracejit.ops import arithmetic, compare, create, cumulative, reduce, transcendental
from tracejit.ops import (
    broadcast,
    concat,
    dims,
    shape,
    slices,
    gather,
    scatter,
    index,
    index_check,
    linalg,
    sort,
)
from tracejit.ops import (
    complexes,
    helpers,
    identities,
    moves,
    powers,
    scalar,
    scalar_order,
    scale,
    scatter_rules,
)
from tracejit.ops import values, windows
# isort: on

__all__ = [
    "arithmetic",
    "broadcast",
    "compare",
    "complexes",
    "concat",
    "create",
    "cumulative",
    "dims",
    "gather",
    "helpers",
    "identities",
    "index",
    "index_check",
    "linalg",
    "moves",
    "powers",
    "reduce",
    "scalar",
    "scalar_order",
    "scale",
    "scatter",
    "scatter_rules",
    "shape",
    "slices",
    "sort",
    "transcendental",
    "values",
    "windows",
]
