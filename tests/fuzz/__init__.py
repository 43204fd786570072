"""Fuzzing: of the API from its own document, and of everything that reads bytes from outside."""
