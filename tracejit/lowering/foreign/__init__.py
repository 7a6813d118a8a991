"""Compiled programs as functions of C: a declaration and a program come in, the address of a C function goes out.

`declarations` reads declarations and says which parameter means which argument or result; start there.
`writer` writes the function around a program's entry, `functions` loads it.
"""
