"""The tests mirror the package: tests/ops/reductions/test_reduce.py tests tracejit/ops/reductions/reduce.py."""
