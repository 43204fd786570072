"""Benchmarks: each prints a table that compares two things in one run; none asserts a time."""
