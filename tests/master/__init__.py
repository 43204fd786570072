"""Behaviour tests of the masters."""
