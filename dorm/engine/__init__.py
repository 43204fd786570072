"""The Docker engine, by way of the `docker` package: what agents know of Docker.

`shape` says what an engine is told and what its answers mean, `calls` gives every call a deadline
and translates its errors, `streams` turns the endless answers into asynchronous iterators.
"""

from dorm.engine.engine import DockerEngine

__all__ = ["DockerEngine"]
