"""Nests that read something across the grain (transposes) by tiles in shared memory, decided on a device's loop IR.

    for i in range(n):                          for tile in range(tiles):     # a block each
        for j in range(m):                          for t in range(1024):     # neighbours read neighbours
            out[i * m + j] = x[j * n + i]  ->           near[...] = x[...]
                                                    for t in range(1024):     # neighbours write neighbours
                                                        out[...] = near[...]

`crossed` finds such nests and writes the loops. Other nests that compute elements become one loop (`flat`), and so
do the outer loops of nests whose inner ones are not straight code (`joined`). `nests` has
what both know of nests.
"""
