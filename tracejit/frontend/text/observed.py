"""Whether code of the user's is called where a program prints, logs or warns. It would see how far the program is."""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

from tracejit.frontend.origins import is_library_class, is_library_function


def by_users_code() -> bool:
    """Whether a stream, a handler, a filter or a formatter of now is the user's own."""
    return any(map(_is_users, _observers()))


def _observers() -> Iterator[Any]:
    """What is called."""
    yield from (sys.stdout, sys.stderr)
    names = vars(warnings)
    yield from (names["showwarning"], names["formatwarning"])
    logging = sys.modules.get("logging")
    if logging is None:
        return
    yield logging.getLogRecordFactory()
    for logger in (logging.root, *logging.root.manager.loggerDict.values()):
        if isinstance(logger, logging.Logger):
            yield from (logger, *logger.filters)
            for handler in logger.handlers:
                yield from (handler, handler.formatter, getattr(handler, "stream", None), *handler.filters)


def _is_users(x: Any) -> bool:
    if isinstance(x, types.MethodType):
        return _is_users(x.__self__) or _is_users(x.__func__)
    if isinstance(x, types.FunctionType):
        return not is_library_function(x)
    if isinstance(x, type):
        return not is_library_class(x)
    return not (is_library_class(type(x)) and all(map(_is_library, getattr(x, "__dict__", {}).values())))


def _is_library(x: Any) -> bool:
    """Whether an attribute is no function of the user's, as `handler.emit = mine` would be."""
    return not isinstance(x, types.FunctionType) or is_library_function(x)
