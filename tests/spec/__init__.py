"""Tests of the application spec."""
