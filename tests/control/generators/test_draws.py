"""What a draw is told to give before it is made."""

from __future__ import annotations

import numpy as np
import pytest

from tests.control.generators.tables import pcg
from tracejit import tree
from tracejit.control.generators.draws import ARRAY, PYTHON, SCALAR, Argument, Draw, Static, result_of
from tracejit.errors import RandomStateError
from tracejit.interpreters.generators import Handle, handle_of
from tracejit.ir.avals import Aval

_LEAF = tree.structure(0)
_HANDLE = Handle.of(pcg(0))


def _argument(name: str, leaf: object) -> Argument:
    return Argument(name, _LEAF, (leaf,))


def test_results_are_known_by_their_kinds() -> None:
    kinds = [result_of(x) for x in (1.5, np.float64(1.5), np.array(1.5), [1, 2], None)]
    assert [k.kind for k in kinds if k] == [PYTHON, SCALAR, ARRAY, list, "nothing"]
    assert all(result_of(x) is None for x in ("a", b"a", [1, 2.0], [], np.array(["a"]), 2**70))


@pytest.mark.parametrize(
    ("method", "arguments", "shape"),
    [
        ("normal", {"loc": (3,), "scale": (2, 1)}, (2, 3)),
        ("integers", {"low": (4,)}, (4,)),
        ("multivariate_normal", {"mean": (3,), "cov": (3, 3)}, (3,)),
        ("dirichlet", {"alpha": (5,)}, (5,)),
        ("triangular", {"left": (), "mode": (), "right": (2,)}, (2,)),
        ("multinomial", {"n": (), "pvals": (4,)}, (4,)),
        ("hypergeometric", {"ngood": (2,), "nbad": (), "nsample": ()}, (2,)),
    ],
)
def test_dry_calls_take_numbers_that_make_sense(method: str, arguments: dict, shape: tuple[int, ...]) -> None:
    draw = Draw(_HANDLE, method, tuple(_argument(n, ARRAY) for n in arguments))
    whole = ("low", "n", "ngood", "nbad", "nsample")
    avals = [Aval(s, np.dtype(int if n in whole else float)) for n, s in arguments.items()]
    assert draw.dry(avals).aval.shape == shape


def test_one_bound_that_is_known() -> None:
    draw = Draw(_HANDLE, "integers", (_argument("low", PYTHON), _argument("high", Static.of(-7))))
    assert draw.dry([Aval((), np.dtype(int))]).kind == SCALAR


def test_what_gives_no_numbers_is_refused() -> None:
    with pytest.raises(RandomStateError, match="gives a bytes"):
        Draw(_HANDLE, "bytes", (_argument("length", Static.of(3)),)).dry([])
    with pytest.raises(RandomStateError, match="raises ValueError"):
        Draw(_HANDLE, "normal", (_argument("scale", Static.of(-1.0)),)).dry([])


def test_a_result_of_another_type_is_an_error() -> None:
    draw = Draw(_HANDLE, "random", ())
    result = result_of(np.zeros(3))
    assert result is not None
    with pytest.raises(RandomStateError, match="it gave"):
        draw(handle_of(pcg(0)), (), result)


def test_equal_draws_are_equal_and_of_one_type() -> None:
    one, float_one = (Draw(_HANDLE, "normal", (_argument("loc", Static.of(x)),)) for x in (1, 1.0))
    assert one == Draw(_HANDLE, "normal", (_argument("loc", Static.of(1)),)) and one != float_one
    assert hash(one) != hash(float_one)
