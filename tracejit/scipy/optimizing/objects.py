"""SciPy's `Bounds`, `LinearConstraint` and `NonlinearConstraint` with traced numbers.

While something is traced, these names make objects of ours, which the solvers take. A result of a program that is one
of them is SciPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit import tree
from tracejit.ops._lazy import scipy_module
from tracejit.scipy.hosting.likeness import Like, refuse


class _Like(Like):
    """The class of these classes."""

    part = "optimize"


class _Limits(metaclass=_Like):
    """Lower and upper limits. What an object has when it is made it keeps: those of outside are not written into."""

    lb: Any
    ub: Any
    keep_feasible: Any
    _dense = "Constraint limits must be dense arrays."

    def __setattr__(self, name: str, value: Any) -> None:
        refuse(type(self).__name__, "a new value of an attribute", "make another object")

    def __delattr__(self, name: str) -> None:
        refuse(type(self).__name__, "an attribute that is deleted", "make another object")

    def _set(self, shape: tuple[int, ...] | None, problem: str, limits: list[Any], **more: Any) -> None:
        for x, what in zip(
            limits, (*[self._dense] * 2, "`keep_feasible` must be a dense array."), strict=True
        ):
            if hasattr(x, "tocsr"):
                raise ValueError(what)
        lb, ub, keep = (tnp.atleast_1d(tnp.asarray(x)) for x in limits)
        try:
            common = np.broadcast_shapes(lb.shape, ub.shape, keep.shape) if shape is None else shape
            lb, ub, keep = (tnp.broadcast_to(x, common) for x in (lb, ub, keep))
        except ValueError:
            raise ValueError(problem) from None
        vars(self).update(more, lb=lb, ub=ub, keep_feasible=keep.astype(bool))


class Bounds(_Limits):
    """Bounds of unknowns, `lb <= x <= ub`, for `minimize`, `least_squares` and their kin."""

    _dense = "Lower and upper bounds must be dense arrays."

    def __init__(self, lb: Any = -np.inf, ub: Any = np.inf, keep_feasible: Any = False) -> None:
        problem = "`lb`, `ub`, and `keep_feasible` must be broadcastable."
        self._set(None, problem, [lb, ub, keep_feasible])

    def residual(self, x: Any) -> tuple[Any, Any]:
        """How far `x` is above the lower and below the upper bounds."""
        return x - self.lb, self.ub - x


class LinearConstraint(_Limits):
    """`lb <= A @ x <= ub`, for `minimize` and `milp`."""

    A: Any

    def __init__(self, A: Any, lb: Any = -np.inf, ub: Any = np.inf, keep_feasible: Any = False) -> None:
        matrix = A if hasattr(A, "tocsr") else tnp.atleast_2d(tnp.asarray(A)).astype(float)
        if matrix.ndim != 2:
            raise ValueError("`A` must have exactly two dimensions.")
        problem = "`lb`, `ub`, and `keep_feasible` must be broadcastable to shape `A.shape[0:1]`"
        floats = [x if hasattr(x, "tocsr") else tnp.asarray(x).astype(float) for x in (lb, ub)]
        self._set(tuple(matrix.shape[:1]), problem, [*floats, keep_feasible], A=matrix)

    def residual(self, x: Any) -> tuple[Any, Any]:
        """How far `A @ x` is above the lower and below the upper limits."""
        return self.A @ x - self.lb, self.ub - self.A @ x


class NonlinearConstraint(_Limits):
    """`lb <= fun(x) <= ub`, for `minimize`. Derivatives are those of the compiled function, whatever `jac` says."""

    fun: Any
    jac: Any
    hess: Any
    finite_diff_rel_step: Any
    finite_diff_jac_sparsity: Any

    def __init__(
        self, fun: Any, lb: Any, ub: Any, jac: Any = "2-point", hess: Any = None, keep_feasible: Any = False,
        finite_diff_rel_step: Any = None, finite_diff_jac_sparsity: Any = None,
    ) -> None:  # fmt: skip
        vars(self).update(
            fun=fun, lb=lb, ub=ub, jac=jac, keep_feasible=keep_feasible,
            hess=scipy_module("optimize").BFGS() if hess is None else hess,
            finite_diff_rel_step=finite_diff_rel_step, finite_diff_jac_sparsity=finite_diff_jac_sparsity,
        )  # fmt: skip


CLASSES: tuple[Any, ...] = (Bounds, LinearConstraint, NonlinearConstraint)
#: Class -> the attributes that hold its values, in the order of SciPy's arguments.
VALUES: dict[str, tuple[str, ...]] = {
    "Bounds": ("lb", "ub", "keep_feasible"),
    "LinearConstraint": ("A", "lb", "ub", "keep_feasible"),
    "NonlinearConstraint": ("fun", "lb", "ub", "jac", "hess", "keep_feasible"),
}


def as_scipys(x: Any) -> Any:
    """SciPy's object for one of ours whose numbers are known; anything else as it is."""
    return type(x).theirs(*(getattr(x, n) for n in VALUES[type(x).__name__])) if type(x) in CLASSES else x


def _register(cls: Any) -> None:
    names = VALUES[cls.__name__]

    def from_iter(_: Any, parts: Any) -> Any:
        known = all(isinstance(x, (np.ndarray, np.generic)) for x in tree.leaves(list(parts)))
        return cls.theirs(*parts) if known else cls.made(**dict(zip(names, parts, strict=True)))

    tree.register(cls, lambda x: ([getattr(x, n) for n in names], None), from_iter)


for _cls in (Bounds, LinearConstraint):
    _register(_cls)
