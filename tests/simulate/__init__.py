"""Tests of `dorm simulate`."""
