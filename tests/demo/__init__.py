"""The demo: its judgement, and the whole of it."""
