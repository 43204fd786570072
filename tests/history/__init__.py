"""Tests of dorm/history."""
