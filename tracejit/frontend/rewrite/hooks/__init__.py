"""What rewritten functions call, and where it is decided what becomes native.

In come the blocks of a loop or branch as functions with the values it looks at, and out goes what the block leaves,
by native code or by Python. Read `table` (the hooks), `loops` with `steps`, `iterables`, `nests` and `lazies`
(what loops run over), `branches` with `conditions` and `predicates`, then `calls`, `tries`, `messages`.
"""
