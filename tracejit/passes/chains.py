"""chains: products of several matrices in the order that multiplies least. Only with `fastmath`.

`A @ B @ v` is computed as `A @ (B @ v)`. That adds up in another order than was written, so strict programs
keep theirs. The optimal order by dynamic programming over all parts of a chain (Godbole, "On efficient computation
of matrix chain products", 1973).
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from tracejit.ir.avals import Aval
from tracejit.ir.jaxpr import Atom, Eqn, Jaxpr, Var
from tracejit.ir.kernel import Contract
from tracejit.passes.rewrite import Pass, everywhere, rebuild

#: Longer chains stay as they are: the work grows with the third power of the length.
_LONGEST = 40


class Factor(NamedTuple):
    """A matrix: which axes of `atom` are its rows and its columns; None for those that a vector lacks."""

    atom: Any
    row: int | None
    col: int | None

    def turned(self) -> Factor:
        return Factor(self.atom, self.col, self.row)

    def size(self, axis: int | None) -> int:
        return 1 if axis is None else self.atom.aval.shape[axis]


def _chains(jaxpr: Jaxpr) -> Jaxpr:
    products = {v: e for e in jaxpr.eqns if _is_product(e) for v in e.outvars}
    if len(products) < 2:
        return jaxpr
    uses = Counter(a for e in jaxpr.eqns for a in e.invars if type(a) is Var)
    uses.update(a for a in jaxpr.outs if type(a) is Var)
    inner = {v for v in products if uses[v] == 1}
    consumed = {a for e in products.values() for a in e.invars if a in inner}
    chains = {v: factors(e, products, inner) for v, e in products.items() if v not in consumed}
    members = {v: [products[v], *_members(products[v], products, inner)] for v in chains}
    plans = {v: _better_plan(c, members[v]) for v, c in chains.items() if 2 < len(c) <= _LONGEST}
    gone = {id(e) for v, plan in plans.items() if plan for e in members[v]}
    eqns: list[Eqn] = []
    for e in jaxpr.eqns:
        plan = plans.get(e.outvars[0]) if e.outvars else None
        if plan:
            _Multiplier(e, chains[e.outvars[0]], plan, eqns).write()
        elif id(e) not in gone:
            eqns.append(e)
    return rebuild(jaxpr, eqns, jaxpr.outs)


def _is_product(e: Eqn) -> bool:
    """A product of two matrices or of a matrix and a vector, all of one dtype."""
    if not isinstance(e.op.kernel, Contract):
        return False
    (xc, yc), (xb, _) = e.params["dimension_numbers"]
    x, y = (a.aval for a in e.invars)
    plain = len(xc) == len(yc) == 1 and not xb and 1 <= x.ndim <= 2 and 1 <= y.ndim <= 2
    return plain and x.is_static and y.is_static and x.dtype == y.dtype and x.dtype.kind in "fc"


def _sides(e: Eqn) -> tuple[Factor, Factor]:
    (xc, yc), _ = e.params["dimension_numbers"]
    x, y = e.invars
    return (
        Factor(x, _other(x, xc[0]), xc[0]),
        Factor(y, yc[0], _other(y, yc[0])),
    )


def _other(a: Atom, axis: int) -> int | None:
    return None if a.aval.ndim == 1 else 1 - axis


def factors(e: Eqn, products: dict[Any, Eqn], inner: set[Any]) -> list[Factor]:
    """What a product is a chain of: operands that are products themselves, used only here, are taken apart."""
    out: list[Factor] = []
    for side in _sides(e):
        if side.atom not in inner:
            out.append(side)
            continue
        parts = factors(products[side.atom], products, inner)
        out += parts if _straight(side, parts) else [p.turned() for p in reversed(parts)]
    return out


def _straight(side: Factor, parts: list[Factor]) -> bool:
    """Whether a product with these factors is read as it is, not transposed."""
    has_rows, has_cols = parts[0].row is not None, parts[-1].col is not None
    if has_rows and has_cols:
        return side.row == 0
    if has_rows:  # a column
        return side.row is not None
    return side.col is not None


def _members(e: Eqn, products: dict[Any, Eqn], inner: set[Any]) -> list[Eqn]:
    """The products that `e` is taken apart into."""
    parts = [products[a] for a in e.invars if a in inner]
    return [*parts, *(m for p in parts for m in _members(p, products, inner))]


#: Where the parts `i..j` of a chain are split: after part `plan[i, j]`.
Plan = dict[tuple[int, int], int]


def _better_plan(chain: list[Factor], written: list[Eqn]) -> Plan | None:
    """The order that needs the fewest multiplications; None if it saves less than a tenth."""
    sizes = [chain[0].size(chain[0].row), *(f.size(f.col) for f in chain)]
    n = len(chain)
    cost = dict.fromkeys(((i, i) for i in range(n)), 0)
    plan: Plan = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            ]
            cost[i, j], plan[i, j] = min(options)
    return plan if 1.1 * cost[0, n - 1] < sum(map(_work, written)) else None


def _work(e: Eqn) -> int:
    x, y = _sides(e)
    return x.size(x.row) * x.size(x.col) * y.size(y.col)


class _Multiplier:
    """Writes the products of a chain in the order of a plan; the last one is that of equation `e`."""

    def __init__(self, e: Eqn, chain: list[Factor], plan: Plan, eqns: list[Eqn]) -> None:
        self.e, self.chain, self.plan, self.eqns = e, chain, plan, eqns

    def write(self) -> None:
        self._product(0, len(self.chain) - 1, self.e.outvars[0])

    def _product(self, i: int, j: int, out: Var | None = None) -> Factor:
        if i == j:
            return self.chain[i]
        k = self.plan[i, j]
        x, y = self._product(i, k), self._product(k + 1, j)
        shape = tuple(f.size(a) for f, a in ((x, x.row), (y, y.col)) if a is not None)
        if out is None:
            out = Var(None, Aval(shape, self.e.outvars[0].aval.dtype))
        numbers = (((x.col,), (y.row,)), ((), ()))
        params = {**self.e.params, "dimension_numbers": numbers}
        self.eqns.append(Eqn(self.e.op, (x.atom, y.atom), (out,), params, self.e.source, self.e.effects))
        rows = x.row is not None
        return Factor(out, 0 if rows else None, int(rows) if y.col is not None else None)


chains = Pass("chains", everywhere(_chains))
