"""How records are made: builders and checks, no ops of their own.

In comes what is special to an op (its kernel, its derivatives), and out goes a whole record, whose other slots
follow from its kind. Read `values` (raw values in rules), `dims` (dynamic extents), `helpers` (the builders),
`identities` (for simplify).
"""
