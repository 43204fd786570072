"""Tests of the optimizer."""
