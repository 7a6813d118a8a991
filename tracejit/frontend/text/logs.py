"""`logging`: records are made when the program is there, if the logger's level says so then."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from tracejit.errors import UnfollowedError
from tracejit.frontend.text.deferred import Text
from tracejit.frontend.text.places import Place, caller, here
from tracejit.frontend.text.recipes import Known, Made, Recipe
from tracejit.frontend.text.sinks import Outside, StandIn, asked, enter, is_recording
from tracejit.frontend.text.templates import arguments_of

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50, "fatal": 50}


def _logging() -> Any:
    """The module, which traced code has imported."""
    return sys.modules["logging"]


class ByName(NamedTuple):
    """The logger of a name; of None the root."""

    name: str | None

    def __call__(self) -> Any:
        return _logging().getLogger(self.name)


class Logged(NamedTuple):
    """Logs as a logger's method does that is called at the first of `places`; `configures`: as the functions of
    `logging` do, which see to it that there is a handler."""

    logger: ByName | Outside
    level: int
    places: tuple[Place, ...]
    stacklevel: int
    configures: bool

    def idle(self) -> bool:
        """Whether the logger does not log messages of this level now."""
        logger = self.logger()
        return not (self.configures and not logger.handlers) and not logger.isEnabledFor(self.level)

    def __call__(self, message: Any, args: tuple[Any, ...]) -> None:
        logging, logger = _logging(), self.logger()
        if self.configures and not logger.handlers:
            logging.basicConfig()
            if self.idle():
                return
        at = caller(self.places, self.stacklevel - 1) if logging._srcfile else None
        file, line, function = ("(unknown file)", 0, "(unknown function)") if at is None else at[:3]
        record = logger.makeRecord(
            logger.name, self.level, file, line, message, args, None, function, None, None
        )
        logger.handle(record)


class IsEnabled(NamedTuple):
    """Asks a logger whether it logs messages of a level."""

    logger: ByName | Outside
    level: int

    def __call__(self) -> bool:
        return self.logger().isEnabledFor(self.level)


class Logger(StandIn):
    """What traced code has in the place of a logger."""

    def __init__(self, logger: ByName | Outside, configures: bool = False) -> None:
        self._tj_logger = logger
        self._tj_configures = configures

    def isEnabledFor(self, level: Any) -> Any:
        """Whether messages of a level that is known are logged when the program is there."""
        if type(level) is not int:
            raise UnfollowedError(what="the level of a message", reason="it is no integer that is known")
        return asked("isEnabledFor", IsEnabled(self._tj_logger, level), np.dtype(bool))

    def log(self, level: Any, msg: Any, *args: Any, **kwargs: Any) -> None:
        """A message of a level that is known."""
        if type(level) is not int:
            raise UnfollowedError(what="the level of a message", reason="it is no integer that is known")
        self._enter(level, "log", msg, args, kwargs)

    def _enter(self, level: int, name: str, msg: Any, args: Any, kwargs: dict[str, Any]) -> None:
        stacklevel = kwargs.pop("stacklevel", 1)
        if any(x not in (None, False) for x in kwargs.values()) or type(stacklevel) is not int:
            what = f"`{name}` of a logger with {', '.join(f'`{k}`' for k in kwargs)}"
            raise UnfollowedError(what=what, reason="only messages and their arguments are")
        places = here()
        act = Logged(self._tj_logger, level, places, stacklevel, self._tj_configures)
        enter(f"log.{name}", act, [_message(msg), _arguments(args)], places=places)

    def __getattr__(self, name: str) -> Any:
        raise UnfollowedError(what=f"`{name}` of a logger", reason="only its messages are followed")


def _message(msg: Any) -> tuple[Recipe, tuple[Any, ...]]:
    if type(msg) is Text:
        return msg.recipe, msg.values
    recipe, values = arguments_of((msg,))
    return Made(_first, (recipe,)), values


def _first(items: tuple[Any, ...]) -> Any:
    return items[0]


def _arguments(args: tuple[Any, ...]) -> tuple[Recipe, tuple[Any, ...]]:
    return arguments_of(args) if args else (Known(()), ())


def _method(name: str, level: int) -> Any:
    def method(self: Logger, msg: Any, *args: Any, **kwargs: Any) -> None:
        self._enter(level, name, msg, args, kwargs)

    method.__name__ = name
    return method


for _name, _level in _LEVELS.items():
    setattr(Logger, _name, _method(_name, _level))

_ROOT = Logger(ByName(None), configures=True)


def of_module(name: str) -> Any:
    """What traced code has in the place of `logging.<name>`, or None."""
    if not is_recording():
        return None
    if name in _LEVELS or name == "log":
        return getattr(_ROOT, name)
    return _get_logger if name == "getLogger" else None


def _get_logger(name: Any = None) -> Logger:
    if not (name is None or type(name) is str):
        raise UnfollowedError(what="`logging.getLogger`", reason="the name of the logger is no known text")
    return Logger(ByName(name))


def is_logger(value: Any) -> bool:
    """Whether `value` is a logger of the standard library's own classes."""
    logging = sys.modules.get("logging")
    return logging is not None and type(value) in (logging.Logger, logging.RootLogger)


def of_outside(value: Any) -> Logger:
    """The stand-in of a logger."""
    return Logger(Outside(value))
