"""The application spec: what a user writes in YAML, read into `events.apps.AppSpec` and back.

`document` reads the text, `parse` checks the fields, `render` writes a spec out again.
docs/spec.md describes the form for users.
"""

from dorm.spec.faults import SpecFaults
from dorm.spec.parse import from_json_text, from_plain, from_yaml
from dorm.spec.render import render, to_plain

__all__ = ["SpecFaults", "from_json_text", "from_plain", "from_yaml", "render", "to_plain"]
