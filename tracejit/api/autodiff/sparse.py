"""`jacobian`: dense in the cheaper mode, or sparse, by compressed derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, tree
from tracejit.api.autodiff._lazy import scipy_sparse
from tracejit.api.autodiff.coloring import color_columns, color_symmetric, symmetric_sources
from tracejit.api.autodiff.derivatives import (
    Argnums,
    Inputs,
    fix_others,
    input_cotangents,
    jvp,
    linearize_user,
    push_forward,
)
from tracejit.api.autodiff.jacobians import cheaper_mode
from tracejit.api.autodiff.sparsity import dependencies
from tracejit.api.common import argument_names, check_input, fresh, name_of, normalize_argnums, plain
from tracejit.api.introspect import trace_to_jaxpr
from tracejit.errors import FunctionNeededError, SparsityPatternError
from tracejit.interpreters.vmap import batch_flat, batch_to_front
from tracejit.ir.avals import aval_of
from tracejit.ops.building import helpers
from tracejit.ops.shapes import concat, shape
from tracejit.tracing import is_tracing, to_raw, wrap


def jacobian(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    pattern: Any = None,
    dense: bool = False,
    symmetric: bool = False,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """The Jacobian of `f`: by `jacfwd` or `jacrev`, whichever needs fewer derivatives; or sparse.

    Without a `pattern`, arguments and result are those of `jacfwd`.

    With a `pattern`, `f` is a function of one array (`argnums`, an int) that returns one array, and the
    result is a `scipy.sparse.csr_array` of shape (outputs, inputs), both in C order: columns (or rows) that
    never meet are computed together, so that the cost is that of a few derivatives, `colors` of
    them. `pattern` is a SciPy sparse matrix or a boolean array of that shape, a sequence of (row, column)
    pairs, or 'detect': the pattern of `f`'s program at the first call's arguments. The function that is
    returned has these members:

    - `values(*args)`: the entries alone, in the order of the CSR pattern; may be jitted, differentiated and
      batched, and so may the function itself with `dense=True` (then the result is an array of shape
      outputs + inputs).
    - `pattern_for(*args)`: the pattern as a boolean `csr_array`.
    - `colors(*args)`: how many derivatives it takes.

    `symmetric`: the Jacobian is symmetric, as that of a gradient is; fewer colours may do.

    Raises:
        SparsityPatternError: the pattern does not fit `f`, or lacks entries (checked once, at a random
            direction), or 'detect' was asked for where the arguments are traced.
    """
    FunctionNeededError.check("jacobian", f)
    if pattern is None:
        return cheaper_mode(f, argnums, has_aux, holomorphic)
    if not isinstance(argnums, int) or has_aux:
        raise TypeError("jacobian with a pattern takes one argument (argnums an int) and no has_aux")
    return SparseJacobian(f, argnums, pattern, dense, symmetric, holomorphic)


class _Plan:
    """A pattern with its colouring: seeds for the derivatives and where the entries are found."""

    def __init__(self, pattern: Any, symmetric: bool) -> None:
        self.pattern = pattern
        by_row = pattern.tocoo()
        columns = color_symmetric(pattern) if symmetric else color_columns(pattern)
        rows = None if symmetric else color_columns(pattern.T.tocsr())
        self.reverse = rows is not None and rows.max(initial=-1) < columns.max(initial=-1)
        self.group = rows if self.reverse and rows is not None else columns
        self.count = int(self.group.max(initial=-1)) + 1 if pattern.nnz else 0
        if symmetric:
            self.line, self.color = symmetric_sources(pattern, columns)
        elif self.reverse:
            self.line, self.color = by_row.col, self.group[by_row.row]
        else:
            self.line, self.color = by_row.row, self.group[by_row.col]

    def seeds(self, dtype: np.dtype) -> np.ndarray:
        """(colours, inputs or outputs): the sums of unit vectors of each colour."""
        out = np.zeros((self.count, self.group.size), dtype)
        out[self.group, np.arange(self.group.size)] = 1
        return out


class SparseJacobian:
    """The function that `jacobian` returns for a pattern."""

    def __init__(
        self,
        f: Callable[..., Any],
        argnum: int,
        pattern: Any,
        dense: bool,
        symmetric: bool,
        holomorphic: bool,
    ) -> None:
        functools.update_wrapper(self, f)
        self.f = f
        self.argnum = argnum
        self.given = pattern
        self.dense = dense
        self.symmetric = symmetric
        self.holomorphic = holomorphic
        self._plans: dict[Any, _Plan] = {}
        self._checked: set[Any] = set()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        out = self._compute(args, kwargs)
        plan, data, out_shape, in_shape = out
        if self.dense:
            return _dense(plan.pattern, data, (*out_shape, *in_shape))
        if is_tracing():
            problem = "a SciPy matrix can't hold traced values: use .values(...) or dense=True"
            raise SparsityPatternError(function=name_of(self.f), problem=problem)
        return scipy_sparse().csr_array((data, plan.pattern.indices, plan.pattern.indptr), plan.pattern.shape)

    def values(self, *args: Any, **kwargs: Any) -> Any:
        """The entries of the pattern, in CSR order."""
        return self._compute(args, kwargs)[1]

    def pattern_for(self, *args: Any, **kwargs: Any) -> Any:
        """The pattern as a boolean `csr_array`."""
        return self._plan(args, kwargs, *self._inputs(args)).pattern

    def colors(self, *args: Any, **kwargs: Any) -> int:
        """The number of derivatives that are computed."""
        return self._plan(args, kwargs, *self._inputs(args)).count

    def _inputs(self, args: tuple[Any, ...]) -> tuple[int, Any]:
        (n,) = normalize_argnums("jacobian", self.f, self.argnum, len(args))
        if not tree.structure(args[n]).is_leaf():
            raise SparsityPatternError(function=name_of(self.f), problem="the argument is not one array")
        name = argument_names(self.f, len(args))[n]
        check_input("jacobian", name, to_raw(args[n], name), self.holomorphic)
        return n, to_raw(args[n], name)

    def _compute(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        n, x = self._inputs(args)
        plan = self._plan(args, kwargs, n, x)
        one = fix_others(self.f, args, (n,))
        _, _, outs, tape, ins = linearize_user(one, (args[n],), False, kwargs)
        if len(outs) != 1:
            raise SparsityPatternError(function=name_of(self.f), problem="the result is not one array")
        out, aval = aval_of(outs[0]), aval_of(x)
        if (out.size, aval.size) != plan.pattern.shape:
            problem = f"the pattern has shape {plan.pattern.shape}, the Jacobian {(out.size, aval.size)}"
            raise SparsityPatternError(function=name_of(self.f), problem=problem)
        if plan.count:
            table = _derivatives(plan, tape, ins, out, aval)
            data = plain(to_raw(wrap(table)[plan.color, plan.line]))
        else:
            data = np.zeros(0, out.dtype)
        self._check(plan, args, kwargs, n, x, data)
        return plan, fresh(to_raw(data)), out.shape, aval.shape

    # ------------------------------------------------------------ patterns

    def _plan(self, args: tuple[Any, ...], kwargs: dict[str, Any], n: int, x: Any) -> _Plan:
        key = tuple(map(_type_of, tree.leaves((args, kwargs)))) if isinstance(self.given, str) else None
        if key not in self._plans:
            if key is not None:
                found = self._detected(args, kwargs, n)
            else:
                (out,) = trace_to_jaxpr(self.f, args, kwargs)[0].out_avals
                found = _as_pattern(self.f, self.given, (out.size, aval_of(x).size))
            self._plans[key] = _Plan(found, self.symmetric)
        return self._plans[key]

    def _detected(self, args: tuple[Any, ...], kwargs: dict[str, Any], n: int) -> Any:
        if self.given != "detect":
            problem = f"pattern={self.given!r} means nothing: 'detect', or a pattern"
            raise SparsityPatternError(function=name_of(self.f), problem=problem)
        if is_tracing():
            problem = "the pattern is found at values: call the function once outside of the transformation"
            raise SparsityPatternError(function=name_of(self.f), problem=problem)
        closed, _ = trace_to_jaxpr(self.f, args, kwargs)
        leaves = [to_raw(a) for a in tree.leaves((args, kwargs))]
        at = len(closed.consts) + len(tree.leaves(args[:n]))
        if len(closed.jaxpr.outs) != 1:
            raise SparsityPatternError(function=name_of(self.f), problem="the result is not one array")
        found = dependencies(closed.jaxpr, [*closed.consts, *leaves], at)
        if self.symmetric:
            found = found + found.T
        return _canonical(found)

    def _check(self, plan: _Plan, args: Any, kwargs: Any, n: int, x: Any, data: Any) -> None:
        """Compare the product with a random direction, once a pattern. Raises SparsityPatternError."""
        if is_tracing() or id(plan) in self._checked:
            return
        self._checked.add(id(plan))
        rng = np.random.default_rng(0)
        v = np.asarray(rng.standard_normal(np.shape(x))).astype(aval_of(x).dtype)[()]
        _, want = jvp(lambda y: self.f(*args[:n], y, *args[n + 1 :], **kwargs), (args[n],), (v,))
        matrix = scipy_sparse().csr_array(
            (data, plan.pattern.indices, plan.pattern.indptr), plan.pattern.shape
        )
        size = abs(matrix) @ np.abs(np.ravel(v))
        error = np.abs(matrix @ np.ravel(v) - np.ravel(want))
        eps = np.finfo(dtypes.real_part_dtype(np.asarray(want).dtype)).eps
        if np.any(error > 1e4 * eps * (size + np.abs(np.ravel(want)))):
            row = int(np.argmax(error))
            problem = f"the pattern lacks entries: row {row} does not give the derivative along a direction"
            raise SparsityPatternError(function=name_of(self.f), problem=problem)


def _type_of(x: Any) -> Any:
    return aval_of(to_raw(x))


def _as_pattern(f: Any, given: Any, full: tuple[int, int]) -> Any:
    """A user's pattern as a boolean CSR matrix, for a Jacobian of shape `full`."""
    if scipy_sparse().issparse(given):
        return _canonical(given)
    a = np.asarray(given)
    if a.dtype == bool and a.ndim >= 1:
        if a.size != full[0] * full[1]:
            problem = f"the pattern has shape {a.shape}, the Jacobian {full}"
            raise SparsityPatternError(function=name_of(f), problem=problem)
        return _canonical(scipy_sparse().csr_array(a.reshape(full)))
    if a.ndim == 2 and a.shape[1] == 2 and a.dtype.kind in "iu":
        if a.min(initial=0) < 0 or np.any(a >= full):
            problem = f"an index is outside of the Jacobian, whose shape is {full}"
            raise SparsityPatternError(function=name_of(f), problem=problem)
        return _canonical(scipy_sparse().csr_array((np.ones(len(a), bool), (a[:, 0], a[:, 1])), shape=full))
    problem = "a pattern is a SciPy sparse matrix, a boolean array, pairs (row, column), or 'detect'"
    raise SparsityPatternError(function=name_of(f), problem=problem)


def _canonical(pattern: Any) -> Any:
    """Boolean CSR with sorted indices, each once, and no stored zeros."""
    out = scipy_sparse().csr_array(pattern, dtype=bool, copy=True)
    out.sum_duplicates()
    out.eliminate_zeros()
    out.sort_indices()
    return out


def _derivatives(plan: _Plan, tape: Any, ins: Inputs, out: Any, aval: Any) -> Any:
    """The compressed Jacobian: (colours, outputs), or (colours, inputs) in reverse."""
    target = out if plan.reverse else aval
    seeds = plan.seeds(target.dtype).reshape((plan.count, *target.shape))

    def push(t: Any) -> list[Any]:
        return push_forward(tape, ins, [t])

    def pull(ct: Any) -> list[Any]:
        return [helpers.instantiate(c) for c in input_cotangents(ins, tape, [ct])]

    ((table,), (dim,)) = batch_flat(pull if plan.reverse else push, plan.count, [seeds], [0])
    size = aval.size if plan.reverse else out.size
    return shape.reshape(batch_to_front(table, dim, plan.count), shape=(plan.count, size))


def _dense(pattern: Any, data: Any, full: Sequence[int]) -> Any:
    """The entries in an array of zeros."""
    coo = pattern.tocoo()
    where = np.zeros(pattern.shape, np.int64)
    where[coo.row, coo.col] = np.arange(pattern.nnz) + 1
    raw = to_raw(data)
    padded = concat.concatenate(np.zeros(1, aval_of(raw).dtype), raw, dimension=0)
    return plain(shape.reshape(to_raw(wrap(padded)[where.ravel()]), shape=tuple(full)))
