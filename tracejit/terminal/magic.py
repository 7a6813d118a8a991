"""`%load_ext tracejit`: the cell magic `%%tracejit`, in IPython and Jupyter."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from tracejit.api.explain import Report, explain
from tracejit.api.jit.jitted import Jitted, jit
from tracejit.lazily import LazyModule
from tracejit.tracing import is_tracing

_display: Any = LazyModule("IPython.display")
_error: Any = LazyModule("IPython.core.error")
_NAME = "_tracejit_cell_"


def register(shell: Any) -> None:
    """Register `%%tracejit`."""
    shell.register_magic_function(Magic(shell), "cell", "tracejit")


class Magic:
    """`%%tracejit [-q]`: run the cell with each function jitted that it defines at its top level.

    For each of them that the cell calls, what `tj.explain` says of its first call is shown; with -q nothing is.
    Functions with decorators, generators and coroutines stay as they are.
    """

    __name__ = "tracejit"

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.__doc__ = type(self).__doc__

    def __call__(self, line: str, cell: str) -> None:
        """Run a cell. Its exceptions are shown as those of other cells."""
        if unknown := [word for word in line.split() if word != "-q"]:
            raise _error.UsageError(f"%%tracejit takes -q, and nothing else: {' '.join(unknown)}")
        watched = Watched()
        self.shell.user_ns[_NAME] = watched.jit
        self.shell.ast_transformers.append(Decorating())
        try:
            self.shell.run_cell(cell)
        finally:
            self.shell.ast_transformers.pop()
            del self.shell.user_ns[_NAME]
        if "-q" not in line.split():
            for report in watched.reports():
                _display.display(report)


class Decorating(ast.NodeTransformer):
    """Puts the decorator above the functions at the top level that have none. Coroutines and generators stay."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef) and not statement.decorator_list:
                at = {"lineno": statement.lineno, "col_offset": statement.col_offset}
                end = {"end_lineno": statement.lineno, "end_col_offset": statement.col_offset}
                statement.decorator_list = [ast.Name(_NAME, ast.Load(), **at, **end)]
        return node


class Watched:
    """The functions of a cell, each with the arguments of its first call."""

    def __init__(self) -> None:
        self.functions: list[Jitted] = []
        self.calls: dict[int, tuple[Any, Any]] = {}

    def jit(self, f: Any) -> Any:
        """The jitted function, which remembers its first call. Then it is like any other, at the same speed."""
        if inspect.isgeneratorfunction(f):
            return f
        jitted = jit(f)
        jitted.__class__ = type(
            Jitted.__name__, (Jitted,), {"call_by": self._call, "__module__": Jitted.__module__}
        )
        self.functions.append(jitted)
        return jitted

    @property
    def _call(self) -> Any:
        calls = self.calls

        def call(jitted: Jitted, args: Any, kwargs: Any, turn: Any = None) -> Any:
            if not is_tracing():
                calls.setdefault(id(jitted), (args, kwargs))
                jitted.__class__ = Jitted
            return Jitted.call_by(jitted, args, kwargs, turn)

        return call

    def reports(self) -> list[Report]:
        """What `explain` says of the functions that were called."""
        called = [(f, self.calls[id(f)]) for f in self.functions if id(f) in self.calls]
        return [explain(f)(*args, **kwargs) for f, (args, kwargs) in called]
