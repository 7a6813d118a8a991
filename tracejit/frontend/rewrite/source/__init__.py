"""Source to source: a function whose loops, branches and conditions are calls of hooks.

In comes a code object, and out goes the syntax tree of its definition, changed, every line keeping its number. Read
`code` (from code to tree and back), `transform` (the rewriting), then what it asks: `names` (what is live),
`escapes`, `matches`, `bound`, `appends`, `targets`.
"""
