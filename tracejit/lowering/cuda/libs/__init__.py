"""What a device's libraries do between the kernels of a program.

In comes a call of a library as the lowering wrote it (`lowered.Library`), and out goes a function of addresses. Read
`operations`, the table, then `cublas`, whose functions are those of `by_address` on a card, or of `emulated_blas`.
"""
