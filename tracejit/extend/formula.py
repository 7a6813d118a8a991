"""Primitives that are formulas: every rule follows from the operations that the formula is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit import tree
from tracejit.control.regions.axes import processing_axis
from tracejit.control.regions.staging import Staged, stage_user
from tracejit.extend.rules import Checked
from tracejit.interpreters.autodiff.jvp import jvp_flat
from tracejit.interpreters.autodiff.transpose import backward_pass
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.stage import arg_avals
from tracejit.interpreters.vmap import batch_flat
from tracejit.ir.avals import Aval
from tracejit.ir.values import is_linear
from tracejit.tracing import call_user, to_raw, use_trace, wrap


class Formula:
    """`fn`, written in NumPy, as the rules of a primitive; `check` says how many outputs it has."""

    def __init__(self, check: Checked, fn: Callable[..., Any]) -> None:
        self.check = check
        self.fn = fn

    def _leaves(self, got: Any) -> list[Any]:
        parts = self.check.several("formula", got, None, "of results") if self.check.multi else [got]
        return [self.check.raw("formula", "the result", x) for x in parts]

    def _one(self, outs: Sequence[Any]) -> Any:
        return list(outs) if self.check.multi else outs[0]

    def run(self, raw: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        """The formula on raw values, in the current trace."""
        return self._leaves(call_user(self.fn, *map(wrap, raw), **params))

    def stage(self, values: Sequence[Any], params: dict[str, Any]) -> Staged:
        """The formula as a jaxpr over values (or types) like these."""

        def call(args: tuple[Any, ...]) -> Any:
            return self.fn(*args, **params)

        structure = tree.structure(tuple(0 for _ in values))
        return stage_user(call, [structure], arg_avals(values), [False] * len(values), self.check.name)

    # ------------------------------------------------------------ slots

    def type(self, *avals: Aval, **params: Any) -> Any:
        """What the staged formula gives."""
        staged = self.stage([_Typed(a) for a in avals], params)
        if self.check.multi != (not staged.out_tree.is_leaf()):
            wanted = "a tuple of arrays" if self.check.multi else "one array"
            raise self.check.fail("formula", f"it must return {wanted}, not {tree.show(staged.out_tree)}")
        return self._one(staged.out_avals)

    def eval(self, *arrays: Any, **params: Any) -> Any:
        """NumPy runs the formula."""
        with use_trace(ROOT):
            return self._one([to_raw(x) for x in self._leaves(self.fn(*arrays, **params))])

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        """The formula's derivative."""
        outs, ts = jvp_flat(lambda *raw: self.run(raw, params), primals, tangents)
        return self._one(outs), self._one(ts)

    def transpose(self, ct: Any, *args: Any, **params: Any) -> list[Any]:
        """The transpose of the formula, which must be linear in the operands that are `Linear`."""
        staged = self.stage(args, params)
        linear = [False] * len(staged.consts) + [is_linear(a) for a in args]
        values = [*staged.consts, *(None if is_linear(a) else a for a in args)]
        cts = list(ct) if self.check.multi else [ct]
        return backward_pass(staged.jaxpr, linear, values, cts)[len(staged.consts) :]

    def batch(self, size: Any, args: Sequence[Any], dims: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        """The formula's operations, batched."""
        outs, out_dims = batch_flat(lambda *raw: self.run(raw, params), size, args, dims, processing_axis())
        return self._one(outs), self._one(out_dims)

    def expand(self, *raw: Any, **params: Any) -> Any:
        """For the `Composite` kernel. None, so that NumPy runs it, if it closes over arrays: these are
        read when the program runs."""
        staged = self.stage(raw, params)
        return None if staged.consts else self._one(eval_jaxpr(staged.jaxpr, raw))


class _Typed:
    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval
