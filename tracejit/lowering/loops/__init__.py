"""The loop IR: structured loops over scalar code, and what is decided on finished loops.

In come the calls that `emit` makes on the builder, and out goes a `Program` of nested statements, which `llvm`
writes as text. Read `nodes` (the IR), `builder` with `calls`, `ranges` and `hoist` (how it is recorded), `printer`,
`uses` and `forms` (how it is looked at), then the passes on finished loops in their order: `join`, `strips`,
`lockstep`, `distribute`, `parallel`, `memory`, `interrupt`, `extents`.
"""
