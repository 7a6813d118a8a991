"""Programs on a CUDA card beside JAX, torch.compile, CuPy and a copy on the device: `make bench-gpu`.

`workloads` are functions of a namespace of array functions, `peers` runs them by each library, `__main__` prints the
table. Without a card the emulated device runs them, for small sizes: that proves that it runs to its end, and
its times say nothing about a card.
"""
