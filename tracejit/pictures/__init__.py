"""Pictures of programs: graphs of their equations, how they are compiled, and where their arrays lie in memory.

A jaxpr comes in (`building`, with what the user's source says by `names`). It becomes a `Graph` (`model`), which knows
nothing of formats. Writers make files of it: `svg`, `page` (HTML, with `web/`), `dot`, `png`, `onnx_file`,
`graph_def`, `chart` (memory). `fold` puts large programs into parts. Where things are says `layout`, by `layered` and
`straight`, or by `graphviz`. `picture` has what users hold, `public` makes it. Read `model`, `picture` and
`building` first.
"""
