"""The code that Numba compiles for calls of jitted functions.

For each list of argument types there is a function in Numba's Python (`_source`), which finds the node of the shapes
(`_lookup`), makes the arrays of results, runs the node's code (`_run`) and raises what failed (`_stop`). These three
are intrinsics: functions that write LLVM code.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.callconv import RETCODE_USEREXC, excinfo_ptr_t
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

from tracejit.api.foreign.promises import Arguments, Leaf, Promise
from tracejit.api.foreign.sites import Site
from tracejit.interpreters import jit as native

_I64, _PTR = ir.IntType(64), ir.IntType(8).as_pointer()


def dispatcher(jitted: Any, arguments: Arguments) -> Any:
    """The function that Numba compiles for such a call."""
    site = Site.of(jitted, arguments)
    source, extra = _source(site, _parameters(jitted))
    return numba.njit(_executed(source, extra, f"tracejit_{site.label}"))


def _parameters(jitted: Any) -> dict[str, str]:
    """The function's parameters, with names that they have in ours."""
    parameters = inspect.signature(jitted.fun).parameters.values()
    return {p.name: "*" * (p.kind is p.VAR_POSITIONAL) + f"a{n}" for n, p in enumerate(parameters)}


def _executed(source: str, names: dict[str, Any], name: str) -> Callable[..., Any]:
    space = dict(names)
    exec(compile(source, "<tracejit for Numba>", "exec"), space)
    made = space["call"]
    made.__name__ = made.__qualname__ = name  # symbols have this name, also in files of Numba's cache
    return made


def _source(site: Site, parameters: dict[str, str]) -> tuple[str, dict[str, Any]]:
    """The function, and what its names mean."""
    arguments, promise = site.arguments, site.promise
    names: dict[str, Any] = {"np": np, "int64": numba.int64, "NEAR": native.NEAR}
    expressions = list(_expressions(arguments, parameters))
    words = [w for leaf, at in zip(arguments.leaves, expressions, strict=True) for w in _words(leaf, at)]
    names["lookup"], names["run"], names["stop"] = _lookup(site), _run(site), _stop(site)
    names["detail"], names["real"] = _detail(site, False), _detail(site, True)
    names |= {f"T{n}": from_dtype(np.dtype(d)) for n, (d, _) in enumerate(promise.outs)}
    lines = [f"def call({', '.join(parameters.values())}):"]
    lines.append(f"    node = lookup({_tuple(f'int64({w})' for w in words)})")
    count = itertools.count()
    arrays = []
    for n, (_, rank) in enumerate(promise.outs):
        if rank is not None:
            shape = _tuple(f"detail(node, {next(count)})" for _ in range(rank))
            lines.append(f"    o{n} = np.empty({shape}, T{n})")
            arrays.append(f"o{n}")
    lines.append(f"    ran = run(node, {_tuple(expressions)}, {_tuple(arrays)})")
    lines.append("    if ran[0] != 0:")
    lines.append("        stop(node, ran[0])")
    lines.append(f"    return {_result(promise, promise.structure, expressions, count, names)}")
    return "\n".join(lines) + "\n", names


def _tuple(parts: Any) -> str:
    return "(" + "".join(f"{p}, " for p in parts) + ")"


def _expressions(arguments: Arguments, parameters: dict[str, str]) -> Iterator[str]:
    """How each leaf is written."""
    plain = [name for name in parameters.values() if name[0] != "*"]
    many = next((name[1:] for name in parameters.values() if name[0] == "*"), "")
    first = next((n for n, name in enumerate(parameters.values()) if name[0] == "*"), len(plain))
    for n, tree in enumerate(arguments.positional):
        yield from _inside(tree, plain[n] if n < first else f"{many}[{n - first}]")
    for name, tree in arguments.named:
        yield from _inside(tree, parameters[name])


def _inside(tree: Any, text: str) -> Iterator[str]:
    if type(tree) is Leaf:
        yield text
    elif tree[0] != "value":
        for n, part in enumerate(tree[1 if tree[0] == "tuple" else 2 :]):
            yield from _inside(part, f"{text}[{n}]")


def _words(leaf: Leaf, text: str) -> list[str]:
    if leaf.rank is None:
        return [text] * leaf.is_integer + [f"{text} > NEAR or {text} < -NEAR"] * leaf.is_wide
    whole = [f"{text}.shape[{n}]" for n in range(leaf.rank)]
    return whole if leaf.ordered else whole + [f"{text}.strides[{n}]" for n in range(leaf.rank)]


def _result(
    promise: Promise, tree: Any, expressions: list[str], count: Iterator[int], names: dict[str, Any]
) -> str:
    """What the function returns. `count` goes on with the details."""
    numbers = [n for n, (_, rank) in enumerate(promise.outs) if rank is None]
    places = {}
    for n, (kind, x) in enumerate(promise.results):
        if kind == "array":
            places[n] = f"o{x}"
        elif kind == "arg":
            places[n] = expressions[x]
        elif kind == "value":
            at = f"{'real' if x == 'f' else 'detail'}(node, {next(count)})"
            places[n] = f"{at} != 0" if x == "b" else at
        else:
            places[n] = f"ran[{1 + numbers.index(x)}]"

    def written(tree: Any) -> str:
        if tree is None or type(tree) is int:
            return "None" if tree is None else places[tree]
        if tree[0] == "tuple":
            return _tuple(map(written, tree[1:]))
        names[f"C{len(names)}"] = tree[1]
        return f"C{len(names) - 1}{_tuple(map(written, tree[2:]))}"

    return written(tree)


# ---------------------------------------------------------------- intrinsics


def _word(builder: Any, node: Any, n: int) -> Any:
    """Word `n` behind an address."""
    at = builder.inttoptr(node, _I64.as_pointer())
    return builder.load(builder.gep(at, [ir.Constant(_I64, n)]))


def _ask(context: Any, builder: Any, site: Site, *numbers: Any) -> Any:
    """Call the site in Python: what it gives. If that is the exception of a failed call (`Site.__call__`), the function
    leaves with it, as with one that Numba's `raise` raises: Numba's `except` catches it."""
    if site.name is None:  # a pickle would not find it: code that has an address in it is not kept by Numba
        address = context.add_dynamic_addr(builder, id(site), info="tracejit")
        numbers = (*numbers, builder.ptrtoint(address, _I64))
    api = context.get_python_api(builder)
    gil = api.gil_ensure()
    found = api.unserialize(api.serialize_object(site))
    result = cgutils.alloca_once_value(builder, ir.Constant(_I64, 0))
    with builder.if_then(cgutils.is_not_null(builder, found)):
        objects = [api.long_from_longlong(n) for n in numbers]
        out = api.call_function_objargs(found, objects)
        for x in (*objects, found):
            api.decref(x)
        with builder.if_then(cgutils.is_not_null(builder, out)):
            builder.store(api.long_as_longlong(out), result)
            api.decref(out)
    api.gil_release(gil)
    answer = builder.load(result)
    with builder.if_then(cgutils.is_null(builder, builder.inttoptr(answer, _PTR)), likely=False):
        context.call_conv.return_exc(builder)
    with builder.if_then(builder.icmp_signed("<", answer, ir.Constant(_I64, 0)), likely=False):
        told = builder.inttoptr(builder.neg(answer), excinfo_ptr_t)
        builder.store(told, context.call_conv._get_excinfo_argument(builder.function))
        context.call_conv._return_errcode_raw(builder, RETCODE_USEREXC)
    return answer


def _lookup(site: Site) -> Any:
    """(words) -> node: that of the list, or a new one."""

    @intrinsic
    def lookup(typing: Any, words: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            count = len(words)
            given = [builder.extract_value(args[0], n) for n in range(count)]
            first = cgutils.add_global_variable(builder.module, _I64, f"{site.label}.nodes")
            first.linkage = "internal"
            first.initializer = ir.Constant(_I64, 0)
            found = cgutils.alloca_once(builder, _I64)
            key = cgutils.alloca_once(builder, ir.ArrayType(_I64, max(count, 1)))
            head, body, new, done = (builder.append_basic_block(n) for n in ("head", "node", "new", "done"))
            before = builder.block
            start = builder.load_atomic(first, "acquire", 8)
            builder.branch(head)
            builder.position_at_end(head)
            node = builder.phi(_I64)
            node.add_incoming(start, before)
            builder.cbranch(builder.icmp_unsigned("==", node, ir.Constant(_I64, 0)), new, body)
            builder.position_at_end(body)
            different = ir.Constant(_I64, 0)
            for n, x in enumerate(given):
                other = builder.xor(x, _word(builder, node, 2 + n))
                different = builder.or_(different, builder.and_(other, _word(builder, node, 2 + count + n)))
            following = _word(builder, node, 0)
            node.add_incoming(following, builder.block)
            builder.store(node, found)
            builder.cbranch(builder.icmp_unsigned("==", different, ir.Constant(_I64, 0)), done, head)
            builder.position_at_end(new)
            for n, x in enumerate(given):
                builder.store(x, builder.gep(key, [ir.Constant(ir.IntType(32), k) for k in (0, n)]))
            places = [builder.ptrtoint(p, _I64) for p in (first, key)]
            builder.store(_ask(context, builder, site, ir.Constant(_I64, 0), *places), found)
            builder.branch(done)
            builder.position_at_end(done)
            return builder.load(found)

        return types.int64(words), code

    return lookup


def _detail(site: Site, real: bool) -> Any:
    """(node, n) -> the detail of this number."""
    kind, before = (types.float64 if real else types.int64), 2 + 2 * site.words

    @intrinsic(prefer_literal=True)
    def detail(typing: Any, node: Any, number: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            found = _word(builder, args[0], before + number.literal_value)
            return builder.bitcast(found, ir.DoubleType()) if real else found

        return kind(node, number), code

    return detail


def _run(site: Site) -> Any:
    """(node, arguments, arrays of results) -> (status, numbers)."""
    promise = site.promise
    kinds = [from_dtype(np.dtype(d)) for d, _ in promise.outs]

    @intrinsic
    def run(typing: Any, node: Any, arguments: Any, arrays: Any) -> Any:
        numbers = [kinds[n] for n, (_, rank) in enumerate(promise.outs) if rank is None]

        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            places = []
            for n, t in enumerate(arguments):
                places.append(_place(context, builder, t, builder.extract_value(args[1], n)))
            given = iter(range(len(arrays)))
            slots = []
            for n, (_, rank) in enumerate(promise.outs):
                if rank is None:
                    slot = cgutils.alloca_once(builder, context.get_data_type(kinds[n]))
                    slots.append((kinds[n], slot))
                    places.append(slot)
                else:
                    k = next(given)
                    places.append(_place(context, builder, arrays[k], builder.extract_value(args[2], k)))
            rows = cgutils.alloca_once(builder, ir.ArrayType(_PTR, max(len(places), 1)))
            for n, p in enumerate(places):
                at = builder.gep(rows, [ir.Constant(ir.IntType(32), k) for k in (0, n)])
                builder.store(builder.bitcast(p, _PTR), at)
            kind = ir.FunctionType(ir.IntType(32), [_PTR])
            function = builder.inttoptr(_word(builder, args[0], 1), kind.as_pointer())
            status = builder.call(function, [builder.bitcast(rows, _PTR)])
            values = [context.unpack_value(builder, t, slot) for t, slot in slots]
            return context.make_tuple(builder, signature.return_type, [status, *values])

        return types.Tuple([types.int32, *numbers])(node, arguments, arrays), code

    return run


def _place(context: Any, builder: Any, t: Any, value: Any) -> Any:
    """Where an argument lies: an array's elements, or a number on the stack."""
    if isinstance(t, types.Array):
        return context.make_array(t)(context, builder, value).data
    slot = cgutils.alloca_once(builder, context.get_data_type(t))
    context.pack_value(builder, t, value, slot)
    return slot


def _stop(site: Site) -> Any:
    """(node, status): leave the function with the exception of a call that failed."""

    @intrinsic
    def stop(typing: Any, node: Any, status: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            _ask(context, builder, site, ir.Constant(_I64, 1), args[0], ir.Constant(_I64, 0))
            return context.get_dummy_value()

        return types.none(node, status), code

    return stop
