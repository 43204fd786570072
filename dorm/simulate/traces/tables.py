"""Dorm's own trace format, as CSV with a header row or as a YAML list; public CSV traces too."""

import csv
import difflib
from collections.abc import Mapping, Sequence
from typing import Final

import yaml

from dorm.simulate.faults import Where, one_line
from dorm.simulate.traces.request import Request, Trace
from dorm.simulate.traces.row import FIELDS, read_row
from events.errors import Rejected

HEADER_NEEDED: Final = "submit_s"


def is_table(header: str) -> bool:
    """Return whether a file that begins with this line is such a CSV."""
    return HEADER_NEEDED in header.split(",")


def read_csv(name: str, text: str, *, workload: str = "") -> Trace:
    """Return the trace of a CSV file. Columns that Dorm does not know are passed over.

    Args:
        name: Of the file.
        text: Its content.
        workload: Which of several workloads, for a file that has such a column.

    Raises:
        Rejected: A row is bad, with its line.
    """
    reader = csv.DictReader(text.splitlines(), restkey="", skipinitialspace=True)
    rows: list[tuple[int, Mapping[str, object]]] = []
    for row in reader:
        if "" in row or None in row.values():
            where = Where(path=name, place=f"line {reader.line_num}")
            count = len(reader.fieldnames or ())
            raise where.fault("row", ",".join(map(str, row.values())), f"has not {count} values")
        rows.append((reader.line_num, row))
    requests = tuple(
        read_row(Where(path=name, place=f"line {number}"), row)
        for number, row in _of_workload(name, rows, workload)
    )
    return Trace(name=name, requests=requests)


def read_yaml(name: str, text: str) -> Trace:
    """Return the trace of a YAML list of jobs, or of one below the name `jobs`.

    Raises:
        Rejected: It is no such list, or a job is bad.
    """
    try:
        document = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
    except yaml.YAMLError as error:
        raise Rejected(f"is no YAML: {one_line(error)}", field=name) from error
    rows = document.get("jobs") if isinstance(document, dict) else document
    if not isinstance(rows, list):
        hint = "write a list of {submit_s: 0, duration_s: 3600, containers: 4, max: 8}"
        raise Rejected("has no list of jobs", field=name, hint=hint)
    requests: list[Request] = []
    for number, row in enumerate(rows, start=1):
        where = Where(path=name, place=f"job {number}")
        if not isinstance(row, dict):
            raise where.fault("job", row, "must be a mapping")
        for field in row:
            if field not in FIELDS:
                near = difflib.get_close_matches(str(field), FIELDS, n=1)
                hint = f"is {near[0]} meant?" if near else f"known: {', '.join(FIELDS)}"
                raise where.fault(str(field), row[field], "is no field of a job", hint)
        requests.append(read_row(where, row))
    return Trace(name=name, requests=tuple(requests))


def _of_workload(
    name: str, rows: Sequence[tuple[int, Mapping[str, object]]], workload: str
) -> list[tuple[int, Mapping[str, object]]]:
    names = list(dict.fromkeys(str(row["workload"]) for _, row in rows if "workload" in row))
    if workload and workload not in names:
        known = f"the file has {', '.join(names)}" if names else "the file has no such column"
        raise Rejected("is not in the file", field="--workload", value=repr(workload), hint=known)
    if len(names) > 1 and not workload:
        hint = f"choose one of {', '.join(names)}"
        raise Rejected("has several workloads", field=name, hint=f"--workload: {hint}")
    return [pair for pair in rows if not workload or pair[1]["workload"] == workload]
