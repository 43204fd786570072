"""Small shell programs that stand in for real ones."""

from pathlib import Path


def program(path: Path, body: str) -> Path:
    """Write an executable shell script and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def etcd_of(path: Path, version: str) -> Path:
    """Write a program that says that it is this version of etcd."""
    return program(path, f"echo 'etcd Version: {version}'\necho 'Git SHA: 1234567'")
