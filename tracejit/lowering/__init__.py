"""Jaxpr to machine code, in rooms that lie in the order of a program's way.

In comes a jaxpr that the passes are done with, and out goes a `Lowered` whose program `runtime` compiles and calls.
Read `fuse`, the one entry, then `lowered`, what it hands on; then the rooms: `plan`, `emit`, `loops`, `llvm`,
`runtime`. `costs` counts what a finished program does.
"""
