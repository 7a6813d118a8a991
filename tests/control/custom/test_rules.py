"""What JAX documents of custom rules: arguments, symbolic zeros, conversion of closures, errors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.control.oracle import close
from tests.probe import probe
from tracejit import custom_derivatives as cd
from tracejit import lax
from tracejit.errors import CapturedWriteError, CustomRuleError, NotDifferentiableError, PytreeMismatchError

XS = np.array([0.5, 2.0])


# ---------------------------------------------------------------- arguments


def test_keywords_and_defaults_are_arguments(run: Any) -> None:
    f = tj.custom_vjp(lambda x, y=3.0, *, z=1.0: x * y)
    f.defvjp(lambda x, y: (x * y, None), lambda res, ct: (ct, ct))
    with pytest.raises(TypeError, match="keyword-only"):
        tj.grad(f)(1.0, z=2.0)
    assert f(2.0) == 6.0  # defaults of keyword-only arguments stay the function's own
    sine = tj.custom_jvp(np.sin)
    sine.defjvp(lambda primals, tangents: (np.sin(primals[0]), 3.0 * tangents[0]))
    assert run(tj.grad(sine))(0.5) == 3.0

    @tj.custom_vjp
    def g(x: Any, y: Any = 3.0) -> Any:
        return x * y

    g.defvjp(lambda x, y: (x * y, (x, y)), lambda res, ct: (ct * res[1] * 10, ct * res[0]))
    assert run(tj.grad(g))(2.0) == 30
    assert run(tj.grad(lambda x: g(x, y=4.0)))(2.0) == 40
    assert run(tj.grad(lambda x: g(y=4.0, x=x)))(2.0) == 40
    h = tj.custom_jvp(lambda x, y=3.0: x * y)
    h.defjvps(lambda t, ans, x, y: 10 * t * y, None)
    assert run(tj.grad(lambda x: h(y=4.0, x=x)))(2.0) == 40 and run(tj.grad(h))(2.0) == 30


def test_methods_and_static_methods(run: Any) -> None:
    class Layer:
        def __init__(self, slope: float) -> None:
            self.slope = slope

        @partial(tj.custom_jvp, nondiff_argnums=(0,))
        def apply(self, x: Any) -> Any:
            return x * self.slope

        @apply.defjvp
        def rule(self, primals: Any, tangents: Any) -> Any:
            return self.apply(*primals), 100 * self.slope * tangents[0]

        @staticmethod
        @tj.custom_jvp
        def cube(x: Any) -> Any:
            return x**3

    Layer.cube.defjvps(lambda t, ans, x: -t)
    layer = Layer(2.0)
    assert run(tj.grad(lambda x: layer.apply(x)))(1.0) == 200
    assert run(tj.grad(lambda x: Layer.cube(x)))(2.0) == -1
    assert run(tj.grad(lambda x: layer.cube(x)))(2.0) == -1


def test_nondiff_argnames_and_functions(run: Any) -> None:
    @partial(tj.custom_vjp, nondiff_argnames="f")
    def app(x: Any, f: Any) -> Any:
        return f(x)

    app.defvjp(lambda x, f: (f(x), x), lambda f, x, ct: (ct * f(x) * 10,))
    assert run(tj.grad(lambda x: app(x, np.sin)))(0.5) == pytest.approx(10 * np.sin(0.5))
    with pytest.raises(ValueError, match="not a parameter"):
        tj.custom_jvp(lambda x: x, nondiff_argnames=("y",))
    with pytest.raises(TypeError, match="nondiff_argnums"):
        tj.custom_jvp(lambda f, x: x, nondiff_argnums=0).defjvps(None)


def test_nondiff_arguments_that_are_traced(run: Any) -> None:
    """Inside of a loop a traced nondiff argument is a variable of the loop's program."""
    f = tj.custom_jvp(lambda n, x: x * n, nondiff_argnums=(0,))
    f.defjvp(lambda n, primals, tangents: (primals[0] * n, 10 * n * tangents[0]))

    def loop(x: Any) -> Any:
        return lax.fori_loop(1, 4, lambda i, c: f(i, c), x)

    assert run(tj.grad(loop))(1.0) == 6 * 1000
    close(run(tj.vmap(tj.grad(loop)))(XS), np.full(2, 6000.0))
    g = tj.custom_vjp(lambda n, x: x * n, nondiff_argnums=(0,))
    g.defvjp(lambda n, x: (x * n, None), lambda n, _, ct: (10 * n * ct,))
    assert run(tj.grad(lambda x: lax.fori_loop(1, 4, lambda i, c: g(i, c), x)))(1.0) == 6 * 1000


# ---------------------------------------------------------------- symbolic zeros


def test_symbolic_zeros_of_custom_jvp(run: Any) -> None:
    f = tj.custom_jvp(lambda x, y: x * y)

    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (tx, ty) = primals, tangents
        assert type(tx) is not cd.SymbolicZero
        if type(ty) is cd.SymbolicZero:
            assert ty.shape == y.shape and ty.dtype == np.float64 and (ty.ndim, ty.size) == (1, 2)
            return f(x, y), 10 * y * tx
        return f(x, y), y * tx + x * ty

    f.defjvp(rule, symbolic_zeros=True)
    assert run(tj.grad(lambda x: f(x, XS).sum()))(np.ones(2)).tolist() == [5, 20]
    g = run(tj.grad(lambda x, y: f(x, y).sum(), (0, 1)))
    close(g(np.ones(2), XS), (XS, np.ones(2)))
    close(run(tj.vmap(tj.grad(lambda x: f(x, XS).sum())))(np.ones((3, 2))), np.tile(10 * XS, (3, 1)))
    z = tj.custom_jvp(lambda x: np.floor(x))
    z.defjvp(lambda p, t: (z(*p), cd.zero_from_primal(p[0], symbolic_zeros=True)), symbolic_zeros=True)
    assert run(tj.grad(lambda x: z(x) * x))(2.5) == 2


def test_symbolic_zeros_of_custom_vjp(run: Any) -> None:
    """The example of JAX's documentation: only the perturbed argument gets a cotangent."""
    f = tj.custom_vjp(lambda x, y: (x * y, x + y))

    def fwd(x: Any, y: Any) -> Any:
        assert type(x) is cd.CustomVJPPrimal and type(x.perturbed) is bool
        out = x.value * y.value, x.value + y.value
        return out, (y.value if x.perturbed else None, x.value if y.perturbed else None)

    def bwd(res: Any, cts: Any) -> Any:
        y, x = res
        assert type(cts[0]) is not cd.SymbolicZero and type(cts[1]) is cd.SymbolicZero
        return (None if y is None else 10 * y * cts[0], None if x is None else x * cts[0])

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    assert run(tj.grad(lambda x: f(x, 3.0)[0]))(2.0) == 30
    assert run(tj.grad(lambda y: f(2.0, y)[0]))(3.0) == 2
    close(run(tj.grad(lambda x, y: f(x, y)[0], (0, 1)))(2.0, 3.0), (np.float64(30), np.float64(2)))
    close(run(tj.vmap(tj.grad(lambda x: f(x, 3.0)[0])))(XS), np.full(2, 30.0))
    close(run(tj.grad(lambda x: tj.vmap(lambda v: f(v, 3.0)[0])(x).sum()))(XS), np.full(2, 30.0))


def test_zero_from_primal() -> None:
    zeros = cd.zero_from_primal({"a": np.ones(2, np.float32), "n": 3})
    assert zeros["a"].dtype == np.float32 and not zeros["a"].any() and zeros["n"].dtype.itemsize == 0
    assert repr(cd.zero_from_primal(1.0, symbolic_zeros=True)) == "SymbolicZero(f64[])"


# ---------------------------------------------------------------- wrong rules


@pytest.mark.parametrize(
    "fwd, bwd, message",
    [
        (lambda x: x["a"], lambda r, g: (g,), r"fwd rule of f: it did not return a pair"),
        (lambda x: ((x["a"], 1.0), None), lambda r, g: (g,), r"fwd rule of f: the output is "),
        (lambda x: (x["a"][:1], None), lambda r, g: (g,), r"the output is f64\[1\] instead of f64\[2\]"),
        (lambda x: (x["a"], None), lambda r, g: g, "returned .* instead of a tuple of 1"),
        (lambda x: (x["a"], None), lambda r, g: (g, g), "returned 2 instead of a tuple of 1"),
        (lambda x: (x["a"], None), lambda r, g: (g,), "cotangent 0 is "),
        (lambda x: (x["a"], None), lambda r, g: ({"a": g[:1]},), r"cotangent 0\['a'\] is f64\[1\] instead"),
        (lambda x: (x["a"], None), lambda r, g: ({"a": g.astype("f4")},), r"cotangent 0\['a'\] is f32\[2\]"),
    ],
)
def test_wrong_vjp_rules_are_named(fwd: Any, bwd: Any, message: str) -> None:
    @tj.custom_vjp
    def f(x: Any) -> Any:
        return x["a"] * 2

    f.defvjp(fwd, bwd)
    for run in (lambda g: g, tj.jit):
        with pytest.raises(CustomRuleError, match=message):
            run(tj.grad(lambda x: f(x).sum()))({"a": XS})


@pytest.mark.parametrize(
    "rule, message",
    [
        (lambda p, t: p[0], "did not return a pair"),
        (lambda p, t: (p[0], (t[0], t[0])), "the tangent output is "),
        (lambda p, t: ((p[0],), t[0]), "the primal output is "),
        (lambda p, t: (p[0], t[0].astype("f4")), r"the tangent output is f32\[2\] instead of f64\[2\]"),
    ],
)
def test_wrong_jvp_rules_are_named(rule: Any, message: str) -> None:
    f = tj.custom_jvp(lambda x: x * 2)
    f.defjvp(rule)
    with pytest.raises(CustomRuleError, match=message):
        tj.jvp(f, (XS,), (XS,))


def test_rules_under_everything(run: Any) -> None:
    """Second order, loops, branches, checkpoint and jit around a function with a custom_vjp."""
    f = tj.custom_vjp(lambda p: np.sin(p["x"]) * p["y"])
    f.defvjp(
        lambda p: (np.sin(p["x"]) * p["y"], p),
        lambda p, ct: ({"x": 2 * ct * np.cos(p["x"]) * p["y"], "y": ct * np.sin(p["x"])},),
    )
    p = {"x": 0.3, "y": 2.0}
    slope = lambda p: 2 * np.cos(p["x"]) * p["y"]
    assert run(tj.grad(f))(p)["x"] == pytest.approx(slope(p))
    assert run(tj.grad(tj.jit(f)))(p)["x"] == pytest.approx(slope(p))
    assert run(tj.grad(lambda p: tj.grad(f)(p)["x"]))(p)["x"] == pytest.approx(-2 * np.sin(0.3) * 2)
    assert run(tj.grad(tj.checkpoint(f)))(p)["x"] == pytest.approx(slope(p))
    assert run(tj.grad(lambda p: lax.cond(p["x"] > 0, f, lambda p: 0.0, p)))(p)["x"] == pytest.approx(
        slope(p)
    )
    batch = {"x": XS, "y": XS + 1}
    close(run(tj.vmap(tj.grad(f)))(batch)["x"], slope(batch))
    loop = lambda p: lax.scan(lambda c, x: (c + f({"x": x, "y": p["y"]}), None), 0.0, np.tile(p["x"], 3))[0]
    assert run(tj.grad(loop))(p)["x"] == pytest.approx(3 * slope(p))
    with pytest.raises(NotDifferentiableError):
        tj.jvp(f, (p,), (p,))
    v = tj.hvp(f, (p,), (p,))
    assert v["x"] == pytest.approx(-2 * np.sin(0.3) * 2 * 0.3 + 2 * np.cos(0.3) * 2)


# ---------------------------------------------------------------- closure_convert, custom_gradient


def test_closure_convert(run: Any) -> None:
    """A root finder whose function closes over what is differentiated (JAX's example, shortened)."""

    @partial(tj.custom_vjp, nondiff_argnums=(0,))
    def solve(f: Any, x: Any, *consts: Any) -> Any:
        return lax.fori_loop(0, 60, lambda i, x: x - f(x, *consts) / tj.grad(f)(x, *consts), x)

    def fwd(f: Any, x: Any, *consts: Any) -> Any:
        root = solve(f, x, *consts)
        return root, (root, consts)

    def bwd(f: Any, res: Any, ct: Any) -> Any:
        root, consts = res
        _, pull = tj.vjp(lambda *c: f(root, *c), *consts)
        return (None, *pull(-ct / tj.grad(f)(root, *consts)))

    solve.defvjp(fwd, bwd)

    def root(a: Any) -> Any:
        f, consts = tj.closure_convert(lambda x: x * x - a, 1.0)
        assert len(consts) == 1
        return solve(f, 1.0, *consts)

    assert run(tj.grad(root))(4.0) == pytest.approx(0.25)
    close(run(tj.vmap(tj.grad(root)))(np.array([4.0, 9.0])), np.array([1 / 4, 1 / 6]))


def test_closure_convert_hoists_only_what_is_perturbed() -> None:
    w = np.ones(3)
    f, consts = tj.closure_convert(lambda t: {"y": t["x"] * w}, {"x": np.ones(3)})
    assert consts == [] and f({"x": np.full(3, 2.0)})["y"].tolist() == [2, 2, 2]
    with pytest.raises(PytreeMismatchError, match="converted function"):
        f(np.ones(3))

    def outer(n: Any, y: Any) -> Any:
        g, held = tj.closure_convert(lambda x: x * y * n, 1.0)
        assert len(held) == 1  # integers are not differentiated
        return g(2.0, *held)

    assert tj.jit(lambda n, y: tj.grad(outer, 1)(n, y))(3, 1.0) == 6


def test_custom_gradient(run: Any) -> None:
    f = tj.custom_gradient(lambda x: (x**2, lambda g: (g * x * 10,)))
    assert f(3.0) == 9 and run(tj.grad(f))(3.0) == 30
    one = tj.custom_gradient(lambda x: (x**2, lambda g: g * x * 10))  # not a tuple
    assert run(tj.grad(one))(3.0) == 30

    @tj.custom_gradient
    def two(x: Any, y: Any) -> Any:
        s = np.sin(x)
        return {"a": s * y}, lambda ct: (100 * ct["a"] * np.cos(x) * y, ct["a"] * s)

    g = run(tj.grad(lambda x, y: two(x, y)["a"], (0, 1)))
    close(g(0.5, 2.0), (np.float64(200 * np.cos(0.5)), np.float64(np.sin(0.5))))
    close(run(tj.vmap(tj.grad(f)))(XS), 10 * XS)
    close(run(tj.grad(lambda x: lax.scan(lambda c, v: (c + f(v), None), 0.0, x)[0]))(XS), 10 * XS)
    assert run(tj.grad(tj.grad(f)))(3.0) == 10
    bad = tj.custom_gradient(lambda x: x)
    with pytest.raises(CustomRuleError, match="pair"):
        tj.grad(bad)(1.0)


# ---------------------------------------------------------------- linear_call


def test_linear_call(run: Any) -> None:
    """JAX's example: a division whose transpose is marked by a factor."""

    def divide(x: Any, d: Any) -> Any:
        return cd.linear_call(lambda d, x: x / d, lambda d, t: 10 * t / d, d, x)

    assert run(lambda: divide(9.0, 3.0))() == 3
    assert run(lambda x: tj.linear_transpose(lambda x: divide(x, 3.0), x)(6.0)[0])(9.0) == 20
    assert run(tj.grad(lambda x: divide(x, 4.0)))(1.0) == 2.5
    assert run(lambda: tj.jvp(divide, (9.0, 3.0), (1.0, 0.0)))()[1] == pytest.approx(1 / 3)
    assert run(lambda: tj.jvp(divide, (9.0, 3.0), (0.0, 1.0)))()[1] == pytest.approx(-1)
    assert run(tj.grad(divide, 1))(9.0, 3.0) == pytest.approx(-1)
    twice = lambda x: tj.linear_transpose(tj.linear_transpose(lambda x: (divide(x, 4.0),), x), (x,))((x,))
    assert run(lambda x: twice(x)[0][0] if isinstance(twice(x)[0], tuple) else twice(x)[0])(8.0) == 2
    close(run(tj.vmap(tj.grad(divide), (0, None)))(XS, 4.0), np.full(2, 2.5))
    close(run(tj.vmap(tj.grad(divide), (None, 0)))(1.0, XS), 10 / XS)
    close(run(tj.grad(lambda x: tj.vmap(divide, (None, 0))(x, XS).sum()))(1.0), np.sum(10 / XS))
    with pytest.raises(CustomRuleError, match="cotangent"):
        cd.linear_call(lambda r, x: x, lambda r, t: (t, t), 1.0, XS)


def test_linear_call_of_trees_and_closures(run: Any) -> None:
    w = np.arange(3.0)

    def f(x: Any, s: Any) -> Any:
        return cd.linear_call(
            lambda r, v: {"y": (v["a"] * w * r).sum() * s},
            lambda r, ct: {"a": ct["y"] * w * r * s * 10},
            2.0,
            {"a": x},
        )["y"]

    close(run(tj.grad(f))(np.ones(3), 3.0), 60 * w)
    close(run(tj.vmap(tj.grad(f), (None, 0)))(np.ones(3), XS), 20 * XS[:, None] * w)


# ---------------------------------------------------------------- custom_vmap


def test_custom_vmap(run: Any) -> None:
    @tj.custom_batching.custom_vmap
    def f(x: Any, y: Any) -> Any:
        return x + y

    @f.def_vmap
    def rule(axis_size: int, in_batched: Any, xs: Any, ys: Any) -> Any:
        assert axis_size == 2 and in_batched in ([True, False], [False, True], [True, True])
        return 10 * (xs + ys), True

    assert run(f)(1.0, 2.0) == 3
    assert run(tj.vmap(f, (0, None)))(XS, 1.0).tolist() == [15, 30]
    assert run(tj.vmap(f, (None, 0)))(1.0, XS).tolist() == [15, 30]
    assert run(tj.vmap(f))(XS, XS).tolist() == [10, 40]
    assert run(tj.grad(lambda x: tj.vmap(f, (0, None))(x, 1.0).sum()))(XS).tolist() == [10, 10]
    assert run(tj.vmap(lambda x: tj.jvp(lambda x: f(x, 1.0), (x,), (1.0,))))(XS)[1].tolist() == [10, 10]
    assert run(tj.grad(f))(1.0, 2.0) == 1
    assert run(lambda x: lax.map(lambda v: f(v, 1.0), x))(XS).tolist() == [1.5, 3]


def test_custom_vmap_of_trees_and_wrong_rules() -> None:
    def make(rule: Any) -> Any:
        f = tj.custom_batching.custom_vmap(lambda t, n: {"s": t["a"].sum(), "n": n})
        f.def_vmap(rule)
        return f

    batch = {"a": np.ones((2, 3))}
    f = make(lambda size, b, t, n: ({"s": t["a"].sum(-1), "n": n}, {"s": b[0]["a"], "n": b[1]}))
    out = tj.vmap(f, (0, None))(batch, 3.0)
    assert out["s"].tolist() == [3, 3] and out["n"].tolist() == [3, 3]
    for bad, message in (
        (lambda size, b, t, n: t, "pair"),
        (lambda size, b, t, n: (t, True), r"the output is \{"),
        (
            lambda size, b, t, n: ({"s": t["a"], "n": n}, {"s": True, "n": False}),
            r"f64\[2,3\] instead of f64\[2\]",
        ),
    ):
        with pytest.raises(CustomRuleError, match=message):
            tj.vmap(make(bad), (0, None))(batch, 3.0)
    with pytest.raises(tj.TracejitError, match="def_vmap"):
        tj.vmap(tj.custom_batching.custom_vmap(lambda x: x))(XS)


def test_sequential_vmap(run: Any) -> None:
    f = tj.custom_batching.sequential_vmap(lambda x, y: np.sin(x) * y)
    close(run(tj.vmap(f, (0, None)))(XS, 2.0), np.sin(XS) * 2)
    close(run(tj.vmap(tj.vmap(f), (None, 0)))(XS, np.ones((3, 2))), np.tile(np.sin(XS), (3, 1)))
    close(run(tj.grad(lambda x: tj.vmap(f, (0, None))(x, 2.0).sum()))(XS), 2 * np.cos(XS))


def test_what_a_rule_copies_is_its_own() -> None:
    """A rule that runs where nothing is traced any more gets boxes over the caller's arrays."""

    def rule(primals: Any, tangents: Any) -> Any:
        y = primals[0].copy()
        y += 1
        return y, tangents[0].astype(np.float64)

    f = tj.custom_jvp(lambda x: x + 1)
    f.defjvp(rule)
    x = np.zeros(2)
    out, _ = tj.jvp(f, (x,), (np.ones(2),))
    assert x.tolist() == [0, 0] and out.tolist() == [1, 1]


# ---------------------------------------------------------------- primals beside tangents in one region


def loop_of_pairs(p: Any, t: Any) -> Any:
    return lax.scan(lambda c, _: ((np.sin(c[0]), np.cos(c[0]) * c[1]), None), (p, t), None, length=2)[0]


def branch_of_pairs(p: Any, t: Any) -> Any:
    return lax.cond(
        p > 0, lambda p, t: (np.sin(np.sin(p)), np.cos(np.sin(p)) * np.cos(p) * t), loop_of_pairs, p, t
    )


def while_of_pairs(p: Any, t: Any) -> Any:
    step = lambda c: (
        c[0] + 1,
        *lax.scan(lambda v, _: ((np.sin(v[0]), np.cos(v[0]) * v[1]), None), c[1:], None, 1)[0],
    )
    return lax.while_loop(lambda c: c[0] < 2, step, (0, p, t))[1:]


REGIONS = {
    "scan": lambda x: lax.scan(lambda c, _: (np.sin(c), None), x, None, length=2)[0],
    "while": lambda x: lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, np.sin(c[1])), (0, x))[1],
    "fori": lambda x: lax.fori_loop(0, 2, lambda i, c: np.sin(c), x),
    "cond": lambda x: lax.cond(
        x > 0, lambda v: np.sin(np.sin(v)), lambda v: np.sin(np.sin(v // 1 * 0 + v)), x
    ),
    "jit": lambda x: tj.jit(lambda v: np.sin(np.sin(v)))(x),
    "checkpoint": lambda x: tj.checkpoint(lambda v: np.sin(np.sin(v)))(x),
}
RULES: dict[str, Any] = {n: lambda p, t, f=f: tj.jvp(f, (p,), (t,)) for n, f in REGIONS.items()}
RULES |= {"pairs in scan": loop_of_pairs, "pairs in cond": branch_of_pairs, "pairs in while": while_of_pairs}
RULES["pairs in jit"] = lambda p, t: tj.jit(branch_of_pairs)(p, t)
RULES["tangents only"] = lambda p, t: (
    np.sin(np.sin(p)),
    lax.scan(lambda c, f: (c * f, None), t, np.stack([np.cos(p), np.cos(np.sin(p))]))[0],
)


@pytest.mark.sample(40)
@pytest.mark.parametrize("name", RULES)
def test_regions_of_a_rule_give_primals_at_once(name: str, run: Any) -> None:
    """What follows is not linear in the function's value, so it must not have become a part of the tangents."""
    f = tj.custom_jvp(lambda x: np.sin(np.sin(x)))
    f.defjvp(lambda primals, tangents: RULES[name](primals[0], tangents[0]))
    shifts = np.array([0.0, -0.9])

    def loss(f: Any, x: Any) -> Any:
        return np.sum(tj.vmap(lambda s: f(x + s) ** 2)(shifts)) + f(x) ** 2

    plain = lambda x: loss(lambda y: np.sin(np.sin(y)), x)
    mine = lambda x: loss(f, x)
    close(run(tj.grad(mine))(0.5), tj.grad(plain)(0.5))
    close(run(tj.grad(tj.grad(mine)))(0.5), tj.grad(tj.grad(plain))(0.5))
    close(run(lambda x: tj.jvp(tj.grad(mine), (x,), (1.0,))[1])(0.5), tj.grad(tj.grad(plain))(0.5))
    close(run(tj.vmap(tj.grad(mine)))(shifts), tj.vmap(tj.grad(plain))(shifts))


# ---------------------------------------------------------------- what rules read by name


SLOPES = np.array([2.0, 3.0])
RUN, RAN = probe()
SETTINGS = {"scale": 1.0}


def scaled(kind: str) -> Any:
    """x, whose derivative (or whose value for lanes) is what is read by name."""

    def factor() -> Any:
        RUN()
        return SLOPES[0] * SETTINGS["scale"]

    if kind == "custom_jvp":
        f = tj.custom_jvp(lambda x: x * 1.0)
        f.defjvp(lambda primals, tangents: (primals[0] * 1.0, tangents[0] * factor()))
    elif kind == "custom_vjp":
        f = tj.custom_vjp(lambda x: x * 1.0)
        f.defvjp(lambda x: (x * 1.0, factor()), lambda saved, ct: (ct * saved,))
    elif kind == "backward":
        f = tj.custom_vjp(lambda x: x * 1.0)
        f.defvjp(lambda x: (x * 1.0, None), lambda _, ct: (ct * factor(),))
    else:
        f = tj.custom_batching.custom_vmap(lambda x: x * 1.0)
        f.def_vmap(lambda size, batched, x: (x * factor(), True))
    return f


@pytest.mark.parametrize("inside", ["itself", "scan", "jit"])
@pytest.mark.parametrize("kind", ["custom_jvp", "custom_vjp", "backward", "custom_vmap"])
def test_rules_of_jitted_functions_follow_what_they_read(
    kind: str, inside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The jaxpr of a jitted function is transformed once, but rules in it read arrays and numbers by name."""
    f = scaled(kind)
    body = {
        "itself": f,
        "scan": lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0],
        "jit": lambda x: tj.jit(f)(x),
    }[inside]
    jitted = tj.jit(lambda x: body(x) * 1.0)
    value = (lambda x: tj.vmap(jitted)(np.array([x]))[0]) if kind == "custom_vmap" else tj.grad(jitted)

    monkeypatch.setitem(globals(), "SLOPES", np.array([2.0, 3.0]))
    assert value(1.0) == 2.0
    assert RAN
    RAN.clear()
    assert value(1.0) == 2.0 and not RAN  # nothing has changed: it does not run again
    SLOPES[0] = 5.0
    assert value(1.0) == 5.0
    monkeypatch.setitem(globals(), "SLOPES", np.array([7.0]))
    assert value(1.0) == 7.0
    monkeypatch.setitem(SETTINGS, "scale", 2.0)
    assert value(1.0) == 14.0
    assert tj.jit(value)(1.0) == 14.0
    monkeypatch.setitem(SETTINGS, "scale", 1.0)
    assert value(1.0) == tj.jit(value)(1.0) == 7.0


def test_rules_of_jitted_functions_have_no_effects() -> None:
    """As under jit(grad(f)): they would happen when the rule is traced, and not at later calls."""
    log: list[int] = []
    f = tj.custom_vjp(lambda x: x * 1.0)
    f.defvjp(lambda x: (x * 1.0, log.append(1)), lambda _, ct: (ct,))
    for g in (tj.grad(tj.jit(f)), tj.jit(tj.grad(f))):
        with pytest.raises(CapturedWriteError, match="log"):
            g(1.0)
    assert tj.grad(f)(1.0) == 1.0 and log == [1]
