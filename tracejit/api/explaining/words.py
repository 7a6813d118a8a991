"""The rules of the lowering in words: why something is so, and what can be done about it.

The names are those that notes have (`lowering/notes.py`): a topic, and a reason. The sentences speak of the facts of
the note.
"""

from __future__ import annotations

from tracejit.records import record

#: Topics, in the order in which a report has them, with their headings.
TOPICS = {
    "split": "where it was split",
    "apart": "loops that did not become one",
    "stored": "stored in memory",
    "again": "computed again instead of stored",
    "copy": "copied",
    "rows": "kept for derivatives",
    "products": "products of matrices",
    "calls": "calls of other code",
    "threads": "threads",
}


@record(frozen=True)
class Words:
    """A rule in words. `why` and `remedy` are templates; `obvious`: only worth a line where all is listed."""

    why: str
    remedy: str = ""
    obvious: bool = False


_WHOLE = "It takes whole arrays: only elementwise work on one side of it can be one loop."
_ONE_PASS = "Only a formula that does not need the whole of it first makes one pass of two."

RULES = {
    "split: refused": Words("tracing ends here, and Python runs the function", "{remedy}"),
    "split: statement": Words(
        "Python runs it, and the part before it ends: {reason}",
        "Put what is heavy into a function of its own, or together before or after it.",
    ),
    "split: python": Words(
        "Python runs it between the loop of {before} and that of {after}, which would be one otherwise",
        "Call it before or after the other operations, or use a function that compiles (docs/coverage.md).",
    ),
    "split: library": Words(
        "a library's routine needs the whole of what {before} computes, before {after} can begin", _WHOLE
    ),
    "split: product": Words(
        "a product of matrices needs the whole of what {before} computes, before {after} can begin", _WHOLE
    ),
    "split: loop": Words(
        "a loop stands between the loop of {before} and that of {after}, which would be one otherwise",
        "If a step of it needs its own elements only, write it for whole arrays.",
    ),
    "split: branch": Words(
        "a branch stands between the loop of {before} and that of {after}, which would be one otherwise",
        "`np.where` chooses element by element, in the same loop.",
    ),
    "split: check": Words(
        "a check that may fail has to pass after the loop of {before}, before that of {after}",
        "Where indices are known to be within bounds, slices instead of arrays of indices need no check.",
    ),
    "split: all": Words(
        "it needs all elements that the loop of {before} computes, before the loop of {after} can begin",
        _ONE_PASS,
    ),
    "apart: too late": Words(
        "its result is needed before the loop of {other}, which goes over the same elements, can begin: a dependence",
        _ONE_PASS,
    ),
    "apart: needs all": Words(
        "{other} uses its result from the first element on, so this loop has to end first: a dependence",
        _ONE_PASS,
    ),
    "apart: other elements": Words(
        "it goes over {elements} elements, the loop of {other} over {others}: the domains differ",
        "Loops over one shape are one: cut or sum after the last elementwise operation, not before.",
    ),
    "apart: elsewhere": Words(
        "{other} reads it at other elements than the one that it computes at a time: a dependence",
        "This is as it must be for stencils; what is cheap is computed again instead.",
    ),
    "apart: operand": Words(
        "{other} is no loop over elements: it takes it as a whole, from memory: a dependence"
    ),
    "apart: overwritten": Words(
        "it reads a value that is overwritten when the loop of {other} runs: a dependence",
        "Write into a new array, or read the old one after the write no more.",
    ),
    "apart: full": Words(
        "the loop of {other} computes as many stored values as one loop may: the cost of registers"
    ),
    "apart: checked": Words(
        "a check that may fail is made in a loop of its own, so that exceptions are raised in Python's order",
        "Where indices are known to be within bounds, slices instead of arrays of indices need no check.",
    ),
    "apart: another order": Words(
        "the loop of {other} goes over the same elements, but along another axis first, or with a total in hand"
    ),
    "apart: other sums": Words(
        "the loop of {other} goes over the same elements, but sums along other axes: the domain"
    ),
    "stored: result": Words("it is a result of the function", obvious=True),
    "stored: handed on": Words("it is what a step hands on to the next one", obvious=True),
    "stored: whole": Words("{by} needs it as a whole in memory"),
    "stored: operand": Words("{by} needs it as a whole in memory"),
    "stored: read often": Words(
        "it is read at {reads} places, and computing it each time ({cost:.0f} units of work an element) costs more "
        "than memory"
    ),
    "stored: read again": Words("its reader needs each element for several positions of an outer loop"),
    "stored: across": Words(
        "what it is computed from lies across the loop of its reader, which would walk in strides",
        "Lay the operands out in the order in which they are used (`np.ascontiguousarray(x.T)`).",
    ),
    "stored: much work": Words("what leads to it is too much code for one loop"),
    "stored: reshaped": Words(
        "{by} has another shape of the same elements, which costs nothing where it is stored"
    ),
    "stored: viewed": Words("{by} is a view of it, which costs nothing where it is stored"),
    "stored: updated": Words("{by} starts from it, in its memory"),
    "stored: before it is overwritten": Words("what it is computed from is overwritten before it is read"),
    "stored: checked": Words("it belongs to a check that may fail", obvious=True),
    "again": Words(
        "it is computed at {reads} places (nests of loops: {nests}; units of work an element: {cost:.0f}), which is "
        "less than writing and reading {size}",
    ),
    "copy: overwritten": Words(
        "{by} overwrites it, and it is read afterwards",
        "Read what is needed of the old elements before the write.",
    ),
    "copy: not ours": Words(
        "{by} writes into it, and it is the caller's array or a constant, which stay as they are",
        "An argument that is not used again can be donated (`jit(f, donate_argnums=...)`).",
    ),
    "copy: read later": Words(
        "{by} writes into it while something still reads the old elements",
        "Read what is needed of the old elements before the write.",
    ),
    "copy: in another place": Words("{by} starts from it, and its memory is needed for something else"),
    "copy: before a check": Words("a check may fail after it is made, and then the caller must not see it"),
    "copy: is given": Words("it is given from outside and is a result, which is an array of its own"),
    "copy: result twice": Words("it is two results, each of which is an array of its own", "Return it once."),
    "copy: layout": Words("what is called needs it in one block"),
    "copy: layout of a product": Words(
        "BLAS cannot read its axes in this order",
        "Keep the axes that are summed next to each other, at one end of the array.",
    ),
    "copy: whole": Words("what reads it needs it in memory, and it is no plain part of an array"),
    "rows": Words(
        "each step keeps {arrays} for what runs after the loop, {size} in all",
        "`tj.checkpoint` around the step, or `grad(f, memory=...)`, computes it again instead.",
    ),
    "rows: plan": Words(
        "the plan for memory={memory:,} needs {bytes:,} bytes: {count} values are kept, and {share} of the function's "
        "work is done again{blocks}",
        "More memory lets less be computed again.",
    ),
    "rows: kept": Words(
        "the plan keeps it, since computing it again costs more for its bytes than what it gives up"
    ),
    "products: blas": Words("BLAS ({routine}) does its {work:,} multiplications"),
    "products: device": Words(
        "it has {work:,} multiplications: from {least:,} on the device's library does it, otherwise a kernel"
    ),
    "products: loops": Words(
        "loops do it: a matrix of at most {cached:,} elements stays in the cache, where a call of BLAS gains nothing"
    ),
    "products: small": Words(
        "loops do it: a call of BLAS pays from {least} multiplications on, it has {work}"
    ),
    "products: type": Words(
        "loops do it: BLAS has no product of these dtypes", "Use float32, float64 or complex numbers."
    ),
    "products: vectors": Words("loops do it: a product of two vectors is a sum"),
    "products: dynamic": Words("loops do it: a length that only the program knows is none of BLAS's", ""),
    "calls: device": Words("the device's library does it"),
    "calls: library": Words("a library's routine is called by address, without Python"),
    "calls: python": Words(
        "Python evaluates it ({name}), which takes some microseconds and holds the GIL",
        "Many small ones are better batched with `vmap`.",
    ),
    "calls: file": Words("the derivative keeps this on disk (`offload='disk'`): {name}"),
    "calls: foreign": Words("foreign compiled code ({name}) is called by address, without Python"),
    "calls: user": Words("Python calls your function ({name})"),
    "threads: shared": Words("threads share it: about {work:,} instructions"),
    "threads: inside": Words("threads share a loop inside of it: about {work:,} instructions"),
    "threads: small": Words(
        "one thread: about {work:,} instructions; from {least:,} on threads pay", obvious=True
    ),
    "threads: order": Words("one thread: each step needs what the one before has written"),
    "threads: caller": Words(
        "one thread: it calls Python, or a product of BLAS that has threads of its own",
        "Batch the products (`vmap`, or one more axis), so that BLAS has larger ones.",
    ),
    "threads: one place": Words("one thread: its steps write to one place"),
    "threads: one step": Words("one thread: it has one step", obvious=True),
}
