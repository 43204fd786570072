"""Tests of the report: its pages, plots and tables."""
