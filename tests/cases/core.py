"""Cases of the core: the primitives that everything else is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj
from tests.cases.makers import (
    Case,
    Maker,
    booleans,
    by_name,
    case,
    distinct,
    fixed,
    inside,
    integers,
    many,
    normal,
    positive,
)
from tracejit import lax, ops
from tracejit.tracing import to_raw, wrap

CASES: dict[str, list[Case]] = {
    **many(
        "neg abs sign square exp exp2 sin cos tanh sinh cosh arctan expm1 erf logistic copy",
        (normal(2, 3),),
        (normal(),),
    ),
    **many("log log2 log10 sqrt cbrt log1p reciprocal", (positive(2, 3),)),
    **many("arcsin arccos tan", (inside(2, 3),)),
    **many("floor ceil trunc rint isnan isinf isfinite signbit", (fixed([-1.7, -0.3, 0.4, 2.6]),)),
    **many("not_", (booleans(4),), (integers(4),)),
    **many(
        "add sub mul maximum minimum fmax fmin arctan2 copysign",
        (normal(2, 3), normal(2, 3)),
        (normal(), normal(3)),
        (normal(3), normal()),
    ),
    **many("div remainder fmod floor_divide", (fixed([3.3, -4.1, 5.2]), fixed([1.9, 1.7, -2.2]))),
    **many("pow", (positive(3), normal(3)), (positive(), normal(3))),
    **many("eq ne lt le gt ge", (normal(4), normal(4)), (integers(4), integers(4))),
    **many("and_ or_ xor", (booleans(4), booleans(4)), (integers(4), integers(4))),
    **many("select", (booleans(2, 3), normal(2, 3), normal(2, 3)), (booleans(), normal(3), normal(3))),
    **many(
        "clamp",
        (normal(5), fixed(-0.5), fixed(0.6)),
        (normal(3), fixed([-1.0, -2, -3]), fixed([0.1, 0.2, 0.3])),
    ),
}


def _positions(*shape: int, high: int) -> Maker:
    return lambda rng: rng.integers(0, high, (*shape, 1))


def _take(x: Any, i: Any) -> Any:
    return ops.gather.take(x, i, 0)


def _scatter_rows(name: str) -> Callable[..., Any]:
    """Rows of a matrix written at an array of positions."""
    numbers = ops.scatter.ScatterDimensionNumbers((1,), (0,), (0,))
    return lambda x, i, u: getattr(ops.scatter, name)(x, i, u, dimension_numbers=numbers, mode="fill")


def _along(x: Any, i: Any) -> Any:
    return ops.gather.take_along_axis(x, i, 1)


MATMUL = (((1,), (0,)), ((), ()))
BATCHED_MATMUL = (((2,), (1,)), ((0,), (0,)))

CASES.update(
    {
        "integer_pow": [case(by_name("integer_pow", n=n), inside(3)) for n in (0, 1, 2, 3, -2)],
        "scale": [case(by_name("scale"), normal(3), normal(3)), case(by_name("scale"), normal(), normal(3))],
        "unscale": [case(by_name("unscale"), normal(3), positive(3))],
        "complex": [case(by_name("complex"), normal(3), normal(3))],
        "real": [case(by_name("real"), normal(3, dtype=complex))],
        "imag": [case(by_name("imag"), normal(3, dtype=complex))],
        "conj": [case(by_name("conj"), normal(3, dtype=complex))],
        "convert_element_type": [
            case(
                lambda x: ops.create.convert_element_type(x, dtype=np.float32),
                normal(3),
                tolerance=2e-2,
                precision=1e-6,
            ),
            case(lambda x: ops.create.convert_element_type(x, dtype=np.float64), integers(3)),
            case(lambda x: ops.create.convert_element_type(x, dtype=np.int32), normal(3)),
            case(lambda x: ops.create.convert_element_type(x, dtype=np.bool_), integers(3)),
        ],
        "bitcast": [case(lambda x: ops.create.bitcast(x, dtype=np.int64), normal(3))],
        "full": [case(lambda x: ops.create.full(x, shape=(2, 3)), normal())],
        "iota": [case(lambda: ops.create.iota(shape=(2, 3), dtype=np.int64, dimension=1))],
        "shift_left": [case(by_name("shift_left"), integers(4), integers(4, low=0))],
        "shift_right": [case(by_name("shift_right"), integers(4), integers(4, low=0))],
        **{
            name: [case(by_name(name, axes=axes), maker) for axes in ((0,), (1,), (0, 1))]
            for name, maker in {
                "reduce_sum": normal(2, 3),
                "reduce_prod": normal(2, 3),
                "reduce_max": distinct(2, 3),
                "reduce_min": distinct(2, 3),
                "reduce_and": booleans(2, 3),
                "reduce_or": booleans(2, 3),
            }.items()
        },
        **{
            name: [
                case(by_name(name, axes=(1,)), distinct(2, 3)),
                case(by_name(name, axes=(0, 1)), distinct(2, 3)),
            ]
            for name in ("argmax", "argmin")
        },
        **{
            name: [case(by_name(name, axis=a, reverse=r), maker(2, 4)) for a in (0, 1) for r in (False, True)]
            for name, maker in {
                "cumsum": normal,
                "cumprod": normal,
                "cummax": distinct,
                "cummin": distinct,
            }.items()
        },
        "reshape": [case(lambda x: ops.shape.reshape(x, shape=(3, 2)), normal(2, 3))],
        "transpose": [case(lambda x: ops.shape.transpose(x, permutation=(2, 0, 1)), normal(2, 3, 4))],
        "squeeze": [case(lambda x: ops.shape.squeeze(x, dimensions=(1,)), normal(2, 1, 3))],
        "expand_dims": [case(lambda x: ops.shape.expand_dims(x, dimensions=(0, 2)), normal(2, 3))],
        "broadcast_in_dim": [
            case(lambda x: ops.shape.broadcast_to(x, (2, 3, 4)), normal(3, 1)),
            case(lambda x: ops.shape.broadcast_to(x, (2, 3)), normal()),
        ],
        "rev": [case(lambda x: ops.shape.rev(x, dimensions=(1,)), normal(2, 3))],
        "slice": [
            case(
                lambda x: ops.shape.slice(x, start_indices=(1, 0), limit_indices=(4, 5), strides=(1, 2)),
                normal(4, 5),
            )
        ],
        "slice_update": [
            case(
                lambda x, u: ops.slices.slice_update(
                    x, u, start_indices=(1, 0), limit_indices=(3, 5), strides=(1, 2)
                ),
                normal(4, 5),
                normal(2, 3),
            )
        ],
        "slice_add": [
            case(
                lambda x, u: ops.slices.slice_add(
                    x, u, start_indices=(1, 0), limit_indices=(3, 5), strides=(1, 2)
                ),
                normal(4, 5),
                normal(2, 3),
            )
        ],
        "concatenate": [
            case(
                lambda x, y, z: ops.concat.concatenate(x, y, z, dimension=1),
                normal(2, 3),
                normal(2, 1),
                normal(2, 2),
            )
        ],
        "pad": [
            case(
                lambda x, v: ops.concat.pad(x, v, padding_config=((1, 2, 0), (0, 1, 1))),
                normal(2, 3),
                normal(),
            ),
            case(lambda x, v: ops.concat.pad(x, v, padding_config=((-1, 2, 0),)), normal(4), normal()),
        ],
        "dynamic_slice": [
            case(
                lambda x, i, j: ops.index.dynamic_slice(x, i, j, sizes=(2, 2)),
                normal(4, 5),
                fixed(1),
                fixed(2),
            ),
            case(lambda x, i: ops.index.dynamic_slice(x, i, sizes=(2,)), normal(4), fixed(9)),
        ],
        "dynamic_update_slice": [
            case(ops.index.dynamic_update_slice, normal(4, 5), normal(2, 2), fixed(1), fixed(2))
        ],
        "dynamic_slice_add": [
            case(ops.index.dynamic_slice_add, normal(4, 5), normal(2, 2), fixed(1), fixed(2))
        ],
        "gather": [
            case(_take, normal(4, 3), integers(5, low=0, high=4)),
            case(_along, normal(2, 3), integers(2, 4, low=0, high=3)),
        ],
        **{
            name: [case(_scatter_rows(name), normal(4, 3), _positions(5, high=4), normal(5, 3))]
            for name in ("scatter", "scatter_add")
        },
        "scatter_mul": [
            case(_scatter_rows("scatter_mul"), normal(4, 3), fixed([[2], [0], [3]]), normal(3, 3))
        ],
        "scatter_max": [
            case(_scatter_rows("scatter_max"), normal(4, 3), fixed([[2], [0], [3]]), normal(3, 3))
        ],
        "scatter_min": [
            case(_scatter_rows("scatter_min"), normal(4, 3), fixed([[2], [0], [3]]), normal(3, 3))
        ],
        "check_index": [
            case(lambda i: ops.index_check.check_index(i, size=5, axis=0), integers(4, low=-5, high=5))
        ],
        "dot_general": [
            case(
                lambda x, y: ops.linalg.dot_general(x, y, dimension_numbers=MATMUL),
                normal(2, 3),
                normal(3, 4),
            ),
            case(
                lambda x, y: ops.linalg.dot_general(x, y, dimension_numbers=BATCHED_MATMUL),
                normal(2, 3, 4),
                normal(2, 4, 5),
            ),
            case(
                lambda x, y: ops.linalg.dot_general(x, y, dimension_numbers=(((0,), (0,)), ((), ()))),
                normal(3),
                normal(3),
            ),
        ],
        "sort": [
            case(lambda x: ops.sort.sort(x, axis=1), distinct(2, 4)),
            case(lambda x, y: ops.sort.sort(x, y, axis=0, num_keys=1), distinct(4, 2), normal(4, 2)),
        ],
        "argsort": [case(lambda x: ops.sort.argsort(x, axis=1), distinct(2, 4))],
    }
)


def public(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of user's arrays as one of raw values."""
    return lambda *raw: [to_raw(x) for x in tj.tree.leaves(fn(*map(wrap, raw)))]


def mapped(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` over the named axis `i`."""
    return public(tj.vmap(fn, axis_name="i"))


@tj.custom_jvp
def doubled_sine(x: Any) -> Any:
    return 2.0 * np.sin(x)


@doubled_sine.defjvp
def _doubled_sine_jvp(primals: Any, tangents: Any) -> Any:
    return doubled_sine(primals[0]), 2.0 * np.cos(primals[0]) * tangents[0]


@tj.custom_vjp
def product(x: Any, y: Any) -> Any:
    return x * y


product.defvjp(lambda x, y: (x * y, (x, y)), lambda saved, ct: (ct * saved[1], ct * saved[0]))


def _steps(x: Any, w: Any) -> Any:
    return lax.scan(lambda c, a: (np.sin(c * a) + w, c * c), w, x)


def _while(x: Any, w: Any) -> Any:
    return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * w + np.sin(c[1])), (0, x))


CASES.update(
    {
        "stop_gradient": [case(ops.create.stop_gradient, normal(3), smooth=False)],
        "optimization_barrier": [case(by_name("optimization_barrier", tag=0), normal(3))],
        "call": [case(public(tj.jit(lambda x, y: np.sin(x) * y)), normal(3), normal(3))],
        "checkpoint": [case(public(tj.checkpoint(lambda x, y: np.sin(x * y))), normal(3), normal(3))],
        "custom_jvp": [case(public(doubled_sine), normal(3))],
        "cond": [
            case(public(lambda p, x: lax.cond(p > 0, np.sin, lambda v: v * v * 3.0, x)), fixed(p), normal(3))
            for p in (1.0, -1.0)
        ]
        + [case(public(lambda i, x: lax.switch(i, [np.sin, np.exp, np.cos], x)), fixed(1), normal())],
        "scan": [case(public(_steps), normal(4), normal()), case(public(_steps), normal(3, 2), normal(2))],
        "while": [case(public(_while), normal(3), normal(3))],
        "psum": [case(mapped(lambda x: x * lax.psum(x, "i")), normal(3))],
        "pmax": [case(mapped(lambda x: x * lax.pmax(x, "i")), distinct(3))],
        "pmin": [case(mapped(lambda x: x * lax.pmin(x, "i")), distinct(3))],
        "all_gather": [case(mapped(lambda x: x * lax.all_gather(x, "i")), normal(3))],
        "ppermute": [case(mapped(lambda x: x * lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)])), normal(3))],
        "axis_index": [case(mapped(lambda x: x * lax.axis_index("i")), normal(3))],
    }
)

#: Ops without a forward derivative: reverse mode only (as in JAX).
REVERSE_ONLY = {
    "custom_vjp": [case(public(product), normal(3), normal(3))],
}
