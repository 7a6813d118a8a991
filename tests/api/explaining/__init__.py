"""Tests of what `explain` says of loops, memory, threads and calls."""
