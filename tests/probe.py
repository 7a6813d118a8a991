"""A function that notes that it ran, in a way that tracing does not see: it looks like one of tracejit's own."""

from __future__ import annotations

from collections.abc import Callable


def probe() -> tuple[Callable[[], None], list[int]]:
    """(a function that traced code may call, the list to which each run of it appends)."""
    ran: list[int] = []
    names: dict[str, object] = {"__name__": "tracejit.probe", "ran": ran}
    exec(compile("def run():\n    ran.append(1)\n", "<tracejit probe>", "exec"), names)
    return names["run"], ran  # type: ignore[return-value]
