"""The demo image, built on this machine, with a container registry or without one.

Two layers: a base with Python and numpy (slow, once) and the demo on top of it (under a second).
Each image carries a hash of its inputs as a label and is built again only when that changes.
"""

import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from dorm.local.commands import is_root, run
from dorm.local.docker_api import DockerApi
from dorm.local.engine import engine
from dorm.local.interrupts import EXIT_INTERRUPTED
from dorm.local.places import checkout, local_dir
from events.errors import DormError, Rejected, Unavailable

BASE_IMAGE: Final = "dorm-base:latest"
DEMO_IMAGE: Final = "dorm-demo:latest"
REGISTRY_BASE: Final = "python:3.12-slim"
HASH_LABEL: Final = "dorm.inputs"
DIGITS_SHA256: Final = "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22"
_DIGITS_MEMBER: Final = "sklearn/datasets/data/digits.csv.gz"
_PULL_S: Final = 30
_BUILD_S: Final = 900.0
_DOWNLOAD_S: Final = 300.0

Say = Callable[[str], None]


def ensure_demo_image(docker_url: str, *, say: Say) -> str:
    """Return the tag of the demo image in that engine, building it when it is missing or old.

    Raises:
        Unavailable: It cannot be built here; the message says why.
    """
    root = checkout()
    if root is None:
        raise Rejected("the demo image is built from a checkout of Dorm", hint="clone it first")
    with contextlib.closing(DockerApi(docker_url)) as api:
        _ensure_base(api, root / "deploy/images", say)
        _ensure_demo(api, root, say)
    return DEMO_IMAGE


def _ensure_base(api: DockerApi, recipes: Path, say: Say) -> None:
    base = os.environ.get("BASE", REGISTRY_BASE)
    wanted = _hash(base.encode(), *_contents(recipes / "Dockerfile.base", recipes / "bootstrap.sh"))
    if _is_built(api, BASE_IMAGE, wanted):
        return
    if _can_have(api, base):
        say(f"building the base image on {base} (under a minute)")
        try:
            api.build(
                recipes,
                dockerfile="Dockerfile.base",
                tag=BASE_IMAGE,
                arguments={"BASE": base},
                labels={HASH_LABEL: wanted},
            )
        except Unavailable as error:
            say(f"that did not work: {error}")
        else:
            return
    say("building the base image from the system's packages, without a registry (a minute)")
    _bootstrap_base(api, recipes, wanted, say)


def _can_have(api: DockerApi, image: str) -> bool:
    """Return whether the engine has the image or can pull it."""
    if api.image_labels(image) is not None:
        return True
    try:
        api.pull(image, timeout_s=_PULL_S)
    except Unavailable:
        return False
    return True


def _bootstrap_base(api: DockerApi, recipes: Path, wanted: str, say: Say) -> None:
    if not (shutil.which("mmdebstrap") and (is_root() or shutil.which("newuidmap"))):
        if not (is_root() and shutil.which("apt-get")):
            raise Unavailable(
                f"the demo image needs either a registry with {REGISTRY_BASE} "
                "or a Debian or Ubuntu system and root, to build it from packages"
            )
        say("installing mmdebstrap with apt")
        packages = ["mmdebstrap", "gpg", "mount"]  # it only recommends the last two, and needs them
        install = ["apt-get", "-qq", "install", "-y", "--no-install-recommends", *packages]
        run(["apt-get", "-qq", "update"], timeout_s=_BUILD_S)
        run(install, timeout_s=_BUILD_S, env={"DEBIAN_FRONTEND": "noninteractive"})
    with tempfile.TemporaryDirectory(dir=local_dir()) as scratch:
        tar = Path(scratch) / "base.tar"
        run([os.fspath(recipes / "bootstrap.sh"), os.fspath(tar)], timeout_s=_BUILD_S)
        repository, tag = BASE_IMAGE.split(":")
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        changes = (f"ENV PATH={path}", 'CMD ["python3"]', f"LABEL {HASH_LABEL}={wanted}")
        api.import_tar(tar, repository=repository, tag=tag, changes=changes)


def _ensure_demo(api: DockerApi, root: Path, say: Say) -> None:
    recipe = root / "deploy/images/Dockerfile"
    program = sorted((root / "deploy/examples/digits").glob("*.py"))
    base = (api.image_labels(BASE_IMAGE) or {}).get(HASH_LABEL, "")
    wanted = _hash(base.encode(), DIGITS_SHA256.encode(), *_contents(*program, recipe))
    if _is_built(api, DEMO_IMAGE, wanted):
        return
    digits = ensure_digits(say=say)
    say("building the demo image")
    with tempfile.TemporaryDirectory(dir=local_dir()) as scratch:
        context = Path(scratch)
        for path in (*program, recipe, digits):
            shutil.copy(path, context / path.name)
        api.build(
            context,
            dockerfile=recipe.name,
            tag=DEMO_IMAGE,
            arguments={"BASE": BASE_IMAGE},
            labels={HASH_LABEL: wanted},
        )


def ensure_digits(*, say: Say) -> Path:
    """Return scikit-learn's digits data set, taken out of its wheel and checked by its sha256.

    Raises:
        Unavailable: The wheel cannot be had, or has other data.
    """
    target = local_dir() / "digits.csv.gz"
    if target.is_file() and _hash(target.read_bytes()) == DIGITS_SHA256:
        return target
    say("fetching the digits data set (out of scikit-learn's wheel)")
    pip = [sys.executable, "-m", "pip", "-q", "download", "--no-deps", "--only-binary=:all:"]
    with tempfile.TemporaryDirectory(dir=local_dir()) as scratch:
        run([*pip, "--dest", scratch, "scikit-learn"], timeout_s=_DOWNLOAD_S)
        (wheel,) = Path(scratch).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            data = archive.read(_DIGITS_MEMBER)
    if _hash(data) != DIGITS_SHA256:
        raise Unavailable(f"{wheel.name} has other digits than expected (sha256 {_hash(data)})")
    target.write_bytes(data)
    return target


def _is_built(api: DockerApi, tag: str, wanted: str) -> bool:
    labels = api.image_labels(tag)
    return labels is not None and labels.get(HASH_LABEL) == wanted


def _contents(*paths: Path) -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in paths)


def _hash(*parts: bytes) -> str:
    whole = hashlib.sha256(parts[0])
    for part in parts[1:]:
        whole.update(hashlib.sha256(part).digest())
    return whole.hexdigest()


def main() -> int:
    """Build the demo image in the engine of this machine."""
    try:
        with engine(say=print) as found:
            print(ensure_demo_image(found.url, say=print))  # noqa: T201 - a command's answer
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except DormError as error:
        print(f"images: {error}", file=sys.stderr)  # noqa: T201 - a command's answer
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
