"""The utilization-fairness optimizer: prices, patterns, rounding, search; `solve` is its door."""
