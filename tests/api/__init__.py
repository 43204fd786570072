"""Tests of dorm/api."""
