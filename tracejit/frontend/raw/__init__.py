"""Bytes, bytearrays and arrays of the module `array`, in traced code.

    counts = bytearray(256)             # of outside, or an argument
    counts[k] += 1                      # a write into its memory, as into an array's
    hashlib.sha256(x.tobytes())         # text and bytes that the program makes after it has run

In come Python's objects; while tracing, one is a `Raw`, whose numbers are an array of the program. That of an object of
outside is a view of its memory. Read `numbers.py` first.
"""
