"""What `axis=` may be: as NumPy takes and refuses it."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp

NAMES = (
    "sum prod mean std var min max argmin argmax any all cumsum cumprod nansum nanprod nanmean nanstd nanvar nanmin "
    "nanmax nancumsum median nanmedian ptp count_nonzero average flip sort argsort expand_dims diff trapezoid "
    "unwrap gradient squeeze"
)
WITH = {
    "percentile": (50,),
    "quantile": (0.5,),
    "roll": (1,),
    "repeat": (2,),
    "take": ([0],),
    "append": (np.ones((2, 3, 4)),),
    "argpartition": (0,),
    "array_split": (1,),
}
AXES = [[0], [0, 1], [], True, (0,), (0, 1), (), 1, -1, 7, "0", 0.0, np.int64(1)]
X = np.arange(24.0).reshape(2, 3, 4)


def _what(f, axis, args, x):
    """The shape of the result, or the kind of exception."""
    try:
        out = f(x, *args, axis=axis)
    except (TypeError, IndexError, ValueError) as e:
        return TypeError if isinstance(e, TypeError) else ValueError
    return tuple(map(np.shape, out)) if isinstance(out, list | tuple) else np.shape(out)


@pytest.mark.parametrize("name", [*NAMES.split(), *WITH])
def test_axis_as_numpy_takes_it(name) -> None:
    args, x = WITH.get(name, ()), X[:1] if name == "squeeze" else X
    ours = {}

    def trace(x):  # without compiling each of them
        for axis in AXES:
            ours[str(axis)] = _what(getattr(tnp, name), axis, args, x)
        return x

    tj.make_jaxpr(trace)(x)
    assert ours == {str(axis): _what(getattr(np, name), axis, args, x) for axis in AXES}


@pytest.mark.parametrize("join", ["concatenate", "stack"])
def test_axis_of_joining(join) -> None:
    for axis in AXES:
        of_numpy = _what(lambda x, axis, join=join: getattr(np, join)([x, x], axis=axis), axis, (), X)
        ours = []
        tj.make_jaxpr(
            lambda x, axis=axis: (
                ours.append(_what(lambda x, axis: getattr(tnp, join)([x, x], axis=axis), axis, (), x)) or x
            )
        )(X)
        assert ours == [of_numpy], axis


def test_arrays_like_a_description() -> None:
    s = tj.ShapeDtypeStruct((2, 3), np.float32)
    for module in (np, tnp):
        for make, value in (
            (module.zeros_like, 0),
            (module.ones_like, 1),
            (lambda s, m=module, **k: m.full_like(s, 7, **k), 7),
        ):
            for out in (make(s), tj.jit(lambda make=make: make(s))()):
                assert type(out) is np.ndarray and out.shape == (2, 3) and out.dtype == np.float32
                assert (out == value).all() and out.flags.c_contiguous
            assert make(s, dtype=int).dtype == np.int64
        assert module.empty_like(s).shape == (2, 3) and module.empty_like(s).dtype == np.float32
    assert np.shape(s) == (2, 3) and np.result_type(s, np.float64) == np.float64
    with pytest.raises(TypeError):
        np.sum(s)
