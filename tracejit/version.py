"""The version of this package, for the rooms below the package's own `__init__`."""

__version__ = "0.1.0"
