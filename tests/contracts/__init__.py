"""Suites that every implementation of a protocol must pass, and the runs of them."""
