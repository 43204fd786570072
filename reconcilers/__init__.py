"""Decisions: state in, actions out.

This package is pure. It imports `events` and nothing else of ours, does no I/O and never sees a
clock: where time matters it is an argument.

Every reconciler is `plan(state[, observed]) -> tuple of actions`: deterministic, total, and
level-triggered. An empty result means converged.
"""
