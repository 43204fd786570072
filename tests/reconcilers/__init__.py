"""Behaviour tests of the reconcilers."""
