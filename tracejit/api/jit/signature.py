"""Signatures of calls: what of the arguments is traced, what is part of the key, and jit's options."""

from __future__ import annotations

import copy
import inspect
import operator
import weakref
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit import dtypes, frontend, tree
from tracejit.api.common import argument_names, is_scalar, is_weak, name_of
from tracejit.api.introspect import Extent, ShapeDtypeStruct, leaf_aval
from tracejit.api.jit.followed import Followed, can_be_followed, take_apart
from tracejit.config import config
from tracejit.errors import ArraySubclassError, BackendError, StaticArgumentError, UnhashableStaticError
from tracejit.frontend.checks import leave_swapped
from tracejit.frontend.shadows import behind
from tracejit.interpreters.jit import NEAR
from tracejit.interpreters.stage import bounds_of
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.elsewhere import HOST
from tracejit.ir.values import Value
from tracejit.numpy.boxes import extents
from tracejit.numpy.captured.array import CapturedArray
from tracejit.tracing import Box, is_tracing, to_raw


class Options:
    """jit's options, positions resolved against the function's signature."""

    def __init__(
        self,
        fun: Callable[..., Any],
        static_argnums: Any,
        static_argnames: Any,
        donate_argnums: Any,
        donate_argnames: Any,
        inline: bool,
        keep_unused: bool,
        fastmath: bool,
        capture: bool,
        fallback: bool | None = None,
        backend: str = "llvm",
        device: Any = None,
    ) -> None:
        BackendError.check(backend)
        self.static_nums, self.static_names = _resolve(fun, static_argnums, static_argnames, "static_argnums")
        self.donate_nums, self.donate_names = _resolve(fun, donate_argnums, donate_argnames, "donate_argnums")
        self.inline, self.keep_unused = inline, keep_unused
        self.fastmath = fastmath
        self.capture = capture
        self.fallback = fallback
        self.on_host = device == HOST  # whatever the default device is
        self.device = None if self.on_host else device
        self.backend = backend if self.device is None else "device"
        #: Arguments that are part of the signature where they are Python integers, found while tracing.
        self.sizes: frozenset[int | str] = frozenset()
        #: Arguments whose containers are followed as objects of outside are, since the function changes them.
        self.followed: frozenset[int | str] = frozenset()

    def with_more(self, sizes: Any, followed: Any = frozenset(), less: Any = frozenset()) -> Options:
        """These options with more sizes, but for some, and more arguments that are followed."""
        new = copy.copy(self)
        new.sizes, new.followed = (self.sizes | sizes) - less, self.followed | followed
        return new

    @property
    def in_key(self) -> frozenset[int]:
        """Positions of arguments that may be part of the signature."""
        return (
            self.static_nums | {n for n in self.sizes if isinstance(n, int)}
            if self.sizes
            else self.static_nums
        )


def _resolve(fun: Any, nums: Any, names: Any, option: str) -> tuple[frozenset[int], frozenset[str]]:
    """Argument numbers and names, each implied by the other where the signature tells."""
    number_set = {nums} if isinstance(nums, int) else set(nums or ())
    name_set = {names} if isinstance(names, str) else set(names or ())
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        return frozenset(number_set), frozenset(name_set)
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    for n in list(number_set):
        if not variadic and not -len(positional) <= n < len(positional):
            problem = f"takes {len(positional)} positional arguments"
            raise StaticArgumentError(option=option, value=n, function=name_of(fun), problem=problem)
        if n < 0:
            number_set = {*number_set - {n}, n + len(positional)}
    for name in name_set:
        if name not in {p.name for p in parameters} and not any(p.kind is p.VAR_KEYWORD for p in parameters):
            problem = "has no such parameter"
            raise StaticArgumentError(
                option=option.replace("nums", "names"), value=name, function=name_of(fun), problem=problem
            )
    number_set |= {positional.index(n) for n in name_set if n in positional}
    name_set |= {positional[n] for n in number_set if n < len(positional)}
    return frozenset(number_set), frozenset(name_set)


class _Leaf(NamedTuple):
    """In a signature, the position of a leaf; a plain number is that of an argument."""

    position: int


class Call:
    """One call's arguments: dynamic leaves (arrays and numbers), static arguments, and fixed leaves:
    strings, functions, objects, which are part of the signature like static arguments."""

    def __init__(self, fun: Any, options: Options, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.fun = fun
        self.options = options
        self.num_args = len(args)
        self.static = {n: args[n] for n in options.static_nums if n < len(args)}
        self.static_kwargs = {k: v for k, v in kwargs.items() if k in options.static_names}
        if options.sizes:
            given = [*enumerate(args), *kwargs.items()]
            found = {k: n for k, v in given if k in options.sizes and (n := as_size(v)) is not None}
            self.static |= {k: v for k, v in found.items() if isinstance(k, int)}
            self.static_kwargs |= {k: v for k, v in found.items() if isinstance(k, str)}
        self.dynamic = tuple([a for n, a in enumerate(args) if n not in self.static])
        self.kwargs = {k: v for k, v in kwargs.items() if k not in self.static_kwargs}
        self.outermost = not is_tracing()
        followed = self._followed() if options.followed and self.outermost else {}
        leaves, self.structure = take_apart(self, followed)
        self.fixed = {n: behind.original(x) for n, x in enumerate(leaves) if not is_array_like(x)}
        kinds = {n: kind for n, x in self.fixed.items() if (kind := _kind_of(x)) is not None}
        #: Of the fixed leaves the arguments whose containers are followed.
        self.followed = frozenset(n for n in kinds if type(self.fixed[n]) is Followed)
        self.followed_keys = frozenset(followed)
        #: The dynamic arguments whose containers are part of the signature.
        given = [*zip(self.positions(), self.dynamic, strict=True), *self.kwargs.items()]
        self.taken_apart = tuple([x for k, x in given if k not in followed])
        for n in self.followed:
            self.fixed[n] = self.fixed[n].value
        #: Of the fixed leaves that are followed, whatever object they are, what belongs into the signature.
        self.kinds: dict[int, Any] = kinds
        self.objects = [self.fixed[n] for n in kinds]
        self.leaves = [x for n, x in enumerate(leaves) if n not in self.fixed] if self.fixed else leaves
        if config.fallback if options.fallback is None else options.fallback:
            _leave_others(self.leaves, options.device is not None)
        self.weak = [is_weak(x) for x in self.leaves]
        self.scalar = [is_scalar(x) for x in self.leaves]
        self.bounds = [_bounds(x, w) for x, w in zip(self.leaves, self.weak, strict=True)]
        self.raw = [x if isinstance(x, ShapeDtypeStruct) else _raw_argument(x) for x in self.leaves]
        self.path: tuple[Any, ...] = ()  # what its program takes for known, the first values
        self.over = False  # whether Python may do the call over: an outermost one, with fallback

    def _followed(self) -> dict[int | str, Followed]:
        """The arguments whose containers are followed, as leaves."""
        keys = [k for k in self.options.followed if k in self.kwargs or (k in range(self.num_args))]
        found = {k: self.argument(k) for k in keys if k not in self.static}
        return {k: Followed(x) for k, x in found.items() if self.may_follow(k)}

    def may_follow(self, key: int | str) -> bool:
        """Whether the containers of an argument can be followed: outside of other transformations, where all nodes of
        its structure are Python's containers or dataclasses."""
        if not self.outermost or key in self.options.donate_nums or key in self.options.donate_names:
            return False
        return can_be_followed(self.argument(key))

    def key(self) -> tuple[Any, ...]:
        """The signature; Raises UnhashableStaticError."""
        items = [*self.static.items(), *sorted(self.static_kwargs.items())]
        for name, value in items:
            try:
                hash(value)
            except TypeError as e:
                label = argument_names(self.fun, name + 1)[name] if isinstance(name, int) else f"`{name}`"
                raise UnhashableStaticError(
                    argument=label, function=name_of(self.fun), type=type(value).__name__
                ) from e
        statics = tuple((name, type(value), value) for name, value in items)
        statics += tuple(
            (_Leaf(n), type(x), self.kinds.get(n) or _identity(x)) for n, x in self.fixed.items()
        )
        avals = tuple([_signature(x) for x in self.raw])
        aliasing = _aliasing(self.leaves)
        kinds = (tuple(self.weak), tuple(self.scalar), tuple([b is not None for b in self.bounds]))
        return self.structure, statics, avals, kinds, self.num_args, aliasing

    def rebuild(
        self, boxes: list[Any], objects: Sequence[Any], others: dict[int, Any] | None = None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """(args, kwargs) with the dynamic leaves replaced by `boxes`, those that are followed by `objects`, and other
        fixed leaves by `others`."""
        given = iter(boxes)
        count = len(boxes) + len(self.fixed)
        fixed = self.fixed | (others or {}) | dict(zip(self.kinds, objects, strict=True))
        leaves = [fixed[n] if n in fixed else next(given) for n in range(count)]
        dynamic, kwargs = tree.unflatten(self.structure, leaves)
        it = iter(dynamic)
        args = tuple(self.static[n] if n in self.static else next(it) for n in range(self.num_args))
        return args, {**kwargs, **self.static_kwargs}

    def avals(self) -> list[Aval]:
        return [leaf_aval(x) if isinstance(x, ShapeDtypeStruct) else aval_of(x) for x in self.raw]

    def positions(self) -> list[int]:
        """Those of the dynamic arguments."""
        return [n for n in range(self.num_args) if n not in self.static]

    def argument(self, key: int | str) -> Any:
        """The argument of a position or a keyword."""
        if isinstance(key, str):
            return self.static_kwargs[key] if key in self.static_kwargs else self.kwargs[key]
        positions = self.positions()
        return self.static[key] if key in self.static else self.dynamic[positions.index(key)]

    def argument_name(self, key: int | str) -> str:
        """How messages call the argument of a position or a keyword."""
        return f"`{key}`" if isinstance(key, str) else argument_names(self.fun, self.num_args)[key]

    def owners(self) -> list[tuple[int | str, str]]:
        """For each leaf the argument it belongs to (position or keyword) and its path inside that, in the
        order of the leaves: keywords come as the caller wrote them."""
        positions = self.positions()
        return [
            (a[1].entry if a[0].entry else positions[a[1].entry], a[2:].codify(""))
            for n, a in enumerate(self.structure.accessors())
            if n not in self.fixed
        ]

    def names(self) -> list[str]:
        """How messages call each leaf."""
        known = argument_names(self.fun, self.num_args)
        return [f"`{k}`{path}" if isinstance(k, str) else f"{known[k]}{path}" for k, path in self.owners()]

    def fixed_name(self, leaf: int) -> str:
        """How messages call a leaf that is part of the signature."""
        a = self.structure.accessors()[leaf]
        known = argument_names(self.fun, self.num_args)
        positions = self.positions()
        owner = f"`{a[1].entry}`" if a[0].entry else known[positions[a[1].entry]]
        return f"{owner}{a[2:].codify('')}"

    def donated(self) -> tuple[int, ...]:
        """Positions among the leaves of donated arrays."""
        options = self.options
        if not options.donate_nums and not options.donate_names:
            return ()
        donated = {*options.donate_nums, *options.donate_names}
        return tuple(n for n, (k, _) in enumerate(self.owners()) if k in donated)


def _bounds(x: Any, weak: bool) -> tuple[int, int] | None:
    """The range that a program for arguments like `x` may count on, if that is a Python integer and no large one."""
    if type(x) is Extent:
        return (0, NEAR)
    if type(x) is int:
        return (-NEAR, NEAR) if abs(x) <= NEAR else None
    if type(x) is Box and weak and x.aval.dtype.kind == "i" and not x.aval.shape:
        known = bounds_of(x.read())
        return (-NEAR, NEAR) if known is not None and known[0] >= -NEAR and known[1] <= NEAR else None
    return None


def as_size(x: Any) -> Any:
    """A Python integer or truth value, or a tuple of them; None for anything else. In a vmap, integers that are not
    mapped are boxes of known values."""
    if type(x) is int or type(x) is bool:
        return x
    if type(x) is Box and x.weak and not x.aval.shape and x.aval.dtype.kind in "bi":
        known = extents.known(x.read())
        return None if known is None else known.item()
    if type(x) is tuple and x:
        parts = tuple(map(as_size, x))
        if None in parts:
            return None
        return x if all(map(operator.is_, parts, x)) else parts  # it may be handed back
    return None


def _leave_others(leaves: list[Any], on_device: bool) -> None:
    """Raises for arrays of a user's class, or in the other byte order: results have these, too, but on devices."""
    for x in leaves:
        if isinstance(x, np.ndarray) and type(x) not in _ARRAYS:
            raise ArraySubclassError(what="an argument", type=type(x).__name__)
        leave_swapped(None if on_device else x)


#: Arrays whose functions give plain arrays, and Python's own numbers.
_ARRAYS, _NUMBERS = (np.ndarray, np.memmap, np.recarray, CapturedArray), (bool, int, float, complex)


def is_array_like(x: Any) -> bool:
    """Arrays, boxes, numbers and their stand-ins: leaves that are traced."""
    if isinstance(x, np.ndarray) and dtypes.structure_of(x.dtype) is not None:
        return False  # its fields are followed
    known = isinstance(x, (np.ndarray, np.generic, Box, ShapeDtypeStruct, Value)) or type(x) in _NUMBERS
    return known or (hasattr(type(x), "__array__") and not isinstance(x, type))


def _raw_argument(x: Any) -> Any:
    """The raw value of a leaf. Raises ArraySubclassError for others with `__array__`, such as a pandas.Series."""
    if not isinstance(x, (np.ndarray, np.generic, Box, CapturedArray, Value, *_NUMBERS)):
        raise ArraySubclassError(what="an argument", type=type(x).__name__)
    return to_raw(x, "an argument")


class _ById:
    """An object as a key: itself, whatever its class says of equality. It is not kept alive if it can be known that
    it is gone."""

    __slots__ = ("_id", "_ref")

    def __init__(self, obj: Any) -> None:
        self._id = id(obj)
        self._ref = reference(obj)

    @property
    def obj(self) -> Any:
        """The object; None if it is gone."""
        return self._ref()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other._id == self._id and other.obj is self.obj is not None

    def __hash__(self) -> int:
        return self._id


def reference(x: Any) -> Callable[[], Any]:
    """A function that gives `x`, or None when it is gone: what can't be referred to weakly stays."""
    try:
        return weakref.ref(x)
    except TypeError:
        return lambda: x


#: Of these the values are part of the signature.
BY_VALUE = (str, bytes, range)
#: Numbers of Python and NumPy.
SCALARS = (bool, int, float, complex, np.generic)


def _kind_of(x: Any) -> Any:
    """What of a fixed leaf that is followed belongs into the signature; None of others."""
    return type(x.value) if type(x) is Followed else frontend.kind_of(x)


def _identity(x: Any) -> Any:
    """A fixed leaf that isn't followed as a key: strings by value, other objects by identity."""
    return x if isinstance(x, BY_VALUE) else _ById(x)


def is_dead(key: Any) -> bool:
    """Whether no call can have this signature any more: an object that it names is gone."""
    return any(type(value) is _ById and value.obj is None for _, _, value in key[1])


def _signature(x: Any) -> Any:
    a = leaf_aval(x) if isinstance(x, ShapeDtypeStruct) else aval_of(x)
    return a.shape, a.dtype


def _aliasing(leaves: list[Any]) -> tuple[int, ...]:
    """For boxes given twice (inside another trace): which leaves are the same object."""
    if not any(type(x) is Box for x in leaves):
        return ()
    first: dict[int, int] = {}
    return tuple(first.setdefault(id(x), n) if type(x) is Box else n for n, x in enumerate(leaves))


def fast_key(
    static: Collection[int],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    known_by: Callable[[Any], Any] = id,
) -> Any:
    """A cheap signature, by which a call finds the function made for calls like it; None if it can't have one.
    `static` are the positions of static arguments; `known_by` tells objects apart."""
    try:
        leaves, structure = tree.flatten_ordered((args, kwargs) if kwargs else args)
        key = (
            structure,
            tuple([_key(x, known_by) for x in leaves]),
            tuple([args[n] for n in static if n < len(args)]),
        )
        hash(key)
    except (TypeError, RecursionError):  # the latter of arguments that hold themselves
        return None
    return key


def _key(x: Any, known_by: Callable[[Any], Any]) -> Any:
    """Numbers may change between calls like each other, objects not."""
    if type(x) is np.ndarray or isinstance(x, ShapeDtypeStruct):  # on a device they are in C order
        return x.dtype, x.shape, getattr(x, "strides", None)
    if isinstance(x, SCALARS):
        return type(x), None
    return type(x), x if isinstance(x, BY_VALUE) else known_by(x)
