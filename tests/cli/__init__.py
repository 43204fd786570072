"""Tests of dorm/cli."""
