"""Weighted dominant-resource fairness: `settle.drf` is the whole of it.

`settle` adopts a round of `fairness` only when it repairs something or makes the poorest better
off. A round works on a `board`; `gangs`, `placement` and `tiers` are its moves.
"""
