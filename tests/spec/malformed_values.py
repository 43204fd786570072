"""Malformed amounts, bounds and policies, each with the one message that a user reads."""


# ruff: noqa: E501 - a message stands on one line, as a user reads it and as one searches for it

from typing import Final

from tests.spec.texts import a_text

MALFORMED_VALUES: Final = (
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
        "checkpoint.keep",
        a_text(checkpoint="{keep: 1}"),
        "checkpoint.keep: 1 must be from 2 to 16 (write 2 or more)",
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
        "env.too_many",
        a_text(env="{" + ", ".join(f"V{number}: a" for number in range(513)) + "}"),
        (
            'env: {"V0": "a", "V1": "a", "V2": "a", "V3": "a", "V4": "a", "... has 513 variables, '
            "more than 512 (put them into a file of the image)"
        ),
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
