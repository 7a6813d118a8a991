"""A function that fell back, run by Python with the parts of it that pay run natively.

In come the function and why it was refused, and out goes a function to be called in its place, which does the same.
Read `copies` (the function with places in it, and what is put there), then `region` and `callee` (what stands at these
places), `native` (one attempt to run natively) and `gain` (whether that pays).
"""
