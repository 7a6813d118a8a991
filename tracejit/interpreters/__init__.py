"""One interpreter a file: eval, stage, jvp, linearize, transpose, vmap, jit."""
