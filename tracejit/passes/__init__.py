"""Rewrites of jaxprs, one file a pass; pipeline.py is the one ordered list."""
