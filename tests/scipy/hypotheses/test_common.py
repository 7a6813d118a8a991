"""Tests of scipy.stats: statistics and probabilities are SciPy's own, with ties, all alternatives and axes, and no call
of SciPy in the program.

A few calls, drawn anew for each day, are in every run; all are in the exhaustive one.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.stats as st

import tracejit as tj

_r = np.random.default_rng(0)
DATA = {
    "x": _r.normal(size=20),
    "y": _r.normal(size=20),
    "X": _r.normal(size=40),
    "Z": _r.normal(size=70),
    "R": _r.normal(size=(15, 4)),
    "k": _r.integers(0, 4, 20),
    "l": _r.integers(0, 4, 20),
    "t": _r.integers(1, 9, (3, 4)),
    "P": _r.normal(size=(200, 3)),
    "v": _r.normal(size=200),
    "s": np.arange(40.0),
}
_SIDED = """
kendalltau(x, y{})  kendalltau(s, X{})  kendalltau(s, s{})  kendalltau(s, -s{})  kendalltau(k, l{})
kendalltau(X, s, method="exact"{})  kendalltau(x, y, method="asymptotic"{})  spearmanr(x, y{})  spearmanr(k, l{})
wilcoxon(x{})  wilcoxon(x, y{})  wilcoxon(Z{})  wilcoxon(k, l{})  wilcoxon(Z[:9]{})
ansari(x, X{})  ansari(x, X[1:]{})  ansari(k, l{})  ansari(Z, X{})
ks_2samp(x, y{})  ks_2samp(x, X{})  ks_2samp(x, X[:33] + 1{})  ks_2samp(k, l{})
"""
_OTHERS = """
kendalltau(k, l, variant="c")  kendalltau(x * 0, y)  kendalltau(R, R[::-1] ** 2, axis=0)
kendalltau(R, R[::-1] ** 2, axis=1, keepdims=True)  spearmanr(R)  spearmanr(R, axis=1)  spearmanr(R, R[:, :2] ** 2)
spearmanr(f4(x), f4(y))  theilslopes(y, x)  theilslopes(y)  theilslopes(l * 1.0, k, 0.8, method="joint")
siegelslopes(y, x)  siegelslopes(y, x, "separate")  siegelslopes(l * 1.0, k)  siegelslopes(y)
wilcoxon(r(2 * Z[:45]), zero_method="pratt")  wilcoxon(r(2 * Z[:45]), zero_method="zsplit")
wilcoxon(x, correction=False, method="asymptotic")  wilcoxon(Z, method="exact")  wilcoxon(R, axis=0)
ansari(R, R**2, axis=0)  shapiro(R, axis=0)  shapiro(f4(x))  anderson(x, method="interpolate")
anderson(x**2, "expon", method="interpolate")  kstest(x, y)  median_test(x, y)
chi2_contingency(t)  chi2_contingency(t[:2, :2])  chi2_contingency(t[:2, :2], False, "log-likelihood")
chi2_contingency(R**2)  chi2_contingency(t[0])
binned_statistic(k, k)  binned_statistic(v, [v, 2 * v], bins=[-1.0, 0, 0.5, 9])  binned_statistic(0 * v, v)
binned_statistic_dd([x[:2], y[:2]], v[:2], bins=2)
binned_statistic(f4(v), f4(v))  binned_statistic_2d(v, v**2, v, "max", bins=[3, [-1.0, 0, 1]])
"""
CALLS = [
    *(
        c.format(f", alternative='{a}'")
        for a in ("two-sided", "less", "greater")
        for line in _SIDED.strip().splitlines()
        for c in line.split("  ")
    ),
    *(c for line in _OTHERS.strip().splitlines() for c in line.split("  ")),
    *(
        f"percentileofscore(k, {s}, kind='{k}')"
        for k in ("rank", "weak", "strict", "mean")
        for s in (1, [0.3, 1, 2])
    ),
    *(f"shapiro(Z[:{n}] ** {p})" for n in (3, 4, 5, 6, 11, 12, 60) for p in (1, 2)),
    *(
        f"binned_statistic_dd(P, v, '{s}', bins=3, expand_binnumbers=True)"
        for s in ("mean", "std", "count", "sum", "median", "min", "max")
    ),
]


def compare(call: str, native: bool = True) -> None:
    names = [n for n in DATA if n in call]
    space = {"f4": lambda a: a.astype(np.float32), "r": np.round, "st": st}
    f = eval(f"lambda {', '.join(names)}: st.{call}", space)
    args = [DATA[n] for n in names]
    compiled = tj.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want, got = f(*args), compiled(*args)
    assert type(got) is type(want)
    for g, w in zip(tj.tree.leaves(got), tj.tree.leaves(want), strict=True):
        assert (
            type(g) is type(w) and np.asarray(g).dtype == np.asarray(w).dtype and np.shape(g) == np.shape(w)
        )
        single = np.asarray(w).dtype == np.float32
        np.testing.assert_allclose(g, w, rtol=1e-5 if single else 1e-9, atol=1e-12)
    assert not native or "library_call" not in compiled.lower(*args).as_text("jaxpr")


#: The first and the last call of each function.
_ENDS = dict.fromkeys(
    c for calls in (CALLS[::-1], CALLS) for c in {c.partition("(")[0]: c for c in calls}.values()
)


@pytest.mark.sample(2)
@pytest.mark.parametrize("call", _ENDS)
def test_some(call: str) -> None:
    compare(call)


@pytest.mark.exhaustive
@pytest.mark.parametrize("call", CALLS)
def test_all(call: str) -> None:
    compare(call)


def test_ranks_along_axes_and_lines_through_ties() -> None:
    for method in ("average", "dense"):
        compare(f"rankdata(t, '{method}', axis=1)")
    compare("theilslopes(y * 0, x)")


def test_what_warns_or_permutes_is_left_to_python() -> None:
    tied = np.array([1.0, 1, 2, -3, 4, 5])
    with tj.config.override(fallback=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.errors.FallbackWarning)
        compiled = tj.jit(lambda a, b: st.spearmanr(a, b))
        with pytest.warns(st.ConstantInputWarning):
            assert np.isnan(compiled(DATA["x"] * 0, DATA["y"]).statistic)
        compiled = tj.jit(lambda a: st.wilcoxon(a).pvalue)
        assert compiled(tied) == st.wilcoxon(tied).pvalue
        with pytest.raises(ValueError, match="zero element"):
            tj.jit(lambda a: st.chi2_contingency(a).statistic)(np.array([[0.0, 1], [0, 2]]))


def test_derivatives() -> None:
    """Of what is smooth in the samples: slopes that medians choose, W, the distance to a fit."""
    x, y = DATA["x"], DATA["y"]
    for f in (
        lambda a: st.theilslopes(a, y).slope + st.theilslopes(y, a).intercept,
        lambda a: st.siegelslopes(a, y).slope,
        lambda a: st.shapiro(a).statistic + st.shapiro(a).pvalue,
        lambda a: st.anderson(a, method="interpolate").statistic,
        lambda a: st.chi2_contingency(a.reshape(4, 5) ** 2).statistic,
        lambda a: st.binned_statistic(y, a, "std", bins=3).statistic[1],
    ):
        way, h = np.cos(np.arange(20.0)), 1e-6
        near = (f(x + h * way) - f(x - h * way)) / (2 * h)
        np.testing.assert_allclose(tj.jit(tj.grad(f))(x) @ way, near, rtol=1e-5, atol=1e-7)
