"""Random stateful programs: a grammar of templates, the comparison with plain Python, and the minimiser.

`env.py` has the names that a program knows and fills templates; `expressions.py` and `statements.py` are the grammar,
as tables of templates; `worlds.py` puts a whole program together; `checking.py` compares, `minimise.py` cuts.
"""
