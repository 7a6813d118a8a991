"""From a function to the description of its program: traced, compiled, and refused where a file can't have it."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.api.autodiff.derivatives import vjp
from tracejit.api.common import argument_names, name_of
from tracejit.api.exporting import checks, parts, sizes, structures
from tracejit.api.exporting.values import Unstorable, encode
from tracejit.api.introspect import ShapeDtypeStruct
from tracejit.api.jit.jitted import Jitted, jit
from tracejit.api.jit.placing import for_a_file
from tracejit.api.jit.programs import Program
from tracejit.api.jit.signature import Call
from tracejit.api.running import run_user
from tracejit.dtypes import is_inexact
from tracejit.errors import ExportedSizeError, ExportRefusedError
from tracejit.errors.refusals import attempt
from tracejit.interpreters import jit as native
from tracejit.interpreters import jit_stored
from tracejit.interpreters.eval import ROOT
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.jaxpr import DRAWN
from tracejit.ops.creation import times
from tracejit.tracing import use_trace

#: What a program is exported with, where a file needs it.
Description = dict[str, Any]


def jitted(f: Callable[..., Any]) -> Jitted:
    """The function, jitted for export: nothing is donated, and what can't be compiled is refused."""
    made = f if isinstance(f, Jitted) else jit(f)
    options = copy.copy(made.options)
    options.donate_nums, options.donate_names, options.fallback = frozenset(), frozenset(), False
    return Jitted(made.fun, options)


def describe(
    written: jit_stored.Written, function: Jitted, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Description:
    """The description of a function's program for such arguments. Raises ExportRefusedError, and what tracing the
    function raises."""
    args, kwargs = _types(args), {k: _types(v) for k, v in kwargs.items()}
    names = sizes.names_in((args, kwargs))
    if not names:
        return _described(written, function, args, kwargs, names)
    sized, types, more = sizes.with_sizes(function, names, args, kwargs)
    try:
        with attempt(Exception):
            return _described(written, sized, types, more, names)
    except Exception as e:
        numbers = {name: 11 + 2 * n for n, name in enumerate(names)}
        if not _is_described(function, sizes.replaced(args, numbers), sizes.replaced(kwargs, numbers)):
            raise
        said = str(e).splitlines()[0].rstrip(".")
        which = f"{name_of(function.fun)} can't be exported for any size {', '.join(names)}"
        problem = f"{which}, but for numbers only: {said}"
        raise ExportedSizeError(problem=problem, where=getattr(e, "where", None)) from e


def _is_described(function: Jitted, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a function can be exported for types whose sizes are numbers."""
    try:
        with attempt(Exception):
            _described(jit_stored.Written(), function, args, kwargs, [])
    except Exception:
        return False
    return True


def _described(
    written: jit_stored.Written,
    function: Jitted,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    names: Sequence[str],
) -> Description:
    """The description of a function's program for these types; `names` are those of the sizes among them."""
    name = name_of(function.fun)
    with use_trace(ROOT):
        with for_a_file():
            lowering = function.lower(*args, **kwargs)
        program, call = lowering.program, lowering._call
        try:
            return _Maker(written, name, program, call, lowering._consts, names).description()
        except Unstorable as e:
            raise _refusal(name, f"a file has no place for {e}") from None


def _types(x: Any) -> Any:
    """An argument with the types of its arrays in their places: they are in C order."""
    if type(x) is np.ndarray:
        return ShapeDtypeStruct(x.shape, x.dtype)
    if type(x) in (tuple, list):
        return type(x)(map(_types, x))
    if isinstance(x, dict):
        new = copy.copy(x)
        new.update((k, _types(v)) for k, v in x.items())
        return new
    return type(x)(*map(_types, x)) if isinstance(x, tuple) and hasattr(x, "_fields") else x


def _refusal(
    function: str, problem: str, remedy: str = "leave that out, or do it outside"
) -> ExportRefusedError:
    return ExportRefusedError(function=function, problem=problem, remedy=remedy)


class _Maker:
    """Describes one traced program."""

    def __init__(
        self,
        written: jit_stored.Written,
        name: str,
        program: Program,
        call: Call,
        consts: Sequence[Any],
        names: Sequence[str],
    ) -> None:
        self.written = written
        self.name = name
        self.program = program
        self.call = call
        self.consts = consts
        self.names = names
        self._refuse(_unfit(program, call, len(consts)))
        self.captured = [np.array(native.operand(c), order="K", copy=True) for c in consts]
        layouts = [native.c_strides(a.shape) if a.is_static else None for a in call.avals()]
        strides = (*(native.element_strides(a) for a in self.captured), *layouts)
        self.compiled = program.without_warnings().machine(strides)
        self._refuse(_unfit_code(self.compiled))
        self.in_order: set[int] = (
            set()
        )  # leaves that must be in C order, besides those that tracing has asked about

    def _refuse(self, problems: Iterator[tuple[str, str]]) -> None:
        for problem, remedy in problems:
            raise _refusal(self.name, problem, remedy)

    def description(self) -> Description:
        program, call, first = self.program, self.call, len(self.consts)
        count = len(call.leaves)
        args, kwargs = call.rebuild([structures.Leaf(n) for n in range(count)], [])
        args = args[1:] if self.names else args
        shown = [self._part(p) for p in program.parts]
        places = [structures.Leaf(n) for n in range(len(program.results))]
        return {
            "name": self.name,
            "arguments": structures.describe((args, kwargs)),
            "sizes": list(self.names),
            "leaves": [self._leaf(n) for n in range(count)],
            "result": structures.describe(tree.unflatten(program.out_tree, places)),
            "results": [self._result(kind, x) for kind, x in program.results],
            "parts": shown,
            "python": sorted(program.python),
            "written": [n - first for n in program.written],
            "program": jit_stored.describe(
                self.written, self.compiled, self.captured, checks.describe, encode
            ),
        }

    def _leaf(self, n: int) -> dict[str, Any]:
        call, aval = self.call, self.call.avals()[n]
        if n < len(self.names):
            size = {"name": self.names[n], "kind": "python", "dtype": "int64", "shape": []}
            return {**size, "wide": False, "ordered": False}
        kind = "python" if call.weak[n] else "scalar" if call.scalar[n] else "array"
        needed = len(self.consts) + n in self.program.needed
        return {
            "name": call.names()[n].replace("`", ""),
            "kind": kind,
            "dtype": aval.dtype.name,
            "shape": sizes.shown(aval.shape, self.names),
            "wide": call.bounds[n] is None,
            "ordered": (needed or n in self.in_order) and len(aval.shape) > 0,
        }

    def _result(self, kind: str, x: Any) -> list[Any]:
        if kind == "value":
            return [kind, encode(x)]
        if kind == "given":
            key, steps = x
            key = key - 1 if self.names and isinstance(key, int) else key
            return [kind, [key, [[is_attribute, encode(k)] for is_attribute, k in steps]]]
        if kind not in ("out", "array", "arg", "const", "part"):
            raise Unstorable("a result that is an object which Python makes")
        return [kind, x]

    def _part(self, part: Any) -> Any:
        kind, n = getattr(part, "base", ("out", 0))
        if kind == "arg":
            self.in_order.add(n)
            return parts.describe(part, self.call.avals()[n])
        if kind == "const":
            return parts.describe(part, aval_of(self.captured[n]), self.captured[n])
        return parts.describe(part, self.compiled.lowered.out_avals[n])


def _unfit(program: Program, call: Call, consts: int) -> Iterator[tuple[str, str]]:
    """What of a traced program has no place in a file, with a remedy."""
    if program.store is not None:
        what = ", ".join(c.what for c in program.store.changes[:2]) or "results that Python makes"
        yield f"it keeps state or makes objects ({what})", "return what it changes as arrays and numbers"
    if call.objects:
        what = ", ".join(call.fixed_name(n) for n in call.kinds)
        yield f"{what} is an object, whose class a file does not have", "give it the arrays that it needs"
    if program.distinct:
        yield "it asks which of its inputs are one array", "compare what they hold"
    if DRAWN in program.jaxpr.effects:
        yield "it draws from a generator of random numbers", "draw by keys (`tracejit.random`), or outside"
    if times.occur(program.jaxpr):
        yield "it has dates or times", "give it integers, such as `x.view(int)`"
    if any(n < consts for n in program.written):
        yield "it writes into a captured array, of which the file has a copy", "let it be an argument"


def _unfit_code(compiled: native.Compiled) -> Iterator[tuple[str, str]]:
    """What of a compiled program has no place in a file, with a remedy."""
    names = jit_stored.python_calls(compiled)
    if names:
        yield f"it calls Python for {', '.join(names)}", "leave that out, or do it outside"
    if jit_stored.foreign_calls(compiled):
        yield "it calls foreign compiled code by address", "leave that out, or do it outside"


# ---------------------------------------------------------------- gradients


def backward(f: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The function of the arguments of `f`, of which `count` are given by position, and a cotangent of its result that
    gives the cotangents of the arguments: a tuple, in which None stands for what has no derivative. In the result's
    cotangent so it does, too."""

    def pull(*given: Any, **kwargs: Any) -> Any:
        *args, cotangent = given
        leaves, structure = tree.flatten(tuple(args))
        real = [n for n, x in enumerate(leaves) if _is_real(x)]

        def of_reals(*values: Any) -> tuple[Any, ...]:
            for n, x in zip(real, values, strict=True):
                leaves[n] = x
            return tuple(
                filter(_is_real, tree.leaves(run_user(f, tree.unflatten(structure, leaves), kwargs)))
            )

        back = vjp(of_reals, *(leaves[n] for n in real))[1](tuple(tree.leaves(cotangent)))
        found = dict(zip(real, back, strict=True))
        return tree.unflatten(structure, [found.get(n) for n in range(len(leaves))])

    pull.__name__ = pull.__qualname__ = f"vjp of {name_of(f)}"
    names = [n.strip("`").replace(" ", "_") for n in argument_names(f, count)]
    pull.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in (*names, "cotangent")]
        + [inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)]
    )
    return pull


def _is_real(x: Any) -> bool:
    """Whether a leaf has a derivative: floating-point and complex numbers."""
    if type(x) in (bool, int, str) or not hasattr(x, "dtype"):
        return type(x) in (float, complex)
    return is_inexact(np.dtype(x.dtype))


def cotangent(d: Description) -> Any:
    """The types of a cotangent of the result of a described program."""
    program, leaves = d["program"], d["leaves"]
    outs = [
        Aval(tuple(_sizes_of(d, shape, dims)), jit_stored.DTYPES[name])
        for (name, shape), dims in zip(program["out"], program["out_dims"], strict=True)
    ]

    def of(kind: str, x: Any) -> Any:
        if kind == "value":
            return {"float": 0.0, "complex": 0j}.get(x[0]) if type(x) is list else None
        if kind == "part":
            return _struct(d["parts"][x][2], d["parts"][x][3])
        if kind == "given":
            return None
        if kind == "const":
            a = program["fixed"][program["lifted"] + x]
            return _struct(a["dtype"], a["shape"])
        if kind == "arg":
            return _example(leaves[x])
        if x in d["python"]:
            return {"f": 0.0, "c": 0j}.get(outs[x].dtype.kind)
        if not all(type(n) in (int, str) for n in outs[x].shape):
            raise _refusal(d["name"], "the shape of its result is computed, so that a cotangent has none")
        return _struct(outs[x].dtype.name, outs[x].shape, kind == "out" and not outs[x].shape)

    return structures.build(d["result"], [of(*r) for r in d["results"]])


def _sizes_of(d: Description, shape: Sequence[Any], dims: Sequence[Any]) -> Iterator[Any]:
    """The sizes of a result: numbers, names of sizes, and None for computed ones."""
    first = len(d["program"]["fixed"])
    names = {first + n: name for n, name in enumerate(d["sizes"])}
    for n, place in zip(shape, dims, strict=True):
        yield n if type(n) is int else names.get(place[1]) if place[0] == "input" else None


def _struct(dtype: str, shape: Sequence[int], number: bool = False) -> Any:
    """The type of an array, or with `number` one of NumPy's numbers; None for what has no cotangent."""
    known = jit_stored.DTYPES[dtype]
    if not is_inexact(known):
        return None
    return known.type(0) if number else ShapeDtypeStruct(tuple(shape), known)


def _example(leaf: dict[str, Any]) -> Any:
    if leaf["kind"] == "python":
        return {"float64": 0.0, "complex128": 0j}.get(leaf["dtype"])
    return _struct(leaf["dtype"], leaf["shape"], leaf["kind"] == "scalar")
