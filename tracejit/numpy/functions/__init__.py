"""NumPy's functions, one line or one short function each, registered with `@implements`."""
