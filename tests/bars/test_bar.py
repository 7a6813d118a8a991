"""Bars: what is told, and what is drawn of it."""

import io
import itertools
from contextlib import redirect_stderr

import pytest

from tracejit.bars import bar as bars
from tracejit.bars import drawing
from tracejit.bars.bar import END, Bar, Shown, is_told


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """A terminal without rich, and a clock that goes on by a second at each look."""
    stream, now = Terminal(), iter(range(10_000))
    monkeypatch.setattr(drawing, "has_rich", lambda: False)
    monkeypatch.setattr(bars, "monotonic", lambda: float(next(now)))
    return stream


def test_a_loop_of_python_has_a_line_that_is_written_over(terminal):
    with redirect_stderr(terminal):
        assert list(Shown(["a", "b", "c"], Bar("letters"))) == ["a", "b", "c"]
    lines = terminal.getvalue().split("\r")
    assert lines[0] == "" and lines[1].startswith("letters ──") and "  0%  0 of 3" in lines[1]
    assert " 67%  2 of 3" in lines[3] and "left" in lines[3]
    assert lines[-1].startswith("letters " + "━" * drawing.WIDTH) and "100%  3 of 3" in lines[-1]
    assert lines[-1].endswith("\n") and "left" not in lines[-1]
    assert not bars._runs


def test_a_loop_that_is_left_ends_its_line(terminal):
    def walk():
        for k in Shown(range(1000), Bar("walk")):
            if k == 100:
                return

    with redirect_stderr(terminal):
        walk()
    last = terminal.getvalue().split("\r")[-1]
    assert "100 of 1,000" not in last and "of 1,000" in last and last.endswith("\n") and not bars._runs
    with pytest.raises(ZeroDivisionError):
        for k in Shown(range(10), Bar("fails")):
            1 / (k - 3)


def test_what_is_slow_to_draw_is_drawn_less_often(terminal, monkeypatch):
    now, spent = itertools.count(), itertools.count()
    monkeypatch.setattr(
        bars, "monotonic", lambda: next(now) / 20
    )  # 125 positions are told in some ten seconds
    drawn = []
    for cost in (1e-6, 4e-3, 1.0):
        monkeypatch.setattr(bars, "perf_counter", lambda cost=cost: next(spent) * cost)
        with redirect_stderr(terminal):
            list(Shown(range(1000), Bar("slow")))
        drawn.append(terminal.getvalue().count("\r") - sum(drawn))
    assert drawn[0] == 125 and 5 < drawn[2] <= drawn[1] < 15


def test_without_a_number_of_steps_they_are_counted(terminal):
    with redirect_stderr(terminal):
        assert sum(Shown(iter(range(5000)), Bar())) == sum(range(5000))
    last = terminal.getvalue().split("\r")[-1]
    assert "steps" in last and "%" not in last
    assert len(Shown([1, 2], Bar())) == 2 and Shown(iter([1]), Bar(), total=1).total == 1


def test_long_loops_are_not_counted_in_the_line(terminal):
    bar = Bar("long")
    with redirect_stderr(terminal):
        for position in (0, 500_000, END):
            bar.tell(position, 1_000_000)
    assert "50%" in terminal.getvalue() and "500,000" not in terminal.getvalue()


def test_what_is_quick_or_nobody_sees_is_not_drawn(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    list(Shown(range(100), Bar("quick")))
    list(Shown(range(100), Bar("off", show=False)))
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert drawing.place(None) is None and drawing.place(True) is not None
    monkeypatch.setattr("sys.stderr", None)
    assert drawing.place(True) is None
    assert stream.getvalue() == ""


def test_rich_draws_the_same(terminal, monkeypatch):
    pytest.importorskip("rich", reason="bars without rich are plain lines")
    monkeypatch.undo()
    stream = Terminal()
    monkeypatch.setenv("COLUMNS", "100")
    rich = drawing.Rich(stream)
    run = bars.Run(Bar("title", show=False), 10)
    run.at(5)
    rich.draw(run, False)
    rich.draw(run, True)
    assert "title" in stream.getvalue() and "50%" in stream.getvalue() and stream.getvalue().endswith("\n")


def test_notebooks_have_an_output_that_is_replaced(monkeypatch):
    shown = []

    class Handle:
        def update(self, what):
            shown.append(what)

    class Display:
        @staticmethod
        def HTML(text):
            return text

        @staticmethod
        def display(what, display_id):
            shown.append(what)
            return Handle()

    monkeypatch.setattr(drawing, "_display", Display)
    run, place = bars.Run(Bar("a <b>", show=False), 10), drawing.Notebook()
    run.at(5)
    place.draw(run, False)
    run.at(9)
    place.draw(run, True)
    assert 'value="5" max="10"' in shown[0] and "a &lt;b&gt;" in shown[0]
    assert "progress" not in shown[1] and "100%" in shown[1]


@pytest.mark.parametrize("total", [0, 1, 63, 64, 1000, 10**9])
def test_how_often_known_loops_tell(total):
    step = bars.mask(0, total) + 1
    told = range(0, total, step)
    assert len(told) <= 4 * bars.TOLD and (total < bars.TOLD or len(told) >= bars.TOLD)
    assert all(is_told(k, total) == (k in told) for k in range(min(total, 300)))


def test_how_often_other_loops_tell():
    told = [k for k in range(1 << 16) if is_told(k, -1)]
    assert told[:17] == list(range(17)) and len(told) < 16 * bars.OCTAVE
    assert all(b - a <= max(a / bars.OCTAVE, 1) for a, b in itertools.pairwise(told))


def test_bars_are_their_titles():
    assert Bar("a") == Bar("a") and Bar("a") != Bar("b") and Bar("a") != Bar("a", True)
    assert len({Bar("a"), Bar("a"), Bar("b")}) == 2


def test_times():
    assert [drawing.clock(s) for s in (0.04, 59.9, 61, 3723)] == ["0.0 s", "59.9 s", "1:01", "1:02:03"]
