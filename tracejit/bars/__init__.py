"""What is shown while something takes long: bars of loops, and that a compilation goes on.

`bar.py` has the bars, which programs and Python's loops tell where they are; `drawing.py` draws them, `slow.py` speaks
of compilations. All of it goes to a terminal on stderr or into a notebook, and nothing is shown where neither is there.
"""
