"""Making arrays and changing their arrangement.

In come shapes, values or arrays, and out go arrays with these elements in other places. Read `creation`, `shaping`,
`joining`, `padding`, `positions`, `windows`, `mapping`.
"""
