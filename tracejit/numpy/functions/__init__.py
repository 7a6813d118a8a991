"""NumPy's functions, one line or one short function each, registered with `@implements`.

In come what users gave, boxes among them, and out go boxes or plain arrays with NumPy's dtypes and shapes. Read one
family at a time: `arrays`, `statistics`, `order`, `algebra`, `numerics`; then `questions`, and `refused`, what
traced values can't be given to.
"""
