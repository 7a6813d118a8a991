"""Printing jaxprs: `let b:f64[3] = cos a   # model.py:12`."""

from __future__ import annotations

from itertools import count
from typing import Any

from tracejit import dtypes
from tracejit.ir.avals import Aval, Dim
from tracejit.ir.jaxpr import Atom, ClosedJaxpr, Eqn, Jaxpr, Literal, Var


class Namer:
    """Short names for variables: a … z, aa, ab …, in order of first use."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}
        self._counter = count()

    def __call__(self, v: Any) -> str:
        if v not in self._names:
            self._names[v] = _letters(next(self._counter))
        return self._names[v]

    def aval(self, aval: Aval) -> str:
        dims = ",".join(
            f"{self(d.var)}<={d.bound or '?'}" if isinstance(d, Dim) else str(d) for d in aval.shape
        )
        return f"{dtypes.short_name(aval.dtype)}[{dims}]"

    def atom(self, a: Atom) -> str:
        return str(a.value) if isinstance(a, Literal) else self(a)

    def binder(self, v: Var) -> str:
        return f"{self(v)}:{self.aval(v.aval)}"


def _letters(n: int) -> str:
    out = ""
    while True:
        out = chr(97 + n % 26) + out
        n = n // 26 - 1
        if n < 0:
            return out


def _param(value: Any, name: Namer) -> str:
    if isinstance(value, Jaxpr):
        return f"<{value.name or 'jaxpr'}>"
    if isinstance(value, tuple) and value and all(isinstance(v, Jaxpr) for v in value):
        return "(" + ", ".join(_param(v, name) for v in value) + ")"
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    return str(value)


def headline(eqn: Eqn, name: Namer, source: bool) -> str:
    """One equation as a line, without its sub-jaxprs."""
    shown = {k: v for k, v in eqn.params.items() if v is not None and not (type(v) is tuple and not v)}
    params = f"[{', '.join(f'{k}={_param(v, name)}' for k, v in shown.items())}]" if shown else ""
    args = " ".join(name.atom(a) for a in eqn.invars)
    left = " ".join(name.binder(v) for v in eqn.outvars) or "_"
    # The line below is built right to left: names of operands are taken before those of results.
    text = f"let {left} = {eqn.op.name}{params} {args}".rstrip()
    return f"{text}   # {eqn.source}" if source and eqn.source else text


def format_eqn(eqn: Eqn, name: Namer, indent: str, source: bool) -> list[str]:
    """One equation as lines; sub-jaxprs are indented below it."""
    lines = [indent + headline(eqn, name, source)]
    for key, value in eqn.params.items():
        subs = value if isinstance(value, tuple) else (value,)
        for n, sub in enumerate(subs):
            if isinstance(sub, Jaxpr):
                label = key if len(subs) == 1 else f"{key}[{n}]"
                lines.append(f"{indent}  {label}:")
                lines += format_lines(sub, indent + "    ", source)
    return lines


def format_lines(jaxpr: Jaxpr, indent: str, source: bool, n_consts: int = 0) -> list[str]:
    name = Namer()
    consts = " ".join(name.binder(v) for v in jaxpr.invars[:n_consts])
    args = " ".join(name.binder(v) for v in jaxpr.invars[n_consts:])
    head = f"{indent}{{ lambda {consts + ' ; ' if consts else ''}{args} ."
    lines = [head.replace("lambda  .", "lambda .")]
    for eqn in jaxpr.eqns:
        lines += format_eqn(eqn, name, indent + "  ", source)
    outs = ", ".join(name.atom(a) for a in jaxpr.outs)
    lines.append(f"{indent}  in ({outs}{',' if len(jaxpr.outs) == 1 else ''}) }}")
    return lines


def format_jaxpr(jaxpr: Jaxpr | ClosedJaxpr, source: bool = True) -> str:
    """The program as text; `source` adds the user's lines."""
    if isinstance(jaxpr, ClosedJaxpr):
        return "\n".join(format_lines(jaxpr.jaxpr, "", source, len(jaxpr.consts)))
    return "\n".join(format_lines(jaxpr, "", source))


Jaxpr.__str__ = lambda self: format_jaxpr(self)  # type: ignore[method-assign]
ClosedJaxpr.__str__ = ClosedJaxpr.__repr__ = lambda self: format_jaxpr(self)  # type: ignore[method-assign]
