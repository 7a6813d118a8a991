"""From LLVM text to a call on ndarrays.

In comes a `Lowered` and the text of its program, and out goes an `Executable` that is called with arrays. Read
`compile` with `cache` (machine code, kept on disk), `executable` (what a call needs), `shell` with `shell_text`
(the native function that Python calls), `arena`, `pool` and `results` (memory), `threads`, and `blas` with
`routines` (libraries that are called by address).
"""
