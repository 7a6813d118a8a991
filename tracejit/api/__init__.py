"""The public transformations, one file a family."""
