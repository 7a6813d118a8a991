"""Making arrays and changing their arrangement.

In come shapes, values or arrays, and out go arrays with these elements in other places. Read `creation`, `ranges`,
`grids`, `shaping`, `joining`, `splitting`, `padding`, `positions`, `windows`, `mapping`, `pieces`, `iterators`.
"""
