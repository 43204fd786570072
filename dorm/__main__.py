"""`python -m dorm` is `dorm`."""

from dorm.cli import entry

entry.dorm()
