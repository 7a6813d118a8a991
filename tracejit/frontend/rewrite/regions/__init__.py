"""A function that Python runs, with places in it where a part may be run natively instead.

In comes a code object with the lines that can't be compiled, and out goes one that does the same: around some
statements it first asks whether their results are known, and calls of the user's functions may be replaced. Each such
part comes with a function of its own, from the names that it reads to those that it binds. Read `fit` (what can be a
part), `live` (what it has to give), `emit` (how it is written), then `work` (what it may cost).
"""
