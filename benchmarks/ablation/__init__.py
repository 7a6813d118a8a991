"""What each mechanism of the compiler is worth: `python -m benchmarks.ablation [NAME ...]`.

`mechanisms` has the table: each mechanism with its files, what it promises, the rows of the benchmark that it serves,
and how it is switched off from outside of the package. `child` is the process that runs with or without one,
`measure` lets two such processes take turns, `page` writes docs/ablation.md.
"""
