"""Policies beside the optimizer: each turns a snapshot into a decision, without a solver."""
