"""What a container sees of the world's disks: mounts, and where it saves its work."""

import re
from typing import Final

from dorm.spec.fields import Fields, built
from dorm.spec.units import parse_duration
from events.apps import CHECKPOINT_SIGNALS, KEEP_MAX, KEEP_MIN, CheckpointPolicy, Mount

APP_ID_VARIABLE: Final = "$DORM_APP_ID"
RESERVED_TARGETS: Final = ("/proc", "/sys", "/dev", "/run/dorm")

_MOUNT_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62})", re.ASCII)
_MOUNT_HINT: Final = "write name: and target: below a dash, for each mount"


def read_mounts(top: Fields) -> tuple[Mount, ...] | None:
    """Return the mounts, each at a target of its own."""
    count = len(top.items("mounts", hint=_MOUNT_HINT))
    mounts = [_mount(top.element("mounts", at, ("name", "target", "mode"))) for at in range(count)]
    targets = [mount.target for mount in mounts if mount is not None]
    for index, mount in enumerate(mounts):
        if mount is not None and mount.target in targets[:index]:
            top.fault(
                f"mounts[{index}].target",
                "is the target of an earlier mount too",
                hint="give each mount a target of its own",
                value=mount.target,
            )
    whole = tuple(mount for mount in mounts if mount is not None)
    return whole if len(whole) == count else None


def _mount(fields: Fields) -> Mount | None:
    if not fields.is_mapping:
        return None
    fields.require("name", hint="name a directory of the operator's catalogue")
    fields.require("target", hint="say where the container sees it, such as /data")
    name = fields.text("name")
    if name is not None and not _MOUNT_NAME.fullmatch(name):
        fields.fault(
            "name",
            "must be small letters, digits, dots, dashes and _",
            hint="the operator's catalogue has the names; paths of machines stay there",
        )
        name = None
    mode = fields.choice("mode", ("rw", "ro"), default="rw")
    read_only = None if mode is None else mode == "ro"
    return built(Mount, name=name, target=_target(fields), read_only=read_only)


def _target(fields: Fields) -> str | None:
    target = fields.text("target")
    if target is None or not _sound_path(fields, "target", target):
        return None
    clean = _clean(target)
    if clean == "/":
        fields.fault("target", "would hide the whole image", hint="choose a directory, as /data")
        return None
    for reserved in RESERVED_TARGETS:
        if _is_below(clean, reserved, or_same=True) or _is_below(reserved, clean, or_same=True):
            hint = "choose a directory of your own, such as /data"
            fields.fault("target", f"would hide {reserved}, which the container needs", hint=hint)
            return None
    return clean


def _sound_path(fields: Fields, name: str, path: str) -> bool:
    if ".." in path.split("/"):
        fields.fault(name, "must not contain ..", hint="write the path out")
    elif not path.startswith("/"):
        fields.fault(name, "must be absolute", hint=f"write /{path}")
    elif ":" in path or any(not letter.isprintable() for letter in path):
        fields.fault(name, "must have no colon or control character", hint="rename the directory")
    else:
        return True
    return False


def read_checkpoint(top: Fields, mounts: tuple[Mount, ...] | None) -> CheckpointPolicy | None:
    """Return how the application saves its work; its path lies on one of the `mounts`."""
    fields = top.within("checkpoint", ("signal", "grace", "path", "keep"))
    return built(
        CheckpointPolicy,
        signal=fields.choice("signal", CHECKPOINT_SIGNALS, default="SIGTERM"),
        grace_ms=fields.amount("grace", parse_duration, default=120_000),
        path=_checkpoint_path(fields, mounts),
        keep=fields.whole("keep", low=KEEP_MIN, high=KEEP_MAX, default=KEEP_MIN),
    )


def _checkpoint_path(fields: Fields, mounts: tuple[Mount, ...] | None) -> str | None:
    path = fields.text("path", default="")
    if not path:
        return path
    if "$" in path.replace(APP_ID_VARIABLE, ""):
        hint = f"write {APP_ID_VARIABLE}, without braces, or no $ at all"
        fields.fault("path", f"may only contain the variable {APP_ID_VARIABLE}", hint=hint)
        return None
    if not _sound_path(fields, "path", path):
        return None
    clean = _clean(path)
    if mounts is not None and not _is_saved(fields, clean, mounts):
        return None
    return clean


def _is_saved(fields: Fields, path: str, mounts: tuple[Mount, ...]) -> bool:
    """Note a fault unless the innermost mount above `path` can be written."""
    above = [mount for mount in mounts if _is_below(path, mount.target, or_same=False)]
    writable = next((mount.target for mount in mounts if not mount.read_only), "")
    way_out = f"write {writable}/{APP_ID_VARIABLE}" if writable else "add one with mode: rw"
    if not above:
        fields.fault("path", "must lie below the target of a writable mount", hint=way_out)
        return False
    innermost = max(above, key=lambda mount: len(mount.target))
    if innermost.read_only:
        rule = f"lies on the mount {innermost.name}, which is read-only"
        fields.fault("path", rule, hint="set its mode: rw, or choose another mount")
        return False
    return True


def _clean(path: str) -> str:
    """Return an absolute path with single slashes; `pathlib` would keep two at the beginning."""
    return "/" + "/".join(part for part in path.split("/") if part not in ("", "."))


def _is_below(path: str, directory: str, *, or_same: bool) -> bool:
    return path.startswith(f"{directory}/") or (or_same and path == directory)
