"""How the threads of a kernel share the iterations of a loop.

In come the fragments of a plan and the facts of their loops, out go how many iterations a thread takes at a time
(`taking`), the code for these (`copies`), what threads keep of a row from loop to loop (`keeping`), kernels of which a
warp takes a row rather than a block (`warps`), and such of which one thread computes a few elements besides (`beside`).
Read `taking` first. Nothing here changes what is computed but for the order of sums.
"""
