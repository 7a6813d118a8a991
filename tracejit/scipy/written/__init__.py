"""What SciPy has in C or Cython as loops over arrays, written in Python as a user would write it.

Traced code follows these functions as it follows the user's: their loops become native ones, and are differentiated.
SciPy's own Python code around them is followed too (`scipy.hosting.following`), so that each of them makes several of
SciPy's functions native. `Part.written` registers one.
"""
