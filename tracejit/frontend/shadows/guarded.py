"""The user's modules as traced code sees them: what is read of them is guarded."""

from __future__ import annotations

import types
from typing import Any

from tracejit.errors import CapturedWriteError
from tracejit.frontend.run import Run
from tracejit.frontend.shadows.scopes import GuardedGlobals


class GuardedModule(types.ModuleType):
    """A user's module in a traced run: reading an attribute is guarded like reading a global."""

    def __init__(self, session: Run, module: types.ModuleType, scope: GuardedGlobals) -> None:
        super().__init__(module.__name__, module.__doc__)
        self.__dict__.update(_tj_module=module, _tj_scope=scope, _tj_session=session)
        for name in ("__file__", "__path__", "__package__", "__spec__", "__loader__"):
            if hasattr(module, name):
                self.__dict__[name] = getattr(module, name)

    def __getattr__(self, name: str) -> Any:
        module, scope = self.__dict__["_tj_module"], self.__dict__["_tj_scope"]
        if name in vars(module) or dict.__contains__(scope, name):
            return scope.lookup(name)
        session = self.__dict__["_tj_session"]
        session.check(scope.path, "absent", name)
        value = getattr(module, name)  # a module's __getattr__, or Python's own AttributeError
        session.refuse(f"{self.__name__}.{name}", value, "it comes from the module's __getattr__")
        return session.stand_in(value, f"{self.__name__}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        session, module = self.__dict__["_tj_session"], self.__dict__["_tj_module"]
        if session.guarded and (name[:2] == "__" or type(module) is not types.ModuleType):
            raise CapturedWriteError(what=f"attribute `{self.__name__}.{name}`")
        if session.guarded:
            self.__dict__["_tj_scope"].put(name, value)
        else:
            setattr(module, name, value)

    def __delattr__(self, name: str) -> None:
        raise CapturedWriteError(what=f"attribute `{self.__name__}.{name}`")

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["_tj_module"])
