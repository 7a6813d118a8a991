"""Programs that leave the process: `export`, and what loads its files.

A user's function and types come in. An `Exported` goes out, which is called, saved, loaded where the function is not,
and written as a library of C. Everything that is exported is a description (JSON and blocks of bytes) from the
beginning: what was just exported runs as what was loaded does. Read `public` first, then `making` (from the function
to the description; `sizes` has named ones), `exported` (from there to calls; `arguments` says what these take), and
what both use: `structures`, `values`, `checks`, `parts`.
"""
