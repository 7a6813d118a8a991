"""The primitives, one file a family, each imported when it is first used. `REGISTRY` has them all.

In come raw values and static params, and out goes one value, as an equation of the current trace. A record's rules,
one for each interpreter, are written with other ops. Read `building` (how records are made) and `kernels` (their
scalar code), then one family from its record down: `elementwise`, `creation`, `shapes`, `reductions`, `indexing`,
`sparse`, `convolution`, `transforms`, `decompositions`, `special`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracejit.lazily import parts

if TYPE_CHECKING:
    from tracejit.ops import (
        decompositions,
        special,
    )
    from tracejit.ops.building import (
        dims,
        helpers,
        identities,
        values,
    )
    from tracejit.ops.convolution import (
        conv,
        conv_kernel,
        conv_shapes,
        pooling,
        selection,
        sliding,
    )
    from tracejit.ops.creation import (
        constant,
        create,
        random,
    )
    from tracejit.ops.elementwise import (
        arithmetic,
        bitcasts,
        compare,
        complexes,
        floats,
        integers,
        inverse,
        powers,
        scale,
        several,
        transcendental,
    )
    from tracejit.ops.indexing import (
        gather,
        index,
        index_check,
        scatter,
        scatter_rules,
        windows,
    )
    from tracejit.ops.kernels import (
        scalar,
        scalar_bits,
        scalar_complex,
        scalar_order,
    )
    from tracejit.ops.reductions import (
        cumulative,
        linalg,
        reduce,
        search,
        sort,
    )
    from tracejit.ops.shapes import (
        broadcast,
        concat,
        moves,
        shape,
        slices,
    )
    from tracejit.ops.sparse import (
        products,
        rules,
    )
    from tracejit.ops.transforms import (
        cosine,
        fft,
    )

#: The folders that parts are in: `ops.arithmetic` is `ops/elementwise/arithmetic.py`.
_FOLDERS = {
    "tracejit.ops.building": ["dims", "helpers", "identities", "values"],
    "tracejit.ops.convolution": ["conv", "conv_kernel", "conv_shapes", "pooling", "selection", "sliding"],
    "tracejit.ops.creation": ["constant", "create", "random"],
    "tracejit.ops.elementwise": [
        "arithmetic",
        "bitcasts",
        "compare",
        "complexes",
        "floats",
        "integers",
        "inverse",
        "powers",
        "scale",
        "several",
        "transcendental",
    ],
    "tracejit.ops.indexing": ["gather", "index", "index_check", "scatter", "scatter_rules", "windows"],
    "tracejit.ops.kernels": ["scalar", "scalar_bits", "scalar_complex", "scalar_order"],
    "tracejit.ops.reductions": ["cumulative", "linalg", "reduce", "search", "sort"],
    "tracejit.ops.shapes": ["broadcast", "concat", "moves", "shape", "slices"],
    "tracejit.ops.sparse": ["products", "rules"],
    "tracejit.ops.transforms": ["cosine", "fft"],
}

__all__ = [
    "arithmetic",
    "bitcasts",
    "broadcast",
    "compare",
    "complexes",
    "concat",
    "constant",
    "conv",
    "conv_kernel",
    "conv_shapes",
    "cosine",
    "create",
    "cumulative",
    "decompositions",
    "dims",
    "fft",
    "floats",
    "gather",
    "helpers",
    "identities",
    "index",
    "index_check",
    "integers",
    "inverse",
    "linalg",
    "moves",
    "pooling",
    "powers",
    "products",
    "random",
    "reduce",
    "rules",
    "scalar",
    "scalar_bits",
    "scalar_complex",
    "scalar_order",
    "scale",
    "scatter",
    "scatter_rules",
    "search",
    "selection",
    "several",
    "shape",
    "slices",
    "sliding",
    "sort",
    "special",
    "transcendental",
    "values",
    "windows",
]
__getattr__, __dir__ = parts(__name__, ["decompositions", "special"], _FOLDERS)
