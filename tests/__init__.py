"""Tests, and the helpers that they share: builders, stories, strategies."""
