"""Hashes of `hashlib`, and check sums of `zlib` and `binascii`, of bytes that are traced.

The program computes an array of these bytes, of which the library makes the hash after the run: a digest in hexadecimal
is text of the program, as an f-string is. Numbers and bytes of hashes are asked of the library while the program runs.
"""

from __future__ import annotations

import binascii
import functools
import hashlib
import types
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit.control.callbacks.ops import pure_callback
from tracejit.errors import UnfollowedError
from tracejit.frontend import active
from tracejit.frontend.origins import StandsFor
from tracejit.frontend.raw.numbers import Raw, RawBytes
from tracejit.frontend.text.deferred import asked, recipe_of, text_of
from tracejit.frontend.text.recipes import Known, Made, Recipe, listed
from tracejit.frontend.text.shown import parts_of
from tracejit.ir.avals import Aval
from tracejit.tracing import Box

_NAMES = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")
_BYTES = (bytes, bytearray)


def _hashed(name: str, parts: tuple[bytes, ...]) -> Any:
    made = hashlib.new(name, usedforsecurity=False)
    for part in parts:
        made.update(part)
    return made


def _hexdigest(name: str, parts: tuple[bytes, ...]) -> str:
    return _hashed(name, parts).hexdigest()


class _Digest(NamedTuple):
    """Gives the bytes of a digest, from the arrays of which the bytes are made that it is of."""

    name: str
    recipe: Recipe
    by_value = True

    @property
    def __name__(self) -> str:
        return f"hashlib.{self.name}"

    def __call__(self, *arrays: Any) -> Any:
        return np.frombuffer(_hashed(self.name, self.recipe(iter(arrays))).digest(), np.uint8)


class Hash(StandsFor):
    """What stands for a hash that traced code makes: `tj_parts` are the bytes that it has been given."""

    __slots__ = ("tj_name", "tj_parts")
    #: What loops and branches carry, as attributes of an object.
    tj_followed = ("tj_parts",)

    def __init__(self, name: str, parts: tuple[Any, ...]) -> None:
        self.tj_name, self.tj_parts = name, parts

    def update(self, data: Any, /) -> None:
        """As of Python's own."""
        self.tj_parts = (*self.tj_parts, _part(data))

    def _recipe(self) -> tuple[Recipe, list[Any]]:
        made = [recipe_of(x) for x in self.tj_parts]
        return Made(listed, tuple([r for r, _ in made])), [v for _, values in made for v in values]

    def hexdigest(self) -> Any:
        """As of Python's own."""
        recipe, values = self._recipe()
        return text_of(Made(_hexdigest, (Known(self.tj_name), recipe)), values)

    def digest(self) -> Any:
        """As of Python's own."""
        recipe, values = self._recipe()
        if not values:
            return _hashed(self.tj_name, recipe(iter(()))).digest()
        spec = Aval((self.digest_size,), np.dtype(np.uint8))
        found = pure_callback(_Digest(self.tj_name, recipe), spec, *values, vmap_method="sequential")
        return RawBytes(bytes, "B", found)

    def copy(self) -> Hash:
        """As of Python's own."""
        return Hash(self.tj_name, self.tj_parts)

    def __getattr__(self, name: str) -> Any:
        if name[:3] == "tj_":
            raise AttributeError(name)
        return getattr(self.tj_example(), name)

    @property
    def tj_kind(self) -> type:
        return type(self.tj_example())

    def tj_example(self) -> Any:
        """Python's own, of nothing."""
        return _hashed(self.tj_name, ())


def _part(data: Any) -> Any:
    """Bytes that a hash is given, as they are now. Raises what Python raises for what are none."""
    if type(data) is RawBytes or type(data) is bytes:
        return data
    if isinstance(data, Raw):
        return RawBytes(bytes, "B", data.tj_box.view(np.uint8).copy())
    if type(data) in _BYTES or isinstance(data, (str, int, float, type(None))):
        hashlib.md5(data, usedforsecurity=False)  # type: ignore[arg-type]
        return bytes(data)  # type: ignore[arg-type]
    raise UnfollowedError(what="what a hash is given", reason="the memory of it is needed")


def _form(function: Callable[..., Any]) -> Callable[..., Any]:
    name = function.__name__.removeprefix("openssl_")

    @functools.wraps(function)
    def form(*args: Any, **kwargs: Any) -> Any:
        session = active.session()
        if session is None or not session.guarded or kwargs.keys() - {"usedforsecurity"} or len(args) > 1:
            return function(*args, **kwargs)
        return Hash(name, tuple(map(_part, args)))

    return form


def _sum_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """A check sum: an integer of 32 bits."""

    @functools.wraps(function)
    def form(*args: Any) -> Any:
        if not any(isinstance(x, Raw) or type(x) is Box for x in args):
            return function(*args)
        return asked(function, np.int64, *[_Number(x) if type(x) is Box else x for x in args])

    return form


class _Number(NamedTuple):
    """A number that a function is given."""

    value: Box

    def tj_recipe(self) -> tuple[Recipe, tuple[Any, ...]]:
        """How Python's own is made, and of what."""
        return parts_of(self.value)


#: What enters the table of functions, and the modules in which traced code finds functions of this file.
FORMS: dict[Any, Any] = {
    **{getattr(hashlib, n): _form(getattr(hashlib, n)) for n in _NAMES},
    **{f: _sum_of(f) for f in (zlib.crc32, zlib.adler32, binascii.crc32)},
}
MODULES = {n: types.SimpleNamespace() for n in ("hashlib", "zlib", "binascii")}
