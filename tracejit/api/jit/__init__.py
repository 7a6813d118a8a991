"""jit: functions that are traced once a signature, compiled, and guarded.

In comes a call's arguments, and out go the results of a program that an earlier call has left, or that this one
makes. Read `jitted` (the way of a call), `signature` (what of the arguments is traced), `tracer` with `sizes`,
`arguments` and `listed` (making a program), `programs` and `fastpath` (running one), then `retraces` and `aot`.
"""
