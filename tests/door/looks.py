"""Every way in which Python can look at a value `x`, in groups.

The files of `table/` have expressions, one on a line, and blocks of statements that end with `out = ...`, with an empty
line between two. What they give is compared with what it is in plain Python, so that it must not hold addresses or
iterators. The members of arrays and numbers are listed here.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

_TYPES = (np.ndarray, np.float64, np.int64, np.bool_, int, float, complex, bool)
#: The members of all of them.
MEMBERS = sorted({name for t in _TYPES for name in dir(t)})
_BINARY = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "divmod",
    "pow",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
    "matmul",
]
_COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]

#: The arguments that a special method is called with; without any, if it is not here.
_SPECIAL = """
getattribute 'real' ; getattr 'real' ; setattr 'new', 1 ; delattr 'new' ; getitem 0 ; getitem () ; getitem ...
setitem 0, 1 ; delitem 0 ; contains 1 ; format '' ; format '.2' ; round ; round 1 ; reduce_ex 2 ; deepcopy {} ; array
array float ; array_ufunc np.add, '__call__', x, 1 ; array_function np.sum, (np.ndarray,), (x,), {}
array_wrap np.ones(2) ; class_getitem int ; subclasshook int ; new type(x) ; getformat 'double' ; setstate None
buffer 0 ; release_buffer None
"""
_CALLS = """
astype int ; astype 'f4' ; reshape -1 ; reshape (1, -1) ; dot 1 ; dot x ; choose [1, 2, 3, 4, 5, 6] ; clip 0, 2
clip min=1 ; compress [True] ; fill 2 ; getfield np.int8 ; item ; item 0 ; partition 0 ; argpartition 0 ; put 0, 1
repeat 2 ; resize (2,) ; round ; round 1 ; searchsorted 1 ; setfield 1, np.int8 ; setflags False ; setflags
swapaxes 0, 0 ; take 0 ; sort ; sort 0 ; view ; view 'i8' ; view np.ndarray ; tofile '/nonexistent/x'
to_bytes 2, 'big' ; from_bytes b'a', 'big' ; fromhex '0x1p0' ; transpose ; transpose 0 ; newbyteorder 'S'
to_device 'cpu' ; from_number 1 ; tobytes ; tobytes 'F' ; sum ; sum 0 ; flatten ; flatten 'F' ; squeeze ; squeeze 0
mean ; mean 0 ; byteswap ; byteswap True
"""
_ATTRIBUTES = """
__doc__ ; __class__ ; __array_priority__ ; __module__ ; __array_interface__['shape'] ; __array_interface__['typestr']
__array_interface__['data'][1] ; __array_struct__ is None ; T ; mT ; real ; imag ; shape ; dtype ; ndim ; size
itemsize ; nbytes ; strides ; base is None ; numerator ; denominator ; device ; flags.c_contiguous ; flags.f_contiguous
flags.writeable ; flags.owndata ; flags.aligned ; flags.writebackifcopy ; flags.fnc ; flags.forc ; flags.behaved
flags.carray ; flags.farray ; flags.num ; flags.contiguous ; flags.fortran ; flags['C_CONTIGUOUS'] ; flags['W']
flags['OWNDATA'] ; flags == x.flags ; flat[0] ; flat.index ; flat.coords ; flat.base is x ; ctypes.shape[:]
ctypes.strides[:] ; ctypes.data != 0 ; data.format ; data.nbytes
"""


def _listed(text: str) -> list[str]:
    return [s.strip() for line in text.strip().split("\n") for s in line.split(" ; ")]


def _arguments(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, _, given in (entry.partition(" ") for entry in _listed(text)):
        found.setdefault(name, []).append(given)
    return found


def _members() -> list[str]:
    """What `getattr` and `hasattr` say of each member, each method called by its name, and attributes."""
    special, calls = _arguments(_SPECIAL), _arguments(_CALLS)
    for name in (*_COMPARISONS, *(prefix + n for prefix in ("", "r", "i") for n in _BINARY)):
        special[name] = ["2", "2.0", "x", "'a'"]
    looks = [f"hasattr(x, {n!r})" for n in MEMBERS] + [f"getattr(x, {n!r}, None) is None" for n in MEMBERS]
    for name in MEMBERS:
        own = special.get(name[2:-2], [""]) if name[:2] == "__" else calls.get(name, [""])
        looks += [f"x.{name}({given})" for given in own] if name != "__doc__" else []
        looks += [f"callable(x.{name})"] if name[:2] != "__" else []
    return [*looks, *(f"x.{a}" for a in _listed(_ATTRIBUTES)), "len(x.flat)", "list(x.flat)", "repr(x.flags)"]


def _read(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8").strip("\n")
    return text.split("\n\n" if path.stem == "statements" else "\n")


GROUPS: dict[str, list[str]] = {
    "members": _members(),
    **{path.stem: _read(path) for path in sorted((Path(__file__).parent / "table").glob("*.txt"))},
}
