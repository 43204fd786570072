"""What finished simulations look like: a page with plots, PNG files, and tables.

`write` makes the report; `terminal_table` and `markdown_table` are the comparison alone. All of it
is a view of `Results`, so a report can be made again, or in another way, from saved results.
"""

from dorm.simulate.report.table import markdown_table, terminal_table
from dorm.simulate.report.write import PAGE, PLOTS, write

__all__ = ["PAGE", "PLOTS", "markdown_table", "terminal_table", "write"]
