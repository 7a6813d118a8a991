"""Power series in Taylor mode, and the ways to their coefficients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit import ops
from tracejit.interpreters.autodiff.jvp import apply_jvp, concrete, linear_operands
from tracejit.ir.avals import aval_of
from tracejit.ir.primitive import Op
from tracejit.ir.values import Value, Zero
from tracejit.tracing import current_trace, use_trace

Coefficient = Any  # a raw value of the parent trace, or a Zero


class Series(Value):
    """A power series: coefficient 0 is the value; the next ones are made by `make(k)` when asked for."""

    __slots__ = ("_coefs", "_derivative", "_make")

    def __init__(self, trace: Any, first: Any, make: Callable[[int], Coefficient]) -> None:
        self.trace = trace
        self.aval = aval_of(first)
        self._coefs: list[Coefficient] = [first]
        self._make = make
        self._derivative: Series | None = None

    def coef(self, k: int) -> Coefficient:
        """The coefficient of t**k."""
        while len(self._coefs) <= k:
            self._coefs.append(self._make(len(self._coefs)))
        return self._coefs[k]

    def derivative(self) -> Any:
        """The series of the derivative in t."""
        if self._derivative is None:
            self._derivative = Series(self.trace, self._scaled(0), self._scaled)
        return self._derivative

    def _scaled(self, k: int) -> Coefficient:
        return times(self.coef(k + 1), k + 1)

    def concrete(self) -> Any:
        return concrete(self._coefs[0])


def times(c: Coefficient, factor: float) -> Coefficient:
    """A coefficient times a number."""
    if type(c) is Zero or factor == 1:
        return c
    return ops.arithmetic.mul(c, aval_of(c).dtype.type(factor))


def total(terms: Sequence[Coefficient], aval: Any) -> Coefficient:
    """The sum of coefficients; a Zero of type `aval` if all are."""
    out: Any = Zero(aval)
    for t in terms:
        if type(t) is not Zero:
            out = t if type(out) is Zero else ops.arithmetic.add(out, t)
    return out


# ---------------------------------------------------------------- coefficients of results


class Solver:
    """The coefficients of an application's results."""

    out: Any = None

    def __init__(self, trace: Any, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> None:
        self.trace = trace
        self.op = op
        self.args = args
        self.params = params
        self.known: dict[int, Any] = {}

    def output(self, n: int) -> Callable[[int], Coefficient]:
        """What makes the coefficients of result `n`."""

        def make(k: int) -> Coefficient:
            assert self.trace.parent is not None
            with use_trace(self.trace.parent):
                return self.make(n, k)

        return make

    def make(self, n: int, k: int) -> Coefficient:
        raise NotImplementedError


class Mapped(Solver):
    """Coefficient k of the result from coefficients k of the operands."""

    def make(self, n: int, k: int) -> Coefficient:
        if k not in self.known:
            coefs = [self.trace.coef(a, k) for a in self.args]
            firsts = [self.trace.coef(a, 0) for a in self.args]
            if all(type(c) is Zero for c in coefs):
                return Zero(self.trace_type(n))
            self.known[k] = current_trace().process(self.op, linear_operands(firsts, coefs), self.params)
        return self.known[k][n] if self.op.multi else self.known[k]

    def trace_type(self, n: int) -> Any:
        out = self.op.type(*(aval_of(a) for a in self.args), **self.params)
        return (out[n] if self.op.multi else out).tangent()


class Product(Solver):
    """A product: the convolution of two series."""

    def __init__(self, trace: Any, op: Op, args: Any, params: Any, aval: Any) -> None:
        super().__init__(trace, op, args, params)
        self.aval = aval

    def make(self, n: int, k: int) -> Coefficient:
        x, y = self.args
        terms = []
        for i in range(k + 1):
            a, b = self.trace.coef(x, i), self.trace.coef(y, k - i)
            if type(a) is not Zero and type(b) is not Zero:
                terms.append(current_trace().process(self.op, (a, b), self.params))
        return total(terms, self.aval)


class Given(Solver):
    """By the record's own rule `(k, coefficients of the result, of the operands ..., **params)`."""

    def make(self, n: int, k: int) -> Coefficient:
        given = [lambda i, a=a: self.trace.coef(a, i) for a in self.args]
        return self.op.series(k, self.out.coef, *given, **self.params)  # type: ignore[operator]


class FromJvp(Solver):
    """k y_k is coefficient k - 1 of the derivative, for which the jvp rule runs once, on series."""

    tangents: list[Any] | None = None

    def make(self, n: int, k: int) -> Coefficient:
        if self.tangents is None:
            self.tangents = self._derivatives()
        t = self.tangents[n]
        c = t if type(t) is Zero else self.trace.coef(t, k - 1)
        return c if type(c) is Zero else times(c, 1 / k)

    def _derivatives(self) -> list[Any]:
        trace = self.trace
        with use_trace(trace):
            ts = [a.derivative() if trace.mine(a) else Zero(aval_of(a).tangent()) for a in self.args]
            trace.solving += 1
            try:
                _, tangent = apply_jvp(self.op, self.args, ts, self.params)
            finally:
                trace.solving -= 1
        return list(tangent) if self.op.multi else [tangent]
