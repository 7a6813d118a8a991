"""Jaxpr to machine code: fusion and memory decisions as loop IR, its emitters, and the runtime of the result."""
