"""Loop IR to LLVM text, for the CPU; `lowering/cuda` has kernels by the same translation.

In comes a `Program` of the loop IR, and out goes the text of an LLVM module, the same in every process. Read `cpu`
(the entry), `target` (what differs between targets), `body`, `scalar` and `memory` (the
translation), `text` and `alias` (how it is written), `chunks` (loops that threads share), `interleave`, `streams`
and `ahead` (how loops run fast), `halves`, and `vecmath/` (transcendental functions).
"""
