"""structlog, set up once per process.

A log event is a literal `noun.verb`; values are keys with units. Daemons write one canonical line
per unit of work: debug when nothing changed, info when something did, warning when backing off,
error when a person is needed.
"""

import logging
import sys

import structlog


def set_up(*, json: bool, level: str = "info") -> None:
    """Send log lines to stderr, as JSON for machines or in colour for people."""
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer(sort_keys=True)
        if json
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[level.upper()]
        ),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
