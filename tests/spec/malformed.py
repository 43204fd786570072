"""Malformed documents, each with the one message that a user reads: field, value, rule, way out."""

# ruff: noqa: E501 - a message stands on one line, as a user reads it and as one searches for it

from typing import Final

from tests.spec.texts import a_text

MALFORMED_FORMS: Final = (
    (
        "document.empty",
        "",
        "document: is empty (write the fields name, image, run, resources, scale, weight, priority, speed, onDisconnect, env, checkpoint, mounts, retry)",
    ),
    (
        "document.a_list",
        "- name: digits\n",
        'document: [{"name": "digits"}] must be a mapping (write the fields name, image, run, resources, scale, weight, priority, speed, onDisconnect, env, checkpoint, mounts, retry)',
    ),
    (
        "document.a_word",
        "digits",
        'document: "digits" must be a mapping (write the fields name, image, run, resources, scale, weight, priority, speed, onDisconnect, env, checkpoint, mounts, retry)',
    ),
    (
        "document.not_yaml",
        "name: [digits\nimage: x\n",
        "document: is not valid YAML: expected ',' or ']', but got ':' at line 2, column 6 (look at the indentation, the quotes and the colons there)",
    ),
    (
        "document.tab",
        "name: digits\nrun:\n\tstart: [a]\n",
        "document: is not valid YAML: found character '\\t' that cannot start any token at line 3, column 1 (look at the indentation, the quotes and the colons there)",
    ),
    (
        "document.two",
        "name: a\n---\nname: b\n",
        "document: holds a second document at line 2 (submit one file for each)",
    ),
    (
        "document.duplicate_key",
        a_text() + "name: twice\n",
        'document: has the key "name" twice at line 5 (keep one of the two)',
    ),
    (
        "document.duplicate_nested",
        a_text(scale="{min: 1, min: 2}"),
        'document: has the key "min" twice at line 5 (keep one of the two)',
    ),
    (
        "document.alias",
        a_text(env="{A: &a x, B: *a}"),
        "document: uses the alias *a at line 5 (write the value out)",
    ),
    (
        "document.tag",
        a_text(image="!!python/object:os.system x"),
        "document: uses the tag tag:yaml.org,2002:python/object:os.system at line 2 (leave the tag out)",
    ),
    (
        "document.standard_tag",
        a_text(weight="!!float 1"),
        "document: uses the tag tag:yaml.org,2002:float at line 5 (leave the tag out)",
    ),
    ("document.deep", "[" * 40, "document: is nested deeper than 16 levels (no field needs that)"),
    (
        "document.complex_key",
        "? [a, b]\n: c\n",
        "document: uses a list or a mapping as a key at line 1 (keys are plain words)",
    ),
    (
        "document.too_large",
        "# " + "x" * 70_000,
        "document: is larger than 65536 bytes (keep data and scripts in the image or on a mount)",
    ),
    (
        "document.surrogate",
        'name: "\\ud800"\n',
        'document: "\\\\ud800" has a NUL or half of a surrogate pair in its text (remove that character)',
    ),
    (
        "document.nul",
        'name: "a\\0b"\n',
        'document: "a\\u0000b" has a NUL or half of a surrogate pair in its text (remove that character)',
    ),
    (
        "document.beyond_unicode",
        'name: "\\UFFFFFFFF"\n',
        "document: is not valid YAML: it has a character or an escape that text cannot have (save the file as plain UTF-8 text)",
    ),
    (
        "unknown.typo",
        a_text() + "wieght: 2\n",
        "wieght: is not a field of Dorm (did you mean weight?)",
    ),
    (
        "unknown.case",
        a_text() + "Retry: {max: 1}\n",
        "Retry: is not a field of Dorm (did you mean retry?)",
    ),
    (
        "unknown.nested",
        a_text(retry="{maxbackoff: 1m}"),
        "retry.maxbackoff: is not a field of Dorm (did you mean maxBackoff?)",
    ),
    (
        "unknown.far",
        a_text() + "replicas: 3\n",
        "replicas: is not a field of Dorm (the fields here are name, image, run, resources, scale, weight, priority, speed, onDisconnect, env, checkpoint, mounts, retry)",
    ),
    (
        "name.missing",
        a_text(name=None),
        "name: is missing (write name: with a short name, such as digits)",
    ),
    (
        "name.capital",
        a_text(name="My Digits!"),
        'name: "My Digits!" must be small letters, digits and dashes, with a letter first and no dash last (write my-digits)',
    ),
    ("name.number", a_text(name="2024"), 'name: 2024 must be text (write it in quotes: "2024")'),
    (
        "name.digit_first",
        a_text(name="3d-net"),
        'name: "3d-net" must be small letters, digits and dashes, with a letter first and no dash last (write app-3d-net)',
    ),
    (
        "name.long",
        a_text(name="x" * 41),
        'name: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" is longer than 40 letters (shorten it)',
    ),
    (
        "name.empty",
        a_text(name='""'),
        'name: "" is empty (write something, or leave the field out)',
    ),
    (
        "name.dash",
        a_text(name="digits-"),
        'name: "digits-" must be small letters, digits and dashes, with a letter first and no dash last (write digits)',
    ),
    (
        "image.missing",
        a_text(image=None),
        "image: is missing (write image: with the name of a Docker image)",
    ),
    (
        "image.space",
        a_text(image="dorm base"),
        'image: "dorm base" must have no spaces in it (write name:tag)',
    ),
    ("image.list", a_text(image="[a]"), 'image: ["a"] must be text (write plain text there)'),
    (
        "run.missing",
        a_text(run=None),
        "run: is missing (write run: with start: below it, the command to run)",
    ),
    (
        "run.no_start",
        a_text(run="{resume: [a]}"),
        'run.start: is missing (write a list: ["python", "train.py"])',
    ),
    (
        "run.text",
        a_text(run="python train.py"),
        'run: "python train.py" must be a mapping (write the fields start, resume)',
    ),
    (
        "start.text",
        a_text(run="{start: python train.py}"),
        'run.start: "python train.py" must be a list of words, because no shell reads it (write each word by itself: ["python", "train.py"])',
    ),
    (
        "start.empty",
        a_text(run="{start: []}"),
        'run.start: [] names no program (write a list: ["python", "train.py"])',
    ),
    (
        "start.empty_word",
        a_text(run='{start: [""]}'),
        'run.start: [""] names no program (write a list: ["python", "train.py"])',
    ),
    (
        "start.number",
        a_text(run="{start: [python, 1.10]}"),
        'run.start[1]: 1.1 must be text (write it in quotes: "1.1")',
    ),
    (
        "start.boolean",
        a_text(run="{start: [python, true]}"),
        'run.start[1]: true must be text (write it in quotes: "true")',
    ),
    (
        "resume.null",
        a_text(run="{start: [a], resume: [a, null]}"),
        "run.resume[1]: null must be text (write plain text there)",
    ),
    (
        "resources.missing",
        a_text(resources=None),
        "resources: is missing (say what one container needs: cpu: 1 and memory: 1GiB below it)",
    ),
    (
        "resources.list",
        a_text(resources="[1, 2]"),
        "resources: [1, 2] must be a mapping (write the fields cpu, memory, gpu, pids)",
    ),
)
