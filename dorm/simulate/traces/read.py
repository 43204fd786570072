"""From a file that a user names to a trace, whatever its format."""

from pathlib import Path

from dorm.simulate.files import read_text
from dorm.simulate.traces.request import Trace
from dorm.simulate.traces.sacct import COMMAND, is_sacct, read_sacct
from dorm.simulate.traces.sbatch import is_sbatch, read_sbatch
from dorm.simulate.traces.tables import is_table, read_csv, read_yaml
from events.errors import Rejected


def read_trace(path: Path, *, workload: str = "", spacing_s: float = 0.0) -> Trace:
    """Return the trace of a file, or of a directory of batch scripts.

    The format follows from the content: CSV by its header, sacct's by its own, batch scripts by
    their `#SBATCH` lines, YAML by the name of the file.

    Raises:
        Rejected: There is no such file, no reader knows it, or a line of it is bad.
    """
    if path.is_dir():
        return read_sbatch(path, spacing_s=spacing_s)
    text = read_text(path)
    header = text.partition("\n")[0].strip()
    if path.name.endswith((".yaml", ".yml", ".json")):
        return read_yaml(path.name, text)
    if is_sacct(header):
        return read_sacct(path.name, text)
    if is_table(header):
        return read_csv(path.name, text, workload=workload)
    if is_sbatch(text):
        return read_sbatch(path, spacing_s=spacing_s)
    raise Rejected(
        "is no trace that Dorm can read",
        field=str(path),
        hint="give a CSV with a column submit_s, a YAML list of jobs, batch scripts, or the output "
        f"of {COMMAND}",
    )
