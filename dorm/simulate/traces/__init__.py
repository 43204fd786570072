"""Traces from files: each format has a reader, which says what a job asked for and how long it ran.

`elastic` then makes jobs of these requests, which Dorm may resize.
"""
