"""Keys as etcd sends them, as values of ours."""

from typing import Any

from dorm.ports.etcd import KeyValue


def key_value(item: Any) -> KeyValue:  # noqa: ANN401 - a message
    """Return the key as a value of ours."""
    return KeyValue(
        key=item.key.decode(),
        value=item.value,
        create_revision=item.create_revision,
        mod_revision=item.mod_revision,
        version=item.version,
        lease=item.lease,
    )
