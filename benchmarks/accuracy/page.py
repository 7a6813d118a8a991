"""The page docs/accuracy.md."""

from __future__ import annotations

from dataclasses import dataclass

_HEAD = """# Accuracy of the vector functions

Measured on {day} by `python -m benchmarks.accuracy`, which writes this page; the bounds are those of
`benchmarks/accuracy/bounds.py`, which `tests/lowering/llvm/test_vecmath_accuracy.py` enforces.

Errors are in units of the last place (ULP) of the exact value, so a correctly rounded function has 0.5. float64 is
measured on {points} random arguments for each of several ranges of the domain and on hard ones: powers of two and their
neighbours, which the functions' zeros are among, multiples of pi/2 up to the worst of all doubles. Long double
arithmetic finds the worst 200, and the worst 200 of 500 close to each of them, which are computed by mpmath (of erf,
erfc and the gamma functions 4000 at random). float32 is measured on {every} against the float64 function, and
functions of two arguments as float64. Odd and even functions, which a test shows to be so to the bit, and logarithms
are measured on the positive ones.

Overflow, underflow to subnormal numbers, infinities, NaN and signed zeros are NumPy's and SciPy's. A function has the
same bits at every position of an array, at every vector width and number of threads.

| function | dtype | domain | bound | worst measured | at |
|---|---|---|---:|---:|---|
"""


@dataclass(frozen=True)
class Line:
    name: str
    dtype: str
    domain: str
    bound: float
    worst: float
    where: str
    against: str

    def stated(self) -> str:
        """What the page promises: the line without the measurement."""
        relative = f", relative to {self.against}" if self.against else ""
        return f"| {self.name} | {self.dtype} | {self.domain}{relative} | {self.bound:g} |"

    def text(self) -> str:
        return f"{self.stated()} {self.worst:.3f} | {self.where} |"


def page(lines: list[Line], points: int, step: int, day: str) -> str:
    every = "every number there is" if step == 1 else f"every {step}th number"
    return _HEAD.format(points=points, every=every, day=day) + "\n".join(line.text() for line in lines) + "\n"
