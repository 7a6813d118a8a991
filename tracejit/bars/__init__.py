"""What is shown while something takes long: bars of loops (`bar.py`, drawn by `drawing.py`), and that a compilation goes
on (`slow.py`). All of it goes to stderr or into a notebook, and nothing is shown where neither is there."""
