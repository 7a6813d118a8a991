"""Blocks to jaxprs: one step of a loop, or a branch, run under a trace of its own.

In comes a block with the names that it shares with its function, and out goes a jaxpr with the carries that it
needs, or why there is none. Read `terms`, `staged` (staging a step) with `results`, `state`, `cells` and `held` (what a
block can change), then what becomes of it: `identity`, `slots` and `aliases` (arrays with several names),
`containers`, `replaced` and `grown` (lists and dicts), `overflow`, `decisions`.
"""
