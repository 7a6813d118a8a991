"""Random stateful programs: a grammar of templates, the comparison with plain Python, and the minimiser.

`env.py` has the names that a program knows and fills templates; `expressions.py` and `statements.py` are the grammar,
as tables of templates, and `parts.py` says what of `wider.py`, `mixed.py`, `deeper.py` and `numeric.py` a program has
besides: half of all have one or two of these parts above all, and few names. `worlds.py` puts a whole program together,
`checking.py` compares, `minimise.py` cuts.
"""
