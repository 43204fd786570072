"""The planner, with real child processes."""
