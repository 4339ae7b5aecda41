"""Tests of the Python worker, for CPython 3.8 on; python_test.go runs them."""
