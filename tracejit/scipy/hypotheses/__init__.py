"""Parts of `scipy.stats`' tests that SciPy's code, which is followed otherwise, has in C or decides by values."""
