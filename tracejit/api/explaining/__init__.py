"""What the lowering's notes mean: sentences, findings, and a page for notebooks.

In come the notes of a lowering (`lowering/notes.py`), out go the findings of a report of `explain`. Read `words` (the
rules), then `findings`.
"""
