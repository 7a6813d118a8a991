"""`csv.writer` and `csv.reader` of streams of text that the function writes or has made."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

from tracejit.errors import UnfollowedError
from tracejit.frontend import active
from tracejit.frontend.text.deferred import text_of
from tracejit.frontend.text.recipes import Known, Made
from tracejit.frontend.text.shown import parts_of
from tracejit.frontend.text.sinks import Buffer, Read, Stream, is_recording

#: How a row is written where that is not asked otherwise; what a dialect may say besides.
_EXCEL = "excel"
_OPTIONS = frozenset(
    ("delimiter", "quotechar", "lineterminator", "quoting", "doublequote", "skipinitialspace")
)


def _line(dialect: str, options: tuple[tuple[str, Any], ...], row: list[Any]) -> str:
    out = io.StringIO()
    csv.writer(out, dialect, **dict(options)).writerow(row)
    return out.getvalue()


class Writer:
    """What stands for a `csv.writer`: each row is one text that its stream is given."""

    __slots__ = ("_tj_dialect", "_tj_options", "_tj_stream")

    def __init__(self, stream: Any, dialect: str, options: dict[str, Any]) -> None:
        self._tj_stream, self._tj_dialect, self._tj_options = stream, dialect, tuple(options.items())

    def writerow(self, row: Any, /) -> Any:
        """Write a row; gives what the stream gives."""
        recipe, values = parts_of(list(row))
        made = Made(_line, (Known(self._tj_dialect), Known(self._tj_options), recipe))
        return self._tj_stream.write(text_of(made, values))

    def writerows(self, rows: Iterable[Any], /) -> None:
        """Write rows."""
        for row in rows:
            self.writerow(row)

    def __getattr__(self, name: str) -> Any:
        raise UnfollowedError(what=f"`{name}` of a `csv.writer`", reason="only rows can be written by it")


def _is_plain(dialect: Any, options: dict[str, Any]) -> bool:
    """Whether rows are written in a way that only the text of numbers decides, and that fails for none."""
    values = (*options.values(), dialect)
    quotes = options.get("quoting", csv.QUOTE_MINIMAL) in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
    return quotes and options.keys() <= _OPTIONS and all(type(v) in (str, int, bool) for v in values)


def writer(stream: Any, dialect: Any = _EXCEL, **options: Any) -> Any:
    """`csv.writer`."""
    if not is_recording():
        return csv.writer(stream, dialect, **options)
    csv.writer(io.StringIO(), dialect, **options)  # raises what Python raises
    if type(stream) not in (Buffer, Stream) or not _is_plain(dialect, options):
        _refuse("writer")
    return Writer(stream, dialect, options)


def reader(lines: Any, dialect: Any = _EXCEL, **options: Any) -> Any:
    """`csv.reader`, of text that is known."""
    known = type(lines) is Read or (type(lines) is list and all(type(x) is str for x in lines))
    if is_recording() and not known:
        _refuse("reader")
    return csv.reader(lines, dialect, **options)


def _refuse(name: str) -> None:
    session = active.session()
    if session is not None:
        session.refuse(
            f"`csv.{name}`", getattr(csv, name), "its text is not one of the program's, or not known"
        )


def of_module(name: str) -> Any:
    """The stand-in of `csv.<name>`, if it has one."""
    return {"writer": writer, "reader": reader}.get(name)
