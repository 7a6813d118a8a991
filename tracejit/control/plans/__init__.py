"""Plans for derivatives within a budget of memory: what is kept, and what is computed again.

In come the two halves of a linearized function and a number of bytes, out goes the set of values that are kept. Read
`planner` (the search, which measures real programs), then `graph` (the model of what is alive when), `integer` and
`greedy` (who choose), `again` and `late` (the programs that follow from a choice).
"""
