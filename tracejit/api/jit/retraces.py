"""Why a jitted function is traced again: the argument or the name that changed, before and after."""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable
from typing import Any

from tracejit.api.common import argument_names, name_of
from tracejit.api.jit.programs import Program
from tracejit.api.jit.signature import Call
from tracejit.interpreters import messages
from tracejit.ir.avals import Aval

_COMPARED = 8  # known signatures that a new one is compared with, the newest first
_SHOWN = 4  # differences in one message


def tell_why(call: Call, key: Any, known: dict[Any, list[Any]]) -> str | None:
    """Say why a function is traced again; gives the reason, or None if it is traced for the first time."""
    why = why_traced(call, key, known) if known else None
    if why is not None:
        text = f"{name_of(call.fun)} is traced again: {why}"
        messages.debug(1, f"tracejit: {text}")
        messages.log(text)
    return why


def tell_sizes(call: Call, keys: Collection[int | str]) -> None:
    """Say which arguments, if any, are part of the signature from now on."""
    if not keys:
        return
    names = ", ".join(f"{call.argument_name(key)}={call.argument(key)!r}" for key in keys)
    text = f"{name_of(call.fun)} is traced for every value of {names}: sizes or conditions depend on it"
    messages.debug(1, f"tracejit: {text}")
    messages.log(text)


def why_traced(call: Call, key: Any, known: dict[Any, list[Any]]) -> str | None:
    """What differs between the call of signature `key` and what was traced before; None if nothing was."""
    variants = known.get(key)
    if variants:
        if variants[0].over not in (None, call.over):
            return "whether Python may do the call over changed"
        if call.path:
            return f"a condition or an integer that it depends on was {call.path[-1]}"
        return variants[0].guards.why(*call.objects) or _layouts(call, variants[0]) or "its guards hold again"
    found = [differences(call, old, key) for old in list(reversed(known))[:_COMPARED]]
    if not found:
        return None
    best = min(found, key=_distance)
    more = f" and {len(best) - _SHOWN} more" if len(best) > _SHOWN else ""
    return "; ".join(best[:_SHOWN]) + more


def _layouts(call: Call, program: Program) -> str | None:
    """Arguments and captured arrays that lie in memory otherwise than a program was traced for."""
    consts = program.constants(call.objects)
    if consts is None:
        return None
    places = program.misplaced([*consts, *call.leaves])
    names = [call.names()[n - len(consts)] for n in places if n >= len(consts)]
    if names:
        return f"the order in memory of argument {', '.join(names)} changed"
    return "the order in memory of a captured array changed" if places else None


def _distance(found: list[str]) -> int:
    """Another way of calling is further away than other values."""
    return len(found) + _COMPARED * any("number of positional" in text for text in found)


def differences(call: Call, old: Any, new: Any) -> list[str]:
    """How the signature `new`, that of `call`, differs from the signature `old`, in words."""
    if old[4] != new[4]:
        return [f"the number of positional arguments changed from {old[4]} to {new[4]}"]
    out = _statics(call, dict(_named(old[1])), dict(_named(new[1])))
    if old[0] != new[0]:
        return out + _structures(call, old[0], new[0])
    before, after = _leaves(old), _leaves(new)
    if len(before) == len(after) and before != after:
        rows = zip(call.names(), before, after, strict=True)
        out += [f"argument {name} changed from {_leaf(*a)} to {_leaf(*b)}" for name, a, b in rows if a != b]
    if old[5] != new[5]:
        out.append("which arguments are the same array changed")
    return out


def _named(statics: Iterable[Any]) -> Iterable[tuple[Any, tuple[type, Any]]]:
    return ((name, (cls, value)) for name, cls, value in statics)


def _statics(call: Call, old: dict[Any, Any], new: dict[Any, Any]) -> list[str]:
    """Static arguments, and leaves that are no arrays."""
    out = []
    for name in [*old, *(n for n in new if n not in old)]:
        a, b = old.get(name), new.get(name)
        if a != b:
            out.append(f"{_static_name(call, name)} changed from {_static(a)} to {_static(b)}")
    return out


def _static_name(call: Call, name: Any) -> str:
    if isinstance(name, str):
        return f"static argument `{name}`"
    if isinstance(name, int):
        return f"static argument {argument_names(call.fun, name + 1)[name]}"
    known = name.position in call.fixed
    return f"argument {call.fixed_name(name.position)}" if known else "an argument that is no array"


def _static(entry: Any) -> str:
    if entry is None:
        return "nothing"
    value = getattr(entry[1], "obj", entry[1])
    if isinstance(value, types.CodeType):
        return f"the function {value.co_name} of line {value.co_firstlineno}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _structures(call: Call, old: Any, new: Any) -> list[str]:
    """Arguments whose trees differ."""
    (old_args, old_kwargs), (new_args, new_kwargs) = old.children(), new.children()
    if len(old_args.children()) != len(new_args.children()):
        return ["which arguments are part of the signature changed"]
    labels = [n for n in range(call.num_args) if n not in call.static]
    names = argument_names(call.fun, call.num_args)
    pairs = zip(labels, old_args.children(), new_args.children(), strict=True)
    out = [
        f"the structure of argument {names[n]} changed from {_tree(a)} to {_tree(b)}"
        for n, a, b in pairs
        if a != b
    ]
    if old_kwargs != new_kwargs:
        a, b = (", ".join(map(str, k.entries())) or "none" for k in (old_kwargs, new_kwargs))
        what = "the keyword arguments" if a != b else "the structure of the keyword arguments"
        a, b = (a, b) if a != b else (_tree(old_kwargs), _tree(new_kwargs))
        out.append(f"{what} changed from {a} to {b}")
    return out


def _tree(structure: Any) -> str:
    """A structure in short: `{'a': *}`."""
    return str(structure).removeprefix("PyTreeSpec(").removesuffix(")").partition(", namespace=")[0]


def _leaves(key: Any) -> list[tuple[Any, ...]]:
    """(shape, dtype, Python's?, a scalar?, a small integer?) of each leaf."""
    return [(*aval, *kinds) for aval, *kinds in zip(key[2], *key[3], strict=True)]


def _leaf(shape: Any, dtype: Any, weak: bool, scalar: bool, near: bool) -> str:
    """The type of a leaf in words."""
    if weak:
        size = "large " if dtype.kind == "i" and not near else ""
        return f"a {size}Python {type(dtype.type(0).item()).__name__}"
    return f"{Aval(shape, dtype)} (a NumPy scalar)" if scalar else str(Aval(shape, dtype))
