"""What traced code gets in the place of the user's modules, functions, classes and objects.

In comes a value that the function reads, and out goes its stand-in, which notes in the session what is read of it.
Read `scopes` and `functions` (copies over guarded names), `modules` and `guarded`, `objects` with `attributes` and
`classes`, `containers`, then `builtins_`, `math_`, `randoms` and `host` (the user's own functions, given back to
Python).
"""
