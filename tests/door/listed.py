"""What the modules of Python and NumPy take: every public name that can be called, in each form of `FORMS`.

The names are those that the modules have, so that one which a new Python or NumPy brings is looked through at once.
`LEFT_OUT` has the few that are not called, by reason."""

from __future__ import annotations

import importlib
from typing import Any

#: How a function is called: numbers, lists of them, and functions over these.
FORMS = ("x", "x, 2", "2, x", "x, x", "[x, 1]", "[x, 1], x", "abs, [x, 1]", "[x, 1], [2, x]")
_MODULES = tuple(
    """
    array bisect cmath collections colorsys contextlib copy dataclasses datetime decimal enum fractions
    functools heapq itertools json math numbers operator pickle pprint random re reprlib statistics
    string struct textwrap types zlib binascii base64 hashlib
    """.split()  # noqa: SIM905
)
_WAYS = {
    "wait for somebody or end the process": "breakpoint input exit quit help copyright credits license",
    "open files, and number 3 may be one": "open load loads dump file_digest DataSource fromfile fromregex genfromtxt "
    "loadtxt memmap save savetxt savez savez_compressed",
    "give addresses, frames or what else is another at each run": "id locals globals dir vars __import__ stack trace "
    "currentframe getinnerframes getouterframes getframeinfo SystemRandom now today utcnow",
    "change settings of the process": "setcontext localcontext getcontext seterr seterrcall setbufsize "
    "set_printoptions seterrobj printoptions test",
    "show what is installed": "show_config show_runtime info get_include",
    "give arrays of objects, which have no equality": "object_",
    "give what uninitialised memory holds": "empty empty_like ndarray recarray",
    "show the class of what is traced on the standard error, or in the message of a refusal": "reveal_type "
    "assert_never",
}
LEFT_OUT = {name: reason for reason, names in _WAYS.items() for name in names.split()}


def names_of(module: Any) -> list[str]:
    """The public names of a module that can be called."""
    return sorted(
        n for n in dir(module) if n[0] != "_" and n not in LEFT_OUT and callable(getattr(module, n))
    )


def looks(module: str) -> list[str]:
    """The calls of all that a module has."""
    found: Any = importlib.import_module(module.replace("np", "numpy", 1) if module[:2] == "np" else module)
    prefix = "" if module == "builtins" else f"{module}."
    forms = FORMS if module[:2] != "np" else ("x", "x, x", "x, 2", "[x, 1]")
    called = [prefix + n for n in names_of(found)]
    return [f"shown({name}({form}))" for name in called for form in forms]


MODULES = ("builtins", *_MODULES, "np", "np.linalg", "np.fft")
