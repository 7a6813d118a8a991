"""What stand-ins know of the run that they are in: what was met, what has to be guarded, and whom to ask.

`Session` is the one that answers; stand-ins (`shadows/`) need no more than this.
"""

from __future__ import annotations

import functools
import sys
import types
import weakref
from collections.abc import Collection
from typing import Any

import numpy as np

from tracejit.errors import UnfollowedError
from tracejit.frontend.capture import Capture, NotFollowed, Unfollowed
from tracejit.frontend.impure import ACTS, impure_origin
from tracejit.frontend.journal import Change
from tracejit.frontend.memory import Memory, Remade
from tracejit.frontend.origins import is_library_class
from tracejit.frontend.paths import Node
from tracejit.frontend.shadows.randoms import Drawn
from tracejit.frontend.shadows.refusing import refusal
from tracejit.frontend.untouched import Untouched

#: Values of libraries without state of their own.
_STATELESS = (
    *(types.FunctionType, types.BuiltinMethodType, types.MethodWrapperType, types.MethodDescriptorType),
    *(types.WrapperDescriptorType, types.ClassMethodDescriptorType, type, functools.partial),
    *(np.ufunc, np.dtype, np.finfo, np.iinfo, type(np.sum)),
)


#: For so many items more a list has room at first that the program lets grow.
ROOM = 1 << 10


class Run(Memory):
    """One run of a user's function: the memory and the records of its session."""

    def __init__(self, capture: Capture, rewrites: bool = True) -> None:
        super().__init__(capture.guarded)
        self.capture = capture
        self.rewrites = rewrites
        #: What can't be traced, so far: the function itself may have caught the exceptions.
        self.refusals: list[BaseException] = []
        #: (`file:line`, what) of loops and branches: what was done with each, and why.
        self.decisions: dict[tuple[str, str], str] = {}
        self.array_nodes: list[Node] = []
        self.remade = Remade()
        #: (path, its stand-in, its version) of the arrays that say where elements of sparse arrays are.
        self.structures: list[tuple[Node, Any, int]] = []
        self.captured_structures: dict[
            int, Any
        ] = {}  # by identity of the stand-in, those that are inputs, too
        self.cells: list[Any] = []
        self.containers: list[Any] = []  # copies: `shadows.containers.Copy`
        self.in_place: list[Any] = []  # those of outside that an eager run writes into themselves
        #: Objects, by identity, that an eager run has made or assigned attributes of, and that are the user's.
        self.assigned: dict[int, Any] = {}
        #: What an eager run does to things of the user's, and tells, while somebody asks (`outside.acts`); and the
        #: containers that it has met meanwhile, with what they held.
        self.acting: list[str] | None = None
        self.first: list[tuple[Any, list[Any]]] = []
        #: The random generators that an eager run has met, with their states then where somebody asks.
        self.sources: list[tuple[Any, bytes | None]] = []
        #: How what an eager run has written into counterparts is written into the user's objects, and both.
        self.adopted: list[tuple[Any, Any, Any]] = []
        #: The dicts of globals, and the classes, of which an eager run has assigned names: by identity and name.
        self.stored: dict[tuple[int, str], Any] = {}
        self.codes: list[tuple[types.CodeType, Any]] = []
        self.sized: dict[int, types.CodeType] = {}  # by identity: Numba's functions
        self.call_site: str | None = None
        self._scopes: dict[int, Any] = {}
        self._main: str | None = None
        self.watched: dict[int, Any] = {}
        #: Methods that run as copies unless code that is not rewritten calls them: (class, attribute, function).
        self.followed_methods: dict[str, list[tuple[type, Any, types.FunctionType]]] = {}
        self.followed_data: dict[str, list[tuple[Node, Any]]] = {}  # class attributes that change, likewise
        self.as_is: frozenset[str] = frozenset()  # the names that such code has
        self.listener: Any = (
            None  # is told when code begins to run that asks what values are: `outside.questions`
        )
        self.generators = Drawn()
        #: Whether draws from generators are part of the program that is made; the handles of those of outside.
        self.draws = capture.guarded and getattr(capture, "draws", False)
        self.handles: list[Any] = []
        self.untouched = Untouched()
        self.enumerated: list[Any] = []  # members of enumerations that only rewritten code has seen
        self.runs_as_is = False  # whether other code has run
        #: What cached functions gave: (function, value, the version of an array).
        self.kept: list[tuple[Node, Any, int | None]] = []
        #: Calls of cached functions, which each call of the program makes, too; how deep in one the run is.
        self.cached_calls: list[functools.partial[Any]] = []
        self.in_cached = 0
        #: (path of a function, its copy, what the copy was given as attributes)
        self.attributes: list[tuple[Node, Any, dict[str, Any]]] = []
        #: Classes that the run has defined, by identity.
        self.own: weakref.WeakValueDictionary[int, type] = weakref.WeakValueDictionary()
        #: What the run has changed, when it is over.
        self.changes: list[Change] = []
        #: Lists, by identity, that a loop which is being staged fills.
        self.growing: set[int] = set()
        self.staging: dict[
            str, int
        ] = {}  # lines of branches, and how often they are being staged in themselves
        #: The blocks that are being staged, the outermost first; for how many items more a list has room that the
        #: program lets grow.
        self.frames: list[Any] = []
        self.room, self.has_buffers = ROOM, False
        #: Lists, by identity, that no buffer could replace, as so many others than their names refer to them.
        self.held: dict[int, int] = {}
        #: The arrays that lists of traced length have, by dtype and shape, if these have no copies; the boxes of all
        #: of outside, by their storages.
        self.arenas: dict[Any, Any] | None = None
        self.outside: dict[int, Any] = {}
        #: Lists, dicts and objects that a traced condition has chosen.
        self.choices: Any = None  # `rewrite.blocks.chosen.Choices`
        #: Whether lists that native loops fill may have copies of views: not if one was written later.
        self.copies_views = True
        #: Whether an array of outside has its bytes in the other order: which arrays have them so then is not known.
        self.swaps_bytes = False
        #: Whether text of traced values was made, which C code does not take for a string.
        self.has_texts = False
        self.has_variants = False  # whether a value is of one type or another, as conditions say
        self.plain_lists = False  # lists of traced length have items of one type only
        self.by_count = False  # whether loops that fill lists may ask how often they run, which arguments say
        self.used_options = False  # whether one had items of several
        self.no_variants = False  # whether code would not see that
        self.streams = sys.stdout, sys.stderr  # as the run finds them
        self.print_options = np.get_printoptions() if capture.guarded else None
        self.sets_text = False  # whether the run sets how arrays are written
        #: What the run has set of NumPy's settings, by what asks for it; how deep it is in `with np.errstate(...)`.
        self.settings: dict[Any, Any] = {}
        self.in_settings = 0
        #: The `with warnings.catch_warnings()` that the run is in: its trace, and what filters there are; or None.
        self.filters: tuple[Any, tuple[Any, ...]] | None = None
        #: Whether it sees what NumPy warns of: a list of warnings, or exceptions.
        self.sees_warnings = False
        self.recorded: list[Any] | None = None  # the list that such a block of its own records warnings in
        self.error_state = np.geterr() if capture.guarded else None
        self.unfrozen: set[type] = set()  # classes of frozen objects of which the run changes one
        #: By identity, the arguments to which containers belong that are not followed: taken apart and made again.
        self.arguments: dict[int, int | str] = {}
        self.members: dict[int, Any] = {}  # what was written to classes: `members.Members`, by identity
        self.containers_given: Collection[int] = ()  # those among the arguments, by identity
        self.given = 0  # how many arguments of the call are followed
        self.callbacks: list[types.FunctionType] = []  # called when the program runs: not followed
        #: Whether Python does calls of the program over in which a check fails, and whether that was asked.
        self.over = self.asked_over = False
        #: What is raised if the program turns out to be one that Python can't do over.
        self.done_over: list[Exception] = []

    # ---- what the session answers --------------------------------------------------------------

    def stand_in(self, value: Any, name: str = "value") -> Any:
        """The stand-in of an object that is held by identity: the function itself, an import."""
        raise NotImplementedError

    def wrap(self, node: Node, value: Any) -> Any:
        """The stand-in of `value`, read at `node`; records guards."""
        raise NotImplementedError

    def is_stand_in(self, value: Any) -> bool:
        """Whether `value` stands for something in this run."""
        return id(value) in self._originals

    def is_outside(self, value: Any) -> bool:
        """Whether a container is an argument, or in one, or stands for one of outside."""
        return id(value) in self.containers_given or self.is_stand_in(value)

    def acted(self, what: str) -> None:
        """Note for who asks what an eager run does."""
        if self.acting is not None:
            self.acting.append(what)

    def original(self, value: Any) -> Any:
        """The user's own function or object behind a stand-in, also inside lists, tuples and dicts."""
        raise NotImplementedError

    def sizes(self, fn: types.FunctionType) -> None:
        """Note that `fn` is a function that Numba compiled: its integers have 64 bits."""
        self.sized[id(fn.__code__)] = fn.__code__

    def code_of(self, fn: types.FunctionType) -> types.CodeType:
        """The code that the copy of `fn` runs."""
        raise NotImplementedError

    def wrap_dict(self, node: Node, value: dict[str, Any]) -> dict[str, Any]:
        """A copy of a function's attributes."""
        raise NotImplementedError

    def builtin(self, scope: Any, name: str, value: Any) -> Any:
        """What a name found in builtins gives."""
        raise NotImplementedError

    def turn(self, x: Any, items: Any, owner: Any = None) -> None:
        """Let the list `x` be a buffer of `items`, which it is from an earlier place on; if a stand-in `owner` of a
        list of outside holds it, only where a block has appended to it."""
        raise NotImplementedError

    def scopes(self) -> list[Any]:
        """The guarded globals of all modules that were met."""
        return list(self._scopes.values())

    def scope(self, real: dict[str, Any], module: str | None) -> Any:
        """The guarded globals over `real`, one a run."""
        raise NotImplementedError

    def where(self, scope: Any, name: str) -> str | None:
        """The line that assigns a global."""
        raise NotImplementedError

    def cached(self, node: Node, value: Any) -> None:
        """Remember what a cached function gave, which the cache keeps."""
        raise NotImplementedError

    def varies(self, node: Node) -> bool:
        """Whether what is at the path may be another object at each call."""
        return node.given or self.capture.varies(node)

    # ---- records -------------------------------------------------------------------------------

    def original_of(self, stand_in: Any) -> Any:
        """The very object behind `stand_in`, whatever it is; `stand_in` itself if it is none."""
        return self._originals.get(id(stand_in), stand_in)

    def seen(self) -> list[tuple[Any, Any]]:
        """(object, stand-in) of all that was met."""
        return [(value, stand_in) for value, stand_in, _ in self._seen.values()]

    def note(self, path: str, value: Any, reason: str) -> None:
        """Tell the capture that the value at `path` can't be followed; it may raise NotFollowed."""
        self.capture.unfollowed(Unfollowed(path, _describe(value), reason))

    def refuse(self, path: str, value: Any, reason: str) -> None:
        """The same where the value is being used: raises UnfollowedError."""
        try:
            self.note(path, value, reason)
        except NotFollowed as e:
            raise refusal(e.thing) from None

    def refuse_always(self, path: str, value: Any, reason: str) -> None:
        """The same in eager runs, too, which would do something else."""
        self.refuse(path, value, reason)
        raise UnfollowedError(what=path, reason=reason)

    def from_library(self, node: Node, value: Any, reason: str = "it is used as it is") -> None:
        """List something of a library that may keep state of its own."""
        if self.guarded and self.generators.enter(str(node), value):
            return  # draws are noticed in the end
        if impure_origin(value):
            self.note(str(node), value, ACTS)
        elif not isinstance(value, _STATELESS) and not _is_ours(value):
            self.note(str(node), value, reason)


def _is_ours(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] in ("tracejit", "operator")


def _describe(value: Any) -> str:
    cls = type(value)
    if not is_library_class(cls):  # a user's class may do anything there
        return f"<{cls.__module__}.{cls.__qualname__} object>"
    try:
        text = repr(value)
    except Exception:
        text = object.__repr__(value)
    return text if len(text) <= 120 else text[:117] + "..."
