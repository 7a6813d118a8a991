"""Arrays that several names or lists may have: in come boxes, and out goes which array each of them is.

`either`: one of several arrays, as conditions say. `references`: one of the arrays of an arena, as a number says.
"""
