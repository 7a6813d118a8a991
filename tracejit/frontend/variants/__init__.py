"""Values that are of one type or another, as conditions say: None or a pair, an int or a float. `node.py` has what
stands for one, `merged.py` the values after branches, `carried.py` those that loops carry, `uses.py` what may be done
with one.
"""
