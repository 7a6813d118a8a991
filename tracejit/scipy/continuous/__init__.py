"""More continuous distributions of scipy.stats, by family; importing a file registers its distributions.

Where the support depends on the shapes, the formulas say what lies outside of it.
"""
