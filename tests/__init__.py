"""The tests mirror the package: tests/ops/test_reduce.py tests tracejit/ops/reduce.py."""
