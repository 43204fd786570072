"""`python -m dorm` is `dorm`."""

from dorm.cli.main import main

main()
