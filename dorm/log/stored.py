"""An event as it stands under its key."""

from dorm.keys import Keys
from dorm.ports.etcd import KeyValue
from events.codec import decode
from events.errors import Corrupt
from events.recorded import Recorded

_DIGITS = 8


def recorded_event(keys: Keys, item: KeyValue) -> Recorded:
    """Return the event under a key of the log.

    Raises:
        Corrupt: It is no event, or was changed after it had been written.
    """
    if item.version != 1:
        raise Corrupt(f"{item.key} was written {item.version} times: events never change")
    segment = int(item.key.removeprefix(keys.events)[:_DIGITS])
    return decode(item.value, revision=item.create_revision, segment=segment)
