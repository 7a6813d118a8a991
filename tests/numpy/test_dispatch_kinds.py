"""Results without dimensions are arrays where NumPy's are, and scalars where NumPy's are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

#: Groups of expressions of v (a vector), z (0-d), s (a NumPy scalar), x and m (matrices), c (complex), i (integers).
GROUPS = {
    "reductions": "v.sum()|z.sum()|v.mean()|np.std(z)|np.max(v, axis=0)|np.max(z)|np.sum(s)|np.any(v)|np.all(z)|"
    "v.argmax()|np.median(x, axis=(0, 1))|np.percentile(v, 50)|np.quantile(z, 0.5)|np.nanmedian(x)|np.average(v)|"
    "np.count_nonzero(v)|np.ptp(v)|np.add.reduce(v)|np.minimum.reduce(v)|np.sum(z, keepdims=True)|np.trapezoid(v)|"
    "np.sum(z, axis=())|np.nansum(v)|np.nanmax(v)|np.linalg.norm(v)|np.linalg.det(m)|np.linalg.cond(m + np.eye(3))|"
    "np.linalg.vector_norm(v)|np.linalg.matrix_norm(m)|np.trace(m)|max(list(v))|min(v[0], v[1])",
    "products": "v @ v|np.dot(v, v)|np.dot(z, z)|np.inner(z, z)|np.vdot(v, v)|np.vecdot(v, v)|np.tensordot(v, v, 1)|"
    "np.tensordot(m, m, 2)|np.tensordot(z, z, 0)|np.einsum('i,i', v, v)|np.einsum('ii', m)|np.einsum('i->', v)|"
    "np.kron(z, z)|np.outer(z, z)|np.multiply.outer(z, z)|np.linalg.multi_dot([v, m, v])|"
    "np.linalg.tensorsolve(v[:1], v[:1])|np.fft.fftn(z)|np.fft.ifftn(i[1])",
    "indexing": "v[0]|v[0, ...]|v[..., 0]|x[0, 0]|x[0, 0, ...]|z[()]|z[...]|s[...]|np.take(v, 0)|np.take(v, i[1])|"
    "np.choose(i[0], [s, s])|v.flat[0]|next(iter(v))|list(v)|np.array([[s]])[0, 0, ...]",
    "shapes": "v[:1].squeeze()|np.squeeze(v[:1])|v[:1].reshape(())|np.reshape(v[:1], ())|z.reshape(())|s.reshape(())|"
    "np.expand_dims(z, ())|s.squeeze()|np.squeeze(z)|np.broadcast_to(z, ())|np.broadcast_to(s, ())|"
    "np.broadcast_arrays(s, z)|np.roll(s, 1)|"
    "np.tile(s, ())|np.resize(s, ())|np.block(s)|np.flip(z)|z.T|s.T|np.transpose(s)",
    "copies": "np.array(s)|np.array(z)|np.array(v[0])|np.asarray(v[0])|np.asarray(s)|np.asarray(z)|np.array(1.0)|"
    "np.copy(s)|z.copy()|s.copy()|z.astype(np.float32)|s.astype(np.float32)|np.astype(z, 'f4')|np.full((), s)|"
    "np.zeros(())|np.ones_like(s)|np.full_like(z, 1)|np.require(s)|np.ones(())[()]|np.asarray(2.0) + v[0]",
    "choices": "np.where(z > 1, z, z)|np.where(s > 1, s, s)|np.select([z > 0], [z], 0.0)|np.isin(s, v)|np.isin(z, v)|"
    "np.piecewise(s, [s > 0], [1.0])|np.clip(z, 0, 1)|np.searchsorted(v, z)|np.interp(s, v, v)|np.interp(z, v, v)|"
    "np.digitize(s, v)",
    "elementwise": "z + z|-z|abs(z)|z > 1|divmod(z, 2)|np.modf(z)|np.sin(z)|np.maximum(z, s)|np.isclose(z, z)|"
    "np.nan_to_num(z)|np.nan_to_num(s)|np.i0(z)|np.i0(s)|np.sinc(z)|np.real(z)|np.imag(z)|np.imag(s)|z.real|z.imag|"
    "s.imag|c[0].real|np.conj(s)|np.angle(c[0])|np.real_if_close(s)|np.real_if_close(z)|np.round(z)|np.fix(z)|"
    "np.round(np.asarray(i[1]))|np.around(np.asarray(i[1]), 1)|np.asarray(i[1]).round()|np.astype(s, 'f4')|"
    "np.nan_to_num(z, copy=False)|np.nan_to_num(np.asarray(i[1]), copy=False)",
    "functions": "np.vectorize(lambda a: a + 1)(z)|np.vectorize(lambda a, b: (a, b))(z, s)|"
    "np.vectorize(lambda a: a.sum(), signature='(n)->()')(v)|np.apply_along_axis(np.sum, 0, v)|"
    "np.apply_along_axis(lambda r: r[0], 0, v)|np.cov(v)|np.polyval(v, s)|np.polyval(v, z)",
}


def kind(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return type(x), [kind(y) for y in x]
    return type(x), x.dtype, x.shape


@pytest.mark.parametrize("group", GROUPS)
def test_as_numpys(group: str) -> None:
    texts = GROUPS[group].split("|")
    v, z, s = np.array([1.0, 2.0, 3.0]), np.array(2.5), np.float64(2.5)
    args = (v, z, s, np.arange(6.0).reshape(2, 3), np.arange(9.0).reshape(3, 3), v + 1j, np.arange(4))
    f = eval(f"lambda v, z, s, x, m, c, i: [{', '.join(texts)}]", {"np": np})  # one program for all
    fast = tj.jit(f)
    for _ in range(3):  # the first calls and the fast path
        for text, got, expected in zip(texts, fast(*args), f(*args), strict=True):
            assert kind(got) == kind(expected), text
            np.testing.assert_allclose(got, expected, rtol=1e-13)


def test_an_array_without_dimensions_alone() -> None:
    f = tj.jit(lambda x: np.asarray(x.sum()))
    for _ in range(3):
        assert type(f(np.ones(3))) is np.ndarray
    g = tj.jit(lambda x: f(x))  # a program in a program
    assert type(g(np.ones(3))) is np.ndarray

    def added(x: Any) -> Any:
        y = z = np.where(x > 0, x, x)
        y += 1  # in place: it is an array
        return z

    assert tj.jit(added)(np.float64(1)) == added(np.float64(1)) == 2


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors")
def test_the_cross_product_of_two_numbers_each() -> None:
    f = lambda v: np.cross(v, v[::-1])
    assert kind(tj.jit(f)(np.arange(2.0))) == kind(f(np.arange(2.0)))


def test_the_rank_of_a_vector_is_one_of_pythons_integers() -> None:
    assert type(tj.jit(np.linalg.matrix_rank)(np.ones(3))) is type(np.linalg.matrix_rank(np.ones(3))) is int


def test_scalars_cannot_be_written_into() -> None:
    def f(x: Any) -> Any:
        y = x.sum()
        y[...] = 1
        return y

    for run in (f, tj.jit(f)):
        with pytest.raises(TypeError, match="does not support item assignment"):
            run(np.ones(3))
