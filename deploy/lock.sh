#!/usr/bin/env bash
# Resolve both lock files from pyproject.toml: deploy/lock.sh PATH-TO-UV
#
# Two files, because what builds (hatchling, setuptools) must be there before what is built from
# source (etcd3, and Dorm itself); see deploy/setup.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=${1:?usage: deploy/lock.sh PATH-TO-UV}

resolve() {
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
        --upgrade --custom-compile-command "make lock" "$@"
}

resolve --group pyproject.toml:build -o requirements-build.lock
resolve pyproject.toml --group pyproject.toml:dev -o requirements.lock
