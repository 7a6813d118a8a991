"""Programs that print, log, warn, and make text."""

# ruff: noqa: UP031
from __future__ import annotations

import csv
import io
import json
import logging
import pprint
import string
import sys
import textwrap
import warnings
from typing import Any

import numpy as np

from tests.programs.observe import program

A, B, C = np.arange(3.0), np.array([1.5, -2.0, 1e10]), np.array([[1.0, 2.0], [3.0, 4.0]])


@program
def prints_the_sum() -> Any:
    def f(x):
        print("sum", x.sum(), end="!\n")
        return x.sum()

    return f, [(A + 0,), (B + 0,), (A + 1,)], None


@program
def f_string_of_a_scalar() -> Any:
    return lambda x: f"{x:.3f} {x!r} {x!s:>12}", [(1.5,), (2,), (np.float32(0.1),)], None


@program
def percent_formatting() -> Any:
    return lambda x, n: "%05.2f|%d|%s|%r" % (x[0], n, x, n), [(A + 1, 3), (A + 2, 4), (B + 0, 5)], None


@program
def format_method() -> Any:
    def f(x):
        return "{0:>8.2e}/{total:+.1f}/{0!r}".format(x[1], total=float(x.sum()))

    return f, [(A + 1,), (A + 2,), (B + 0,)], None


@program
def text_of_arrays() -> Any:
    return (
        lambda x: (str(x), repr(x * 2), str(x.shape), repr(x.dtype)),
        [(A + 0,), (C + 0,), (np.int32([7]),)],
        None,
    )


@program
def text_of_static_things_stays_native() -> Any:
    def f(x):
        name = f"{x.ndim}d {x.dtype} {x.shape[0]}"
        return {name: x * 2, "len": len(name)}

    return f, [(A + 0,), (A + 1,), (C + 0,)], None


@program
def joins_rows() -> Any:
    def f(x):
        return "\n".join(", ".join(str(v) for v in row) for row in x)

    return f, [(C + 0,), (C * 2,), (C.astype(int),)], None


@program
def report_of_statistics() -> Any:
    def f(x, title="data"):
        lines = [title.upper().center(20, "=")]
        stats = {"mean": x.mean(), "std": x.std(), "max": x.max(), "n": x.size}
        width = max(map(len, stats))
        for name, value in stats.items():
            shown = f"{value:.4f}" if isinstance(value, float) else str(value)
            lines.append(f"{name:<{width}} : {shown:>10}")
        above = np.flatnonzero(x > x.mean())
        lines.append(f"above: {above.tolist()}")
        if stats["max"] > 5:
            lines.append("WARNING: large")
        for i, v in enumerate(x):
            bar = "#" * int(abs(v) % 10)
            lines.append(f"{i:02d} {bar}")
        text = "\n".join(lines)
        return text, len(text), stats

    return f, [(A + 0,), (A * 4,), (np.array([2.5, 7.0, 1.0, 0.5]),)], None


@program
def logs_in_a_branch() -> Any:
    log = logging.getLogger("tests.programs.text")

    def f(x):
        if x.max() > 2:
            log.warning("large: %.1f", x.max())
        else:
            log.error(f"small: {x.max()}")
        return x + 1

    return f, [(A + 0,), (A + 5,), (A - 5,)], None


@program
def logs_in_a_branch_not_taken_at_first() -> Any:
    def f(x, verbose):
        if verbose:
            logging.getLogger().warning("verbose %s", x)
        return x * 2

    return f, [(A + 0, False), (A + 0, False), (A + 1, True)], None


@program
def prints_under_a_traced_condition() -> Any:
    def f(x):
        total = 0.0
        for v in x:
            if v > 1:
                print("over", float(v))
            total += v
        return total

    return f, [(np.zeros(3),), (A + 0,), (A + 3,)], None


@program
def prints_only_in_the_third_call() -> Any:
    def f(x):
        if x.sum() > 100:
            print("big")
        return x / 2

    return f, [(A + 0,), (A + 1,), (A + 99,)], None


@program
def warns_when_negative() -> Any:
    def f(x):
        if (x < 0).any():
            warnings.warn(f"{(x < 0).sum()} negative", RuntimeWarning, stacklevel=2)
        return np.sqrt(np.abs(x))

    return f, [(A + 0,), (B + 0,), (-A,)], None


@program
def records_its_own_warnings() -> Any:
    def f(x):
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter("always")
            warnings.warn("inner")
            y = np.log(x)
        return y, len(w), [str(v.message) for v in w]

    return f, [(A + 1,), (A + 2,), (np.array([0.0, 1.0]),)], None


@program
def divides_and_records() -> Any:
    def f(x):
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter("always")
            y = 1 / x
        return y, len(w)

    return f, [(A + 1,), (A + 0,), (A + 2,)], None


@program
def warnings_as_errors() -> Any:
    def f(x):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                return np.log(x)
            except RuntimeWarning as e:
                return str(e)

    return f, [(A + 1,), (A + 0,), (-A - 1,)], None


@program
def writes_to_stdout() -> Any:
    def f(x):
        n = sys.stdout.write(f"{x.min()}\n")
        sys.stdout.flush()
        return n * x

    return f, [(A + 0,), (A + 10,), (A + 100,)], None


@program
def prints_into_a_buffer_of_its_own() -> Any:
    def f(x):
        out = io.StringIO()
        for i in range(len(x)):
            print(i, x[i], sep=":", file=out)
        return out.getvalue()

    return f, [(A + 0,), (A + 1,), (B + 0,)], None


@program
def prints_into_a_captured_buffer() -> Any:
    out = io.StringIO()

    def f(x):
        out.write("%g;" % x.sum())
        return x - 1

    return f, [(A + 0,), (A + 1,), (A + 2,)], lambda: [out.getvalue(), out.tell()]


@program
def json_there_and_back() -> Any:
    def f(x):
        text = json.dumps({"values": x.tolist(), "n": len(x), "ok": bool(x[0] > 0)}, sort_keys=True)
        return text, np.asarray(json.loads(text)["values"]) * 2

    return f, [(A + 0,), (A + 1,), (B + 0,)], None


@program
def json_of_numpy_numbers_fails() -> Any:
    def f(x):
        return json.dumps({"total": x.sum(), "n": x.astype(np.int64).sum()})

    return f, [(A + 0,), (A.astype(int),), (B + 0,)], None


@program
def csv_text() -> Any:
    def f(x, names):
        out = io.StringIO()
        w = csv.writer(out)
        w.writerow(names)
        for row in x:
            w.writerow([f"{v:.2f}" for v in row])
        back = [list(map(float, r)) for r in list(csv.reader(io.StringIO(out.getvalue())))[1:]]
        return out.getvalue(), np.array(back).sum(axis=0)

    return f, [(C + 0, ("a", "b")), (C * 3, ("a", "b")), (C * 3, ("x", "y"))], None


@program
def loadtxt_and_savetxt() -> Any:
    def f(x):
        out = io.StringIO()
        np.savetxt(out, x * 2, fmt="%.3f")
        return out.getvalue(), np.loadtxt(io.StringIO(out.getvalue()))

    return f, [(C + 0,), (C + 1,), (C * 5,)], None


@program
def array2string_and_options() -> Any:
    def f(x):
        a = np.array2string(x, precision=2, separator=",", suppress_small=True)
        with np.printoptions(precision=1, sign="+"):
            b = str(x)
        return a, b, np.array_repr(x), np.array_str(x / 3), np.format_float_positional(x[0] / 3, precision=4)

    return f, [(A + 1,), (B + 0,), (A * 7,)], None


@program
def options_of_outside() -> Any:
    old = np.get_printoptions()["precision"]

    def before(n):
        np.set_printoptions(precision=(2, 5, old)[n])

    return lambda x: str(x / 3), [(A + 1,), (A + 1,), (A + 1,)], None, before


@program
def wraps_text() -> Any:
    def f(x):
        words = " ".join(f"w{int(v)}" for v in x)
        return textwrap.fill(words, width=int(x[-1])), textwrap.dedent("  a\n  b"), textwrap.shorten(words, 9)

    return f, [(np.arange(3, 9.0),), (np.arange(5, 15.0),), (np.arange(8),)], None


@program
def templates_and_pprint() -> Any:
    def f(x):
        t = string.Template("$name=$value").substitute(name="x", value=x[0])
        return t, pprint.pformat({"x": x, "t": t}), "abc".translate({97: "z"})

    return f, [(A + 0,), (A + 1,), (B + 0,)], None


@program
def text_as_keys() -> Any:
    def f(x):
        out = {}
        for i in range(3):
            out[f"k{i}"] = x[i] * 2
            out[f"{x[i]:.0f}"] = i
        return out

    return f, [(A + 0,), (A * 0,), (A + 7,)], None


@program
def text_decides() -> Any:
    def f(x):
        s = str(x.sum())
        if s.startswith("3"):
            return x * 3
        return x + len(s) if "e" in s else -x

    return f, [(A + 0,), (A + 1,), (B * 1e20,)], None


@program
def looks_up_by_text() -> Any:
    table = {"0": 10.0, "1": 20.0, "many": -1.0}

    def f(n, x):
        return table.get(str(n), table["many"]) * x

    return f, [(0, A + 0), (1, A + 0), (7, A + 0)], lambda: table


@program
def names_by_argument() -> Any:
    def f(x, mode):
        match mode:
            case "mean":
                return x.mean()
            case "sum" | "total":
                return x.sum()
            case _:
                raise KeyError(f"no {mode!r} of {x.shape}")

    return f, [(A + 0, "mean"), (A + 0, "total"), (A + 0, "nothing")], None


@program
def text_accumulates_in_a_loop() -> Any:
    def f(x, n):
        s = ""
        while n > 0:
            s = s + ("#" if x > n else ".")
            n -= 1
        return s

    return f, [(2.5, 4), (1.5, 4), (2.5, 6)], None


@program
def hex_oct_bin_chr() -> Any:
    def f(n):
        return hex(n), oct(n), bin(n), chr(n + 60), format(n, "08b"), ascii(n), f"{n:,}", f"{n:c}"

    return f, [(5,), (6,), (np.int64(12),)], None


@program
def parses_numbers() -> Any:
    def f(s, x):
        parts = [float(p) for p in s.split(",")]
        return np.array(parts) * x, int(s.split(",")[0], 0) + x

    return f, [("1,2,3", 2.0), ("4,5,6", 2.0), ("4,5,6", 3)], None


@program
def repr_of_objects() -> Any:
    class Point:
        def __init__(self, x, y):
            self.x, self.y = x, y

        def __repr__(self):
            return f"Point({self.x:.1f}, {self.y!r})"

        def __format__(self, spec):
            return format(self.x + self.y, spec)

        def __str__(self):
            return "P" + str(self.x)

    def f(x):
        p = Point(x[0] + 1, x[1])
        return repr(p), f"{p:.2f}", f"{p}", str([p, p])

    return f, [(A + 0,), (A + 1,), (B + 0,)], None


@program
def progress_of_gradient_descent() -> Any:
    log: list[str] = []

    def f(x, rate=0.1, steps=20):
        best, report = np.inf, []
        for step in range(steps):
            value = ((x - 3) ** 2).sum()
            x = x - rate * 2 * (x - 3)
            if value < best:
                best = value
            if step % 5 == 0:
                report.append(f"{step:3d} {value:10.4f}")
                print(report[-1])
            if value < 1e-3:
                report.append("converged")
                break
        else:
            report.append("not converged")
        log.extend(report)
        summary = {"best": round(float(best), 6), "report": report, "x": [f"{v:.2f}" for v in x]}
        if len(log) > 8:
            print(f"{len(log)} lines", file=sys.stdout)
        return x, summary

    return f, [(A + 0,), (A + 3,), (B[:2] + 0,)], lambda: log


@program
def table_of_a_simulation() -> Any:
    def f(y, dt, n):
        rows = [("t", "y", "dy")]
        t = 0.0
        for _ in range(n):
            dy = -0.5 * y
            rows.append((f"{t:.2f}", f"{y:.3f}", f"{dy:+.3f}"))
            y, t = y + dt * dy, t + dt
        widths = [max(len(r[k]) for r in rows) for k in range(3)]
        lines = ["  ".join(c.rjust(w) for c, w in zip(r, widths, strict=True)) for r in rows]
        lines.insert(1, "-" * len(lines[0]))
        return "\n".join(lines), y

    return f, [(1.0, 0.1, 3), (2.0, 0.1, 3), (-1000.0, 0.1, 4)], None


@program
def classifies_and_counts_words() -> Any:
    def f(x):
        labels = []
        for v in x:
            if v < 0:
                labels.append("low")
            elif v < 2:
                labels.append("mid")
            else:
                labels.append("high")
        counts: dict[str, int] = {}
        for label in labels:
            counts[label] = counts.get(label, 0) + 1
        order = sorted(counts, key=lambda k: (-counts[k], k))
        return labels, counts, " ".join(f"{k}={counts[k]}" for k in order)

    return f, [(A + 0,), (B + 0,), (A + 5,)], None


@program
def encodes_runs() -> Any:
    def f(x):
        out, previous, count = [], None, 0
        for v in x:
            if previous is not None and v == previous:
                count += 1
            else:
                if previous is not None:
                    out.append(f"{count}x{previous}")
                previous, count = v, 1
        out.append(f"{count}x{previous}")
        return "".join(out)

    return f, [(np.array([1, 1, 2]),), (np.array([3, 3, 3]),), (np.array([1.5, 2.5, 2.5, 1.5]),)], None


@program
def bytes_and_hashes() -> Any:
    def f(x):
        raw = (x * 2).tobytes()
        back = np.frombuffer(raw, dtype=x.dtype)
        return len(raw), raw[:4], back, hash(raw) == hash(bytes(raw))

    return f, [(A + 0,), (A + 1,), (np.int16([1, 2]),)], None


@program
def eval_of_text() -> Any:
    def f(x, source):
        g = eval(source)
        return g(x)

    return f, [(A + 0, "lambda v: v * 2"), (A + 0, "lambda v: v.sum()"), (A + 1, "np.sin")], None


@program
def debug_flag_of_a_module() -> Any:
    class Config:
        debug = False

    def f(x):
        y = x * 3
        if Config.debug:
            print(f"{y=}")
        return y

    def before(n):
        Config.debug = n == 1

    return f, [(A + 0,), (A + 1,), (A + 2,)], lambda: Config.debug, before
