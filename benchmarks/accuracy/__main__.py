"""python -m benchmarks.accuracy: measure, and write docs/accuracy.md (half an hour; with --quick a minute).

Every float32 takes ten seconds a function; the rest is for `--points` random float64 of each range.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from pathlib import Path

import numpy as np

from benchmarks.accuracy import measure
from benchmarks.accuracy.bounds import ROWS, SINGLE, Row
from benchmarks.accuracy.page import Line, page

PAGE = Path(__file__).parents[2] / "docs" / "accuracy.md"
_POINTS = 2_000_000
_QUICK = 100_000
_STEP = 257  # of float32 in a quick run


def measured(row: Row, dtype: np.dtype, points: int) -> tuple[float, str]:
    """The worst error of a row and where it is."""
    xs = measure.worst_of(row, measure.arguments(row, points, dtype))
    errors = measure.exact_errors(row, xs)
    n = int(np.argmax(errors))
    return float(errors[n]), ", ".join(repr(float(x[n])) for x in xs)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{_QUICK} points, one float32 in {_STEP}")
    parser.add_argument("--points", type=int, default=_POINTS, help="random arguments for each range")
    given = parser.parse_args()
    points, step = (_QUICK, _STEP) if given.quick else (given.points, 1)
    lines = []
    for row in ROWS:
        worst, where = measured(row, measure.F64, points)
        lines.append(Line(row.name, "float64", row.domain, row.bound, worst, where, row.against))
        print(lines[-1].text(), file=sys.stderr)
        if row.name in SINGLE and not any(
            line.dtype == "float32" and line.name == row.name for line in lines
        ):
            if row.others:
                worst, where = measured(row, measure.F32, points)
            else:
                worst, at = measure.worst_single(row.name, step)
                where = repr(at)
            lines.append(Line(row.name, "float32", row.domain, SINGLE[row.name], worst, where, ""))
            print(lines[-1].text(), file=sys.stderr)
    PAGE.write_text(page(lines, points, step, datetime.date.today().isoformat()), encoding="utf-8")
    return int(any(line.worst > line.bound for line in lines))


if __name__ == "__main__":
    sys.exit(main())
