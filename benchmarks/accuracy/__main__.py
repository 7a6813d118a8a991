"""python -m benchmarks.accuracy: measure, and write docs/accuracy.md (half an hour; with --quick a minute)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from benchmarks.accuracy import measure
from benchmarks.accuracy.bounds import ROWS, SINGLE, Row
from benchmarks.accuracy.page import Line, page

PAGE = Path(__file__).parents[2] / "docs" / "accuracy.md"
_POINTS = {False: 2_000_000, True: 100_000}
_STEP = {False: 1, True: 257}


def measured(row: Row, dtype: np.dtype, points: int) -> tuple[float, str]:
    """The worst error of a row and where it is."""
    xs = measure.worst_of(row, measure.arguments(row, points, dtype))
    errors = measure.exact_errors(row, xs)
    n = int(np.argmax(errors))
    return float(errors[n]), ", ".join(repr(float(x[n])) for x in xs)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer points, one float32 in 257")
    quick = parser.parse_args().quick
    lines = []
    for row in ROWS:
        worst, where = measured(row, measure.F64, _POINTS[quick])
        lines.append(Line(row.name, "float64", row.domain, row.bound, worst, where, row.against))
        print(lines[-1].text(), file=sys.stderr)
        if row.name in SINGLE and not any(
            line.dtype == "float32" and line.name == row.name for line in lines
        ):
            if row.others:
                worst, where = measured(row, measure.F32, _POINTS[quick])
            else:
                worst, at = measure.worst_single(row.name, _STEP[quick])
                where = repr(at)
            lines.append(Line(row.name, "float32", row.domain, SINGLE[row.name], worst, where, ""))
            print(lines[-1].text(), file=sys.stderr)
    PAGE.write_text(page(lines, _POINTS[quick], _STEP[quick]), encoding="utf-8")
    return int(any(line.worst > line.bound for line in lines))


if __name__ == "__main__":
    sys.exit(main())
