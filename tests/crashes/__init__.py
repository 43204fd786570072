"""Crashes of real processes; `tests/simulation/test_crash_points.py` has the other points."""
