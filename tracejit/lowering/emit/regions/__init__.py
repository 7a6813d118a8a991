"""Conditionals and loops as native control flow.

In comes an equation whose params hold jaxprs, and out go the `If`, `For` and `While` of the loop IR, with the inner
jaxprs' loops in them. Read `control` (the three kinds), `carries` (what goes from step to step, in place or in
turns), `spans` (the integers that a carry can be), `rowblocks` and `tape` (rows that a loop leaves for another).
"""
