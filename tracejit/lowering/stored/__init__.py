"""Programs that leave the process: machine code and its description as bytes, and C libraries.

A compiled program comes in, with a function that describes its checks. Bytes go out, from which another process makes
an `Executable` without tracing and, where its processor has the features, without LLVM's optimiser. Read `container`
first (the file), then `modules` (machine code), `programs` (what it takes to call it), and `c_library` and `building`
(the same as a library of C, without Python).
"""
