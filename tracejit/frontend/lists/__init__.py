"""Lists and deques whose length the program knows: rows of arrays, with as much room as was asked for.

In come the lists of a function that a native loop or branch lets grow or shrink (`rewrite.blocks.turned` finds them),
and out go buffers that do what lists do. Read `items` (what such a list may hold), `buffers`, then `heaps`.
"""
