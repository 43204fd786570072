"""The layout optimizer from a paper's twenty machines to ten thousand, beside exact solvers."""
