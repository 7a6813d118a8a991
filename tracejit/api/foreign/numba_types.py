"""Numba's view of jitted functions: their type, and which calls have which types.

This file imports Numba, and is imported when Numba first asks for the type of a jitted function (`_numba_type_`).
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numba
from numba.core import types
from numba.core.datamodel.models import OpaqueModel
from numba.core.typing.templates import fold_arguments
from numba.extending import NativeValue, register_model, unbox
from numba.np.numpy_support import as_dtype

from tracejit.api.common import name_of
from tracejit.api.foreign.numba_calls import dispatcher
from tracejit.api.foreign.promises import Arguments, Leaf
from tracejit.api.foreign.sites import Site
from tracejit.errors import NumbaArgumentError

#: Numba's types of numbers that stand for Python's.
_PYTHONS = (types.boolean, types.int64, types.float64, types.complex128)

_types: weakref.WeakKeyDictionary[Any, JittedType] = weakref.WeakKeyDictionary()


def type_of(jitted: Any) -> JittedType:
    """Numba's type of a jitted function: each has its own."""
    if jitted not in _types:
        _types[jitted] = JittedType(jitted)
    return _types[jitted]


class JittedType(types.Callable, types.Opaque):
    """The type of one jitted function."""

    def __init__(self, jitted: Any) -> None:
        self.jitted = weakref.ref(jitted)
        self.label = name_of(jitted.fun)
        self.calls: dict[tuple[Any, ...], Any] = {}  # dispatchers by argument types
        self.made: dict[tuple[Any, ...], Any] = {}  # those of the signatures
        super().__init__(f"tracejit.Jitted({self.label}, {Site.fresh()})")

    def get_call_type(self, context: Any, args: Sequence[Any], kws: Mapping[str, Any]) -> Any:
        """The signature of a call. Raises what `Site.of` raises, and NumbaArgumentError."""
        jitted: Any = self.jitted()
        parameters = inspect.signature(jitted.fun).parameters
        names = {p.name for p in parameters.values() if p.kind is p.KEYWORD_ONLY}
        signature, folded = self._folded(jitted, args, kws)
        if folded not in self.calls:
            self.calls[folded] = dispatcher(jitted, _arguments(self.label, signature, folded, names))
        inner = self.calls[folded]
        found = types.Dispatcher(inner).get_call_type(context, folded, {})
        self.made[found.args] = inner
        return found.replace(pysig=signature)

    def _folded(
        self, jitted: Any, args: Sequence[Any], kws: Mapping[str, Any]
    ) -> tuple[Any, tuple[Any, ...]]:
        """The function's signature, and the type of each of its parameters."""
        try:
            signature = inspect.signature(jitted.fun)
            parameters = signature.parameters.values()
            if len(args) > sum(p.kind is not p.KEYWORD_ONLY for p in parameters) and all(
                p.kind is not p.VAR_POSITIONAL for p in parameters
            ):
                raise TypeError("too many positional arguments")
            plain = signature.replace(parameters=list(map(_plain, parameters)))
            folded = fold_arguments(
                plain,
                args,
                kws,
                lambda _, p, t: types.unliteral(t),
                lambda _, p, default: types.Omitted(default),
                lambda _, p, many: types.StarArgTuple([types.unliteral(t) for t in many]),
            )
        except (TypeError, ValueError, numba.TypingError) as e:
            raise NumbaArgumentError(function=self.label, problem=str(e)) from None
        return plain, tuple(folded)

    def get_call_signatures(self) -> tuple[Any, bool]:
        return [d.nopython_signatures[0] for d in self.calls.values()], True

    def get_impl_key(self, sig: Any) -> Any:
        return self.made[sig.args].get_overload(sig.args)


def _plain(p: inspect.Parameter) -> inspect.Parameter:
    """A parameter as Numba knows it: it can't fold those that are given by name only."""
    return p.replace(annotation=p.empty, kind=p.POSITIONAL_OR_KEYWORD if p.kind is p.KEYWORD_ONLY else p.kind)


register_model(JittedType)(OpaqueModel)


@unbox(JittedType)
def _unbox(typ: Any, obj: Any, c: Any) -> Any:
    return NativeValue(c.context.get_dummy_value())


# ---------------------------------------------------------------- arguments


def _arguments(
    function: str, signature: inspect.Signature, given: Sequence[Any], only_named: Collection[str]
) -> Arguments:
    """The arguments of these types. Raises NumbaArgumentError."""
    positional, named, by_name = [], [], False
    t: Any
    for n, (p, t) in enumerate(zip(signature.parameters.values(), given, strict=True)):
        by_name = by_name or p.name in only_named or type(t) is types.Omitted
        if type(t) is types.Omitted:
            continue
        owner: int | str = p.name if by_name else n
        if p.kind is p.VAR_POSITIONAL:
            many: Any = t
            positional += [_tree(function, part, n + k) for k, part in enumerate(many)]
        elif by_name:
            named.append((p.name, _tree(function, t, owner)))
        else:
            positional.append(_tree(function, t, owner))
    return Arguments(tuple(positional), tuple(named))


def _tree(function: str, t: Any, owner: int | str) -> Any:
    """The tree of leaves of one argument."""
    if isinstance(t, types.Array):
        if not t.aligned:
            raise NumbaArgumentError(function=function, problem="an array that is not aligned")
        return Leaf(as_dtype(t.dtype).str, t.ndim, owner, t.layout == "C", t.mutable)
    if isinstance(t, (types.Number, types.Boolean)):
        return Leaf(as_dtype(t).str, None, owner, python=t in _PYTHONS)
    if isinstance(t, types.NoneType):
        return ("value", None)
    if isinstance(t, types.BaseTuple):
        parts = [_tree(function, part, owner) for part in t]  # type: ignore[attr-defined]
        kind = getattr(t, "instance_class", None)
        return ("fields", kind, *parts) if kind is not None else ("tuple", *parts)
    raise NumbaArgumentError(function=function, problem=f"it is given a {t}")
