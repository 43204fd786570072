"""Malformed documents, each with the one message that a user reads: field, value, rule, way out."""

# ruff: noqa: E501 - a message stands on one line, as a user reads it and as one searches for it

from typing import Final

from tests.spec.texts import a_text

MALFORMED: Final = (
    (
        "document.empty",
        "",
        "document: is empty (write the fields name, image, run, resources, scale, weight, env, checkpoint, mounts, retry)",
    ),
    (
        "document.a_list",
        "- name: digits\n",
        'document: [{"name": "digits"}] must be a mapping (write the fields name, image, run, resources, scale, weight, env, checkpoint, mounts, retry)',
    ),
    (
        "document.a_word",
        "digits",
        'document: "digits" must be a mapping (write the fields name, image, run, resources, scale, weight, env, checkpoint, mounts, retry)',
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
        "document: has 70002 bytes, the most is 65536 (keep data and scripts in the image or on a mount)",
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
        "replicas: is not a field of Dorm (the fields here are name, image, run, resources, scale, weight, env, checkpoint, mounts, retry)",
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
    (
        "cpu.missing",
        a_text(resources="{memory: 1GiB}"),
        "resources.cpu: is missing (say what one container needs, such as 0.5)",
    ),
    (
        "cpu.word",
        a_text(resources="{cpu: half, memory: 1GiB}"),
        'resources.cpu: "half" must be a number of cores (write 0.5 or 500m for half a core, 2 for two)',
    ),
    (
        "cpu.zero",
        a_text(resources="{cpu: 0, memory: 1GiB}"),
        "resources.cpu: 0 must be from 1m to 1000 cores (ask for more)",
    ),
    (
        "cpu.negative",
        a_text(resources="{cpu: -1, memory: 1GiB}"),
        "resources.cpu: -1 must be a number of cores (write 0.5 or 500m for half a core, 2 for two)",
    ),
    (
        "cpu.finer",
        a_text(resources="{cpu: 0.0001, memory: 1GiB}"),
        "resources.cpu: 0.0001 is finer than a thousandth of a core (write 1m at least)",
    ),
    (
        "cpu.sexagesimal",
        a_text(resources="{cpu: 12:30, memory: 1GiB}"),
        'resources.cpu: "12:30" must be a number of cores (write 0.5 or 500m for half a core, 2 for two)',
    ),
    (
        "cpu.boolean",
        a_text(resources="{cpu: true, memory: 1GiB}"),
        "resources.cpu: true must be a number of cores (write 0.5 or 500m for half a core, 2 for two)",
    ),
    (
        "cpu.unit",
        a_text(resources="{cpu: 2GHz, memory: 1GiB}"),
        "resources.cpu: \"2GHz\" has the unit 'GHz', which cores do not have (write 0.5 or 500m for half a core, 2 for two)",
    ),
    (
        "cpu.inf",
        a_text(resources="{cpu: .inf, memory: 1GiB}"),
        "resources.cpu: Infinity must be a number of cores (write 0.5 or 500m for half a core, 2 for two)",
    ),
    (
        "memory.missing",
        a_text(resources="{cpu: 1}"),
        "resources.memory: is missing (say what one container needs, such as 512MiB)",
    ),
    (
        "memory.no_unit",
        a_text(resources="{cpu: 1, memory: 512}"),
        "resources.memory: 512 has no unit (write 512MiB or 512GiB)",
    ),
    (
        "memory.k8s_unit",
        a_text(resources="{cpu: 1, memory: 512Mi}"),
        "resources.memory: \"512Mi\" has the unknown unit 'Mi' (write MiB)",
    ),
    (
        "memory.strange_unit",
        a_text(resources="{cpu: 1, memory: 5XB}"),
        "resources.memory: \"5XB\" has the unknown unit 'XB' (use one of KiB, MiB, GiB, TiB, B, kB, MB, GB, TB)",
    ),
    (
        "memory.little",
        a_text(resources="{cpu: 1, memory: 1MiB}"),
        'resources.memory: "1MiB" must be from 6MiB to 1024TiB (ask for more)',
    ),
    (
        "memory.much",
        a_text(resources="{cpu: 1, memory: 5000TiB}"),
        'resources.memory: "5000TiB" must be from 6MiB to 1024TiB (ask for less)',
    ),
    (
        "gpu.half",
        a_text(resources="{cpu: 1, memory: 1GiB, gpu: 0.5}"),
        "resources.gpu: 0.5 must be a whole number (write 1 or the like, without quotes)",
    ),
    (
        "gpu.negative",
        a_text(resources="{cpu: 1, memory: 1GiB, gpu: -1}"),
        "resources.gpu: -1 must be from 0 to 64 (write 0 or more)",
    ),
    (
        "gpu.text",
        a_text(resources="{cpu: 1, memory: 1GiB, gpu: '2'}"),
        'resources.gpu: "2" must be a whole number (write 2, without quotes or leading zeros)',
    ),
    (
        "gpu.on",
        a_text(resources="{cpu: 1, memory: 1GiB, gpu: on}"),
        'resources.gpu: "on" must be a whole number (write 1 or the like, without quotes)',
    ),
    (
        "pids.octal",
        a_text(resources="{cpu: 1, memory: 1GiB, pids: 0777}"),
        'resources.pids: "0777" must be a whole number (write 777, without quotes or leading zeros)',
    ),
    (
        "pids.zero",
        a_text(resources="{cpu: 1, memory: 1GiB, pids: 0}"),
        "resources.pids: 0 must be from 1 to 4194304 (write 1 or more)",
    ),
    (
        "scale.order",
        a_text(scale="{min: 3, max: 2}"),
        "scale.max: 2 is below scale.min, which is 3 (write 3 or more)",
    ),
    (
        "scale.zero",
        a_text(scale="{min: 0, max: 2}"),
        "scale.min: 0 must be from 1 to 10000 (write 1 or more)",
    ),
    (
        "scale.huge",
        a_text(scale="{min: 1, max: 100000}"),
        "scale.max: 100000 must be from 1 to 10000 (write 10000 or less)",
    ),
    ("scale.number", a_text(scale="4"), "scale: 4 must be a mapping (write the fields min, max)"),
    (
        "scale.underscore",
        a_text(scale="{max: 1_000}"),
        'scale.max: "1_000" must be a whole number (write 1 or the like, without quotes)',
    ),
    (
        "weight.zero",
        a_text(weight="0"),
        "weight: 0 must be above 0 and at most 1000000 (1 is usual)",
    ),
    (
        "weight.nan",
        a_text(weight=".nan"),
        "weight: NaN must be above 0 and at most 1000000 (1 is usual)",
    ),
    (
        "weight.inf",
        a_text(weight=".inf"),
        "weight: Infinity must be above 0 and at most 1000000 (1 is usual)",
    ),
    (
        "weight.overflow",
        a_text(weight="1e999"),
        "weight: Infinity must be above 0 and at most 1000000 (1 is usual)",
    ),
    (
        "weight.text",
        a_text(weight="'2'"),
        'weight: "2" must be a number (write 1, 2.5 or the like, without quotes)',
    ),
    (
        "weight.yes",
        a_text(weight="yes"),
        'weight: "yes" must be a number (write 1, 2.5 or the like, without quotes)',
    ),
    (
        "env.list",
        a_text(env="[A=b]"),
        'env: ["A=b"] must be a mapping (write NAME: value below it)',
    ),
    (
        "env.number",
        a_text(env="{LR: 0.01}"),
        'env.LR: 0.01 must be text (write it in quotes: "0.01")',
    ),
    (
        "env.true",
        a_text(env="{DEBUG: true}"),
        'env.DEBUG: true must be text (write it in quotes: "true")',
    ),
    ("env.null", a_text(env="{EMPTY: }"), "env.EMPTY: null must be text (write plain text there)"),
    (
        "env.name",
        a_text(env="{1A: x}"),
        'env.1A: "1A" is no name of a variable (use letters, digits and _, and no digit first)',
    ),
    (
        "env.dash",
        a_text(env="{MY-VAR: x}"),
        'env.MY-VAR: "MY-VAR" is no name of a variable (use letters, digits and _, and no digit first)',
    ),
    (
        "env.reserved",
        a_text(env="{DORM_RANK: '0'}"),
        'env.DORM_RANK: "DORM_RANK" is reserved for Dorm (choose a name without DORM_)',
    ),
    (
        "checkpoint.signal",
        a_text(checkpoint="{signal: USR1}"),
        'checkpoint.signal: "USR1" must be one of SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGHUP (did you mean SIGUSR1?)',
    ),
    (
        "checkpoint.kill",
        a_text(checkpoint="{signal: SIGKILL}"),
        'checkpoint.signal: "SIGKILL" must be one of SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGHUP (did you mean SIGINT?)',
    ),
    (
        "checkpoint.grace_number",
        a_text(checkpoint="{grace: 120}"),
        "checkpoint.grace: 120 has no unit (write 120s for seconds)",
    ),
    (
        "checkpoint.grace_word",
        a_text(checkpoint="{grace: 2 minutes}"),
        'checkpoint.grace: "2 minutes" must be a span of time (write 500ms, 30s, 2m or 1h)',
    ),
    (
        "checkpoint.grace_long",
        a_text(checkpoint="{grace: 1000h}"),
        'checkpoint.grace: "1000h" must be from 1ms to 168h (ask for less)',
    ),
    (
        "checkpoint.path_no_mount",
        a_text(checkpoint="{path: /ckpt/a}"),
        'checkpoint.path: "/ckpt/a" must lie below the target of a writable mount (add one with mode: rw)',
    ),
    (
        "checkpoint.path_same",
        a_text(checkpoint="{path: /ckpt}", mounts="[{name: c, target: /ckpt}]"),
        'checkpoint.path: "/ckpt" must lie below the target of a writable mount (write /ckpt/$DORM_APP_ID)',
    ),
    (
        "checkpoint.path_elsewhere",
        a_text(checkpoint="{path: /ckptx/a}", mounts="[{name: c, target: /ckpt}]"),
        'checkpoint.path: "/ckptx/a" must lie below the target of a writable mount (write /ckpt/$DORM_APP_ID)',
    ),
    (
        "checkpoint.path_read_only",
        a_text(checkpoint="{path: /ckpt/a}", mounts="[{name: c, target: /ckpt, mode: ro}]"),
        'checkpoint.path: "/ckpt/a" lies on the mount c, which is read-only (set its mode: rw, or choose another mount)',
    ),
    (
        "checkpoint.path_dots",
        a_text(checkpoint="{path: /ckpt/../etc}", mounts="[{name: c, target: /ckpt}]"),
        'checkpoint.path: "/ckpt/../etc" must not contain .. (write the path out)',
    ),
    (
        "checkpoint.path_variable",
        a_text(checkpoint="{path: '/ckpt/${HOME}'}", mounts="[{name: c, target: /ckpt}]"),
        'checkpoint.path: "/ckpt/${HOME}" may only contain the variable $DORM_APP_ID (write $DORM_APP_ID, without braces, or no $ at all)',
    ),
    (
        "checkpoint.path_inner",
        a_text(
            checkpoint="{path: /ckpt/data/x}",
            mounts="[{name: c, target: /ckpt}, {name: d, target: /ckpt/data, mode: ro}]",
        ),
        'checkpoint.path: "/ckpt/data/x" lies on the mount d, which is read-only (set its mode: rw, or choose another mount)',
    ),
    (
        "mounts.mapping",
        a_text(mounts="{data: /data}"),
        'mounts: {"data": "/data"} must be a list (write name: and target: below a dash, for each mount)',
    ),
    (
        "mounts.words",
        a_text(mounts="['/srv:/data']"),
        'mounts[0]: "/srv:/data" must be a mapping (write the fields name, target, mode)',
    ),
    (
        "mounts.no_target",
        a_text(mounts="[{name: data}]"),
        "mounts[0].target: is missing (say where the container sees it, such as /data)",
    ),
    (
        "mounts.path_as_name",
        a_text(mounts="[{name: /srv/data, target: /data}]"),
        'mounts[0].name: "/srv/data" must be small letters, digits, dots, dashes and _ (the operator\'s catalogue has the names; paths of machines stay there)',
    ),
    (
        "mounts.relative",
        a_text(mounts="[{name: data, target: data}]"),
        'mounts[0].target: "data" must be absolute (write /data)',
    ),
    (
        "mounts.dots",
        a_text(mounts="[{name: data, target: /data/../etc}]"),
        'mounts[0].target: "/data/../etc" must not contain .. (write the path out)',
    ),
    (
        "mounts.root",
        a_text(mounts="[{name: data, target: //}]"),
        'mounts[0].target: "//" would hide the whole image (choose a directory, as /data)',
    ),
    (
        "mounts.proc",
        a_text(mounts="[{name: data, target: /proc}]"),
        'mounts[0].target: "/proc" would hide /proc, which the container needs (choose a directory of your own, such as /data)',
    ),
    (
        "mounts.dev",
        a_text(mounts="[{name: data, target: /dev/shm}]"),
        'mounts[0].target: "/dev/shm" would hide /dev, which the container needs (choose a directory of your own, such as /data)',
    ),
    (
        "mounts.run",
        a_text(mounts="[{name: data, target: /run}]"),
        'mounts[0].target: "/run" would hide /run/dorm, which the container needs (choose a directory of your own, such as /data)',
    ),
    (
        "mounts.twice",
        a_text(mounts="[{name: a, target: /data}, {name: b, target: /data/}]"),
        'mounts[1].target: "/data" is the target of an earlier mount too (give each mount a target of its own)',
    ),
    (
        "mounts.mode",
        a_text(mounts="[{name: data, target: /data, mode: readonly}]"),
        'mounts[0].mode: "readonly" must be one of rw, ro (the usual one is rw)',
    ),
    (
        "mounts.colon",
        a_text(mounts="[{name: data, target: '/data:ro'}]"),
        'mounts[0].target: "/data:ro" must have no colon or control character (rename the directory)',
    ),
    (
        "retry.negative",
        a_text(retry="{max: -1}"),
        "retry.max: -1 must be from 0 to 1000 (write 0 or more)",
    ),
    (
        "retry.backoff",
        a_text(retry="{backoff: 5}"),
        "retry.backoff: 5 has no unit (write 5s for seconds)",
    ),
    (
        "retry.order",
        a_text(retry="{backoff: 5m, maxBackoff: 1m}"),
        'retry.maxBackoff: "1m" is below retry.backoff (make it as long, or longer)',
    ),
    (
        "retry.zero",
        a_text(retry="{backoff: 0s}"),
        'retry.backoff: "0s" must be from 1ms to 168h (ask for more)',
    ),
)
