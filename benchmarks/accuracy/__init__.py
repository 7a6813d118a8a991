"""How accurate the vector functions are: `python -m benchmarks.accuracy` measures and writes docs/accuracy.md."""
