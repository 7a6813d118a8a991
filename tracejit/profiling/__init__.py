"""Profiles: where the time of compiled programs goes, by nests of loops, calls, phases and the user's lines.

Spans of Python's side and the counters and log of native code come in (`session.py`, to be read first); rows of times
(`rows.py`) go out, as a table, a trace for Perfetto, a flame graph for speedscope, a page, and a roofline.
"""
