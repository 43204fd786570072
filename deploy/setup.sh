#!/usr/bin/env bash
# Prepare this checkout: deploy/setup.sh [--python-only]
#
# Says what it does, says nothing when there is nothing to do. Python is prepared here; the rest
# (etcd, the Docker engine, the demo image) is dorm/local/setup.py, which needs Python first.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*"; }
die() {
    printf 'setup: %s\n' "$*" >&2
    exit 1
}

# Print the first Python that is new enough and can make virtual environments.
find_python() {
    local candidate
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' \
            >/dev/null 2>&1; then
            "$candidate" -c 'import sys; print(sys.executable)'
            return
        fi
    done
    return 1
}

install_python() {
    local need="Dorm needs Python 3.11 or newer with its venv module"
    command -v apt-get >/dev/null || die "$need. Install it, or name it: PYTHON=/path make setup"
    [ "$(id -u)" = 0 ] || die "$need. Run: sudo apt-get install python3 python3-venv"
    say "installing Python with apt"
    { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y \
        --no-install-recommends python3 python3-venv ca-certificates >/dev/null; } ||
        die "apt failed; its words are above. $need"
}

# What the installed environment was made from; it is made again only when this changes.
fingerprint() {
    cat requirements-build.lock requirements.lock pyproject.toml | sha256sum
    pwd # an environment that was moved or copied does not work
}

make_environment() {
    local python
    python=$(find_python) || { install_python && python=$(find_python); } ||
        die "the Python of this system is too old; Dorm needs 3.11. Name another: PYTHON=/path make setup"
    say "installing the locked packages into .venv (about a minute)"
    rm -rf .venv
    "$python" -m venv .venv
    local pip=(.venv/bin/python -m pip --quiet --disable-pip-version-check install)
    local only_locked=(--no-deps --no-build-isolation)
    # Two packages come as source and are built with exactly what the first lock names.
    # pip reports caches and mirrors on stderr; show that only when it fails.
    local log=.local/pip.log
    mkdir -p .local
    {
        "${pip[@]}" --require-hashes -r requirements-build.lock &&
            "${pip[@]}" --require-hashes "${only_locked[@]}" --use-pep517 -r requirements.lock &&
            "${pip[@]}" "${only_locked[@]}" -e .
    } >"$log" 2>&1 || { tail -n 20 "$log" >&2 && die "pip failed; all of its output is in $log"; }
    fingerprint >.venv/made-from
}

if [ "$(fingerprint)" != "$(cat .venv/made-from 2>/dev/null)" ] ||
    ! .venv/bin/python -c 'import dorm' 2>/dev/null; then
    make_environment
fi
[ "${1:-}" = --python-only ] || exec .venv/bin/python -m dorm.local.setup
