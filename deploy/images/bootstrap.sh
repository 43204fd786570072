#!/usr/bin/env bash
# Make a root file system with Python and numpy from Debian's or Ubuntu's packages, without any
# container registry: bootstrap.sh OUTPUT.tar   (as root, with mmdebstrap)
set -euo pipefail
output=${1:?usage: bootstrap.sh OUTPUT.tar}
. /etc/os-release

# Ubuntu keeps numpy in universe.
components=main
[ "$ID" != ubuntu ] || components=main,universe

mmdebstrap --quiet --variant=minbase --components="$components" \
    --include=python3-minimal,libpython3-stdlib,python3-numpy \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*' \
    "$VERSION_CODENAME" "$output"
