"""What etcd refuses of a transaction, whatever is stored."""

from collections.abc import Sequence
from typing import Final

from dorm.ports.etcd import Compare, Delete, Operation, Put
from events.errors import Rejected

OPERATIONS_MAX: Final = 128  # etcd's --max-txn-ops
REQUEST_BYTES_MAX: Final = 1_572_864  # etcd's --max-request-bytes


def check_limits(
    compares: Sequence[Compare], success: Sequence[Operation], failure: Sequence[Operation]
) -> None:
    """Refuse a transaction that is too large, or names a key twice.

    Raises:
        Rejected: It is.
    """
    most = max(len(compares), len(success), len(failure))
    if most > OPERATIONS_MAX:
        raise Rejected(f"has {most} operations; etcd takes {OPERATIONS_MAX}", field="txn")
    size = sum(len(item.key) + 16 for item in (*compares, *success, *failure))
    size += sum(len(item.value) for item in (*success, *failure) if isinstance(item, Put))
    if size > REQUEST_BYTES_MAX:
        raise Rejected(f"has {size} bytes; etcd takes {REQUEST_BYTES_MAX}", field="txn")
    for branch in (success, failure):
        puts = [item.key for item in branch if isinstance(item, Put)]
        deletes = {item.key for item in branch if isinstance(item, Delete)}
        if len({*puts}) < len(puts) or not deletes.isdisjoint(puts):
            raise Rejected("names a key twice", field="txn")
